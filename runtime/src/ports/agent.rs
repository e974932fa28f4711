//! The agent port: what does model and tool work for a run.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use async_channel::{Receiver, Sender};
use runwarden_protocol::ids::{RunId, SteerId};
use runwarden_protocol::journal::row::ItemKind;
use runwarden_protocol::session::record::Usage;
use serde_json::Value;

use super::profile::AgentProfile;

/// A future that can move between threads.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Makes agents of one configured kind.
pub trait AgentFactory: Send + Sync + 'static {
    /// Name in the configuration.
    fn name(&self) -> &str;

    /// What this factory makes, as far as it is known: an agent that is a process of its own tells
    /// what it can do when it is first spoken to.
    fn profile(&self) -> AgentProfile;

    /// Constructs an agent; does no model call.
    fn construct(
        &self,
        construction: Construction,
    ) -> BoxFuture<'_, Result<Arc<dyn Agent>, AgentFailure>>;

    /// Tries the agent without a model call, and says what it turned out to be.
    fn probe(&self) -> BoxFuture<'_, Result<AgentProfile, AgentFailure>>;
}

/// What an agent is constructed for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Construction {
    /// The model; `None` means the default of the agent.
    pub model: Option<String>,
    /// The handle by which an agent of context `own` finds its conversation again (AGT-03).
    pub resume: Option<String>,
}

/// A constructed agent. It may serve several runs of one session, one after another.
pub trait Agent: Send + Sync + 'static {
    /// Runs one invocation to its end. Events go into `sink`, in order; the future resolves when the
    /// agent has returned and nothing of the invocation goes on. Dropping the future ends it by force.
    fn invoke(
        self: Arc<Self>,
        invocation: Invocation,
        sink: EventSink,
    ) -> BoxFuture<'static, Returned>;

    /// Asks the running invocation to end. Never blocks. An HTTP request is dropped at once at
    /// [`Signal::Interrupt`]; a process gets its signals (REG-15).
    fn signal(&self, signal: Signal);

    /// The handle by which another agent finds the conversation again as it is after the last invocation
    /// that came to its end; `None` where that is not possible (AGT-03).
    fn conversation(&self) -> Option<String> {
        None
    }

    /// Releases what the agent holds. Called once, after the last use.
    fn close(&self);
}

/// How urgently an invocation is asked to end (REG-11, REG-15).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Signal {
    /// Stop was accepted.
    Interrupt,
    /// 5 s later.
    Terminate,
    /// 5 s after that; the driver also drops the invocation's future.
    Kill,
}

/// One call of an agent.
#[derive(Clone, Debug)]
pub struct Invocation {
    /// The run it is made for.
    pub run_id: RunId,
    /// The conversation, oldest first; the last message is the prompt of this run (AGT-02, CTX-01).
    pub context: Vec<ContextMessage>,
    /// The model, where the agent offers a choice.
    pub model: Option<String>,
}

/// One message of the model context.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContextMessage {
    /// Who said it.
    pub role: ContextRole,
    /// What was said.
    pub text: String,
}

/// Who said a message of the model context.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContextRole {
    /// A user turn.
    User,
    /// An answer.
    Assistant,
}

/// Something an agent produced. Items are numbered by the agent, from 1 within a run, in order of
/// their first event.
#[derive(Debug)]
pub enum AgentEvent {
    /// More text of a text, thinking or interim item.
    Text {
        /// The item.
        item: u32,
        /// One of the text kinds.
        kind: ItemKind,
        /// The piece; may be empty.
        text: String,
    },
    /// The newest value of a tool, compression or notice item.
    Update {
        /// The item.
        item: u32,
        /// One of the other kinds.
        kind: ItemKind,
        /// The whole value, replacing the one before. A tool: `{name, status: running|done|failed,
        /// input?, output?, summary?}`.
        value: Value,
    },
    /// A question to the people of the session.
    Question {
        /// What is asked.
        question: QuestionDraft,
        /// Gets exactly one answer, unless the invocation ends first.
        reply: Sender<QuestionReply>,
    },
    /// What the call has used so far; unknown values stay `None`.
    Usage(Usage),
    /// The agent waits for the next steer of its run (STR-05); see [`EventSink::next_steer`].
    SteerWanted {
        /// Gets at most one.
        reply: Sender<HandedSteer>,
    },
    /// The agent took the steer it was handed.
    SteerRead {
        /// The steer.
        steer_id: SteerId,
    },
}

