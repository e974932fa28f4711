//! The driver of one session: one task that owns its machine, feeds it and carries out its effects.

mod announce;
mod changes;
mod deleting;
mod driver;
mod live;
mod looking;
mod open;
mod ports;
mod questions;
mod queue;
mod recording;
mod report;
mod rewriting;
mod settled;
mod steers;
mod wakeups;

use std::future::Future;

use async_channel::Sender;
use runwarden_protocol::flight::Flight;
use runwarden_protocol::ids::{ConnectionId, PrincipalId, QuestionId, RunId, SessionId, TurnId};
use runwarden_protocol::run::lineage::Lineage;
use runwarden_protocol::session::record::SessionHead;
use runwarden_protocol::wire::JsonObject;
use runwarden_protocol::wire::actions::{KnownState, WhenBusy};
use runwarden_protocol::wire::structures::RunReport;

use crate::connection::ReplyTo;
use crate::hub::Hub;
use crate::ports::store::{KeyRecord, KeyUse, UnsettledRun};
use crate::ports::{Store, World};

pub(crate) use changes::choose;
pub use rewriting::WantedRewrite;

/// Where a session takes messages.
#[derive(Clone, Debug)]
pub struct SessionHandle {
    /// The session.
    pub session_id: SessionId,
    /// Who made it and alone may read and change it.
    pub owner: PrincipalId,
    inbox: Sender<Message>,
}

impl SessionHandle {
    /// Hands over a message; `false` when the session was unloaded meanwhile: ask the hub again.
    /// The inbox has no bound of its own: senders are bounded (64 unanswered actions of at most 64
    /// connections a principal).
    pub fn send(&self, message: Message) -> bool {
        self.inbox.try_send(message).is_ok()
    }

    /// As [`SessionHandle::send`], but gives the message back, its reply unanswered, when the session was
    /// unloaded meanwhile.
    pub(crate) fn hand_over(&self, message: Message) -> Result<(), Box<Message>> {
        self.inbox.try_send(message).map_err(|error| Box::new(error.into_inner()))
    }
}

/// What a session takes. A `ReplyTo` gets exactly one reply.
#[derive(Debug)]
pub enum Message {
    /// `open_session`.
    Open {
        /// Who asks.
        reply: ReplyTo,
        /// Open generation.
        generation: i64,
        /// What the client knows.
        known: Option<KnownState>,
    },
    /// `close_session`.
    Close {
        /// Who asks.
        reply: ReplyTo,
    },
    /// A connection is gone.
    PeerGone {
        /// Which.
        connection: ConnectionId,
    },
    /// `get_stream`.
    GetStream {
        /// Who asks.
        reply: ReplyTo,
        /// The entity, a run.
        entity_id: RunId,
        /// Open generation.
        generation: Option<i64>,
        /// What the client has.
        known_seq: Option<i64>,
    },
    /// `send_message`.
    Send {
        /// Who asks.
        reply: ReplyTo,
        /// The user's words.
        text: String,
        /// Whether an attachment is named.
        attachment_named: bool,
        /// What to do while a turn may not start.
        when_busy: WhenBusy,
        /// The idempotency key.
        key: Option<KeyUse>,
        /// What the store remembers under the key.
        remembered: Option<KeyRecord>,
    },
    /// `update_session`.
    Update {
        /// Who asks.
        reply: ReplyTo,
        /// What is to change.
        wanted: Wanted,
        /// The idempotency key.
        key: Option<KeyUse>,
        /// What the store remembers under the key.
        remembered: Option<KeyRecord>,
    },
    /// `delete_session`.
    Delete {
        /// Who asks.
        reply: ReplyTo,
        /// The idempotency key.
        key: Option<KeyUse>,
    },
    /// `rewrite`.
    Rewrite {
        /// Who asks.
        reply: ReplyTo,
        /// What is to change.
        wanted: WantedRewrite,
        /// The idempotency key.
        key: Option<KeyUse>,
        /// What the store remembers under the key.
        remembered: Option<KeyRecord>,
    },
    /// `remove_queued`.
    RemoveQueued {
        /// Who asks.
        reply: ReplyTo,
        /// The entry.
        turn_id: TurnId,
        /// The idempotency key.
        key: Option<KeyUse>,
    },
    /// `resume_queue`.
    ResumeQueue {
        /// Who asks.
        reply: ReplyTo,
        /// The idempotency key.
        key: Option<KeyUse>,
    },
    /// The queue's head may be tried: the process began (STR-12).
    TriggerQueue,
    /// The queue's head may be tried: a slot is free (STR-12).
    SlotFreed,
    /// The server stops: nothing of the queue is started any more.
    ServerStopping,
    /// `stop_run`.
    Stop {
        /// Who asks.
        reply: ReplyTo,
        /// The run.
        run_id: RunId,
    },
    /// `steer_run`.
    Steer {
        /// Who asks.
        reply: ReplyTo,
        /// The run.
        run_id: RunId,
        /// The hint.
        text: String,
    },
    /// `answer_question`.
    Answer {
        /// Who asks.
        reply: ReplyTo,
        /// The question.
        question_id: QuestionId,
        /// Its version.
        version: u64,
        /// The answer object.
        answer: JsonObject,
    },
    /// `list_questions`.
    ListQuestions {
        /// Who asks.
        reply: ReplyTo,
    },
    /// What the flight recorder keeps is wanted.
    TakeFlight {
        /// Takes it; none when it is off, or nothing happened.
        reply: Sender<Option<Flight<Lineage>>>,
    },
    /// The status of its runs is wanted.
    Report {
        /// Takes it.
        reply: Sender<Vec<RunReport>>,
    },
    /// The open errors of the session changed.
    ErrorsChanged,
    /// Too many sessions keep an agent (REG-13).
    Evict,
    /// A run was found unsettled at process start.
    Recover {
        /// The run.
        run: Box<UnsettledRun>,
        /// Dropped when it was tried once.
        done: Sender<()>,
    },
    /// End all runs: the server stops.
    EndRuns {
        /// Dropped when the last one is announced.
        done: Sender<()>,
    },
}

/// What an `update_session` names; `None` leaves it as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// The title.
    pub title: Option<String>,
    /// Whether the session is hidden from the normal list.
    pub archived: Option<bool>,
    /// The agent.
    pub agent: Option<String>,
    /// The model.
    pub model: Option<String>,
}

/// Makes a session's driver and the handle to it.
pub(crate) fn start<W: World, S: Store>(
    hub: Hub<W, S>,
    head: SessionHead,
) -> (SessionHandle, impl Future<Output = ()> + Send + 'static) {
    let (sender, inbox) = async_channel::unbounded();
    let handle = SessionHandle { session_id: head.session_id, owner: head.owner, inbox: sender };
    (handle, driver::Driver::new(hub, head, inbox).run())
}