/// A steer on its way to an agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HandedSteer {
    /// The steer.
    pub steer_id: SteerId,
    /// Its words.
    pub text: String,
}

/// A question before it has an id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuestionDraft {
    /// Whether it asks for a permission.
    pub approval: bool,
    /// The text, at most 32,768 bytes are shown.
    pub prompt: String,
    /// Choices offered, possibly none.
    pub options: Vec<String>,
    /// Whether several options may be chosen.
    pub multi: bool,
    /// Whether a free text is accepted.
    pub allow_custom: bool,
}

/// How a question ended for the agent.
#[derive(Clone, Debug, PartialEq)]
pub enum QuestionReply {
    /// Somebody answered: the `answer` object of the action.
    Answered(Value),
    /// Nobody answered in time, or the run is being ended.
    Unanswered,
}

/// Takes an agent's events. Sending waits while the run's journal is behind (backpressure).
#[derive(Clone, Debug)]
pub struct EventSink {
    sender: Sender<AgentEvent>,
}

/// The run takes no more events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the run takes no more events")]
pub struct SinkClosed;

impl EventSink {
    /// A sink and its receiving end, with room for `events_max` events.
    pub fn bounded(events_max: usize) -> (Self, Receiver<AgentEvent>) {
        let (sender, receiver) = async_channel::bounded(events_max);
        (Self { sender }, receiver)
    }

    /// The next steer of the run, when one comes; only for an agent that declares `steer`. Each is read by one
    /// invocation of its own run, and counts as read once this has returned it (STR-04, STR-05): when the future
    /// is dropped before, the next call gets the same one, or the end of the run gives it back. One call at a
    /// time: a second one takes the place of the first.
    ///
    /// # Errors
    /// [`SinkClosed`] when no more will come.
    pub async fn next_steer(&self) -> Result<String, SinkClosed> {
        let (reply, steer) = async_channel::bounded(1);
        self.send(AgentEvent::SteerWanted { reply }).await?;
        let HandedSteer { steer_id, text } = steer.recv().await.map_err(|_| SinkClosed)?;
        self.send(AgentEvent::SteerRead { steer_id }).await?;
        Ok(text)
    }

    /// Hands over one event.
    ///
    /// # Errors
    /// [`SinkClosed`] when the run is over; the invocation should return.
    pub async fn send(&self, event: AgentEvent) -> Result<(), SinkClosed> {
        self.sender.send(event).await.map_err(|_| SinkClosed)
    }
}

/// How an invocation returned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Returned {
    /// The answer is complete.
    Completed,
    /// It ended because it was asked to.
    Interrupted,
    /// It failed.
    Failed(AgentFailure),
}

/// Why an agent failed. Only `retryable` reaches a client; the detail goes to the diagnostic log.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{kind:?}: {detail}")]
pub struct AgentFailure {
    /// What kind of failure.
    pub kind: FailureKind,
    /// For the diagnostic log; never sent to a client (ENV-9).
    pub detail: String,
}

/// Kinds of agent failure, as far as the server treats them differently.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureKind {
    /// No such endpoint, or it refused the connection.
    Unreachable,
    /// The provider asks to slow down.
    RateLimited,
    /// The credentials were refused.
    Unauthorized,
    /// The provider failed (5xx).
    Provider,
    /// The provider broke its protocol, or cut the stream.
    Malformed,
    /// The provider refused the request (4xx).
    Refused,
    /// The agent itself failed.
    Internal,
    /// The agent's process or connection is gone. Where it said nothing yet, another agent is built and
    /// called (run-state table 5.2).
    Lost,
}

impl FailureKind {
    /// Whether sending the same message again may succeed.
    pub const fn is_retryable(self) -> bool {
        match self {
            Self::Unreachable
            | Self::RateLimited
            | Self::Provider
            | Self::Malformed
            | Self::Lost => true,
            Self::Unauthorized | Self::Refused | Self::Internal => false,
        }
    }
}
