//! One prompt in a session of an agent.

use std::convert::Infallible;
use std::sync::atomic::{AtomicBool, Ordering};

use agent_client_protocol_schema::v1::{
    AGENT_METHOD_NAMES, CLIENT_METHOD_NAMES, CancelNotification, ContentBlock, Error,
    PromptRequest, PromptResponse, StopReason,
};
use async_channel::{Receiver, Sender};
use futures_lite::FutureExt;
use runwarden_protocol::instant::Duration;
use runwarden_protocol::session::record::Usage;
use runwarden_runtime::ports::agent::{FailureKind, QuestionReply, SinkClosed};
use runwarden_runtime::ports::{AgentEvent, AgentFailure, EventSink, Returned, World};
use serde_json::{Value, json};

use super::super::interrupt::Interrupt;
use super::connection::{Connection, Inbox, REQUEST_PERMISSION, declined, malformed, refused};
use super::message::{self, Incoming};
use super::permission::Permission;
use super::updates::Updates;

/// Most permission requests of one run that are open at once; a further one is answered `cancelled`.
pub const PERMISSIONS_OPEN_MAX: usize = 16;

/// Longest wait for the answer to the fence.
pub const FENCE_MAX: Duration = Duration::from_millis(1_000);

/// A request that no agent offers; its refusal tells that everything said before it has arrived.
const FENCE: &str = "_runwarden/fence";

/// Lets what belongs to something before pass by: updates do not name the prompt they belong to.
/// False when the agent did not answer in time; then nothing is known.
pub(super) async fn pass_fence<W: World>(
    world: &W,
    connection: &Connection,
    inbox: &Inbox<'_>,
) -> bool {
    let answered = async {
        // Any answer will do, and an end is seen by whoever asks next.
        let _ = connection.call(inbox, FENCE, &json!({})).await;
        true
    };
    let late = async {
        world.sleep_until(world.now().plus(FENCE_MAX)).await;
        false
    };
    answered.or(late).await
}

/// One prompt, while it runs.
pub(super) struct Turn<'a, W> {
    /// Starts the tasks that wait for answers.
    pub(super) world: &'a W,
    /// The process.
    pub(super) connection: &'a Connection,
    /// Its messages.
    pub(super) inbox: &'a Inbox<'a>,
    /// The agent's session.
    pub(super) session_id: &'a str,
    /// Where events go.
    pub(super) sink: &'a EventSink,
}

/// What the turn's parts share.
struct Open {
    is_cancelled: AtomicBool,
    /// Closed when permissions need no answer any more.
    over: Sender<Infallible>,
    is_over: Receiver<Infallible>,
    /// As many messages as permissions are open.
    permissions: (Sender<()>, Receiver<()>),
}

impl<W: World> Turn<'_, W> {
    /// Sends the prompt and reads until the agent has returned. An interrupt is passed on as
    /// `session/cancel`; what the agent says after it is not shown, and its return is awaited. A
    /// process that ends is [`FailureKind::Lost`].
    pub(super) async fn run(
        &self,
        prompt: Vec<ContentBlock>,
        updates: &mut Updates,
        interrupt: &Interrupt,
    ) -> Returned {
        let params = message::json(&PromptRequest::new(self.session_id.to_owned(), prompt));
        let id = self.connection.request(AGENT_METHOD_NAMES.session_prompt, &params).await;
        let open = Open::new();
        let cancelling = async {
            interrupt.asked().await;
            self.cancel(&open);
            std::future::pending().await
        };
        let returned = cancelling.or(self.read(id, updates, &open)).await;
        open.over.close();
        returned
    }

    fn cancel(&self, open: &Open) {
        if !open.is_cancelled.swap(true, Ordering::AcqRel) {
            open.over.close();
            let params = message::json(&CancelNotification::new(self.session_id.to_owned()));
            let line = message::notification(AGENT_METHOD_NAMES.session_cancel, &params);
            self.connection.send_now(line);
        }
    }

    async fn read(&self, prompt_id: u64, updates: &mut Updates, open: &Open) -> Returned {
        while let Some(incoming) = self.inbox.next().await {
            let done = match incoming {
                Incoming::Response { id, outcome } if id == Some(prompt_id) => {
                    return self.returned(outcome, open.is_cancelled(), updates).await;
                }
                Incoming::Response { .. } => Ok(()),
                Incoming::Notification { method, params } => {
                    if method == CLIENT_METHOD_NAMES.session_update && !open.is_cancelled() {
                        self.show(updates.read(&params["update"])).await
                    } else {
                        Ok(())
                    }
                }
                Incoming::Request { id, method, params } => {
                    if method == REQUEST_PERMISSION && !open.is_cancelled() {
                        self.ask(id, &params, updates, open).await
                    } else {
                        self.connection.send(declined(&id, &method)).await;
                        Ok(())
                    }
                }
            };
            if let Err(SinkClosed) = done {
                self.cancel(open);
            }
        }
        if open.is_cancelled() {
            return Returned::Interrupted;
        }
        Returned::Failed(self.connection.failure())
    }

    async fn show(&self, event: Option<AgentEvent>) -> Result<(), SinkClosed> {
        match event {
            Some(event) => self.sink.send(event).await,
            None => Ok(()),
        }
    }

    async fn ask(
        &self,
        id: Value,
        params: &Value,
        updates: &mut Updates,
        open: &Open,
    ) -> Result<(), SinkClosed> {
        let permission =
            Permission::read(params).filter(|_| open.permissions.0.try_send(()).is_ok());
        let Some(permission) = permission else {
            self.connection.send(declined(&id, REQUEST_PERMISSION)).await;
            return Ok(());
        };
        self.show(updates.tool(&params["toolCall"])).await?;
        let (reply, replied) = async_channel::bounded(1);
        let (outgoing, is_over) = (self.connection.outgoing().clone(), open.is_over.clone());
        let (answered, question) = (open.permissions.1.clone(), permission.question());
        self.world.spawn(async move {
            let reply = async { replied.recv().await.unwrap_or(QuestionReply::Unanswered) };
            let over = async {
                let Err(_closed) = is_over.recv().await;
                QuestionReply::Unanswered
            };
            let outcome = permission.outcome(&reply.or(over).await);
            let _ = answered.try_recv();
            let _ = outgoing.send(message::response(&id, &outcome)).await;
        });
        self.sink.send(AgentEvent::Question { question, reply }).await
    }

    async fn returned(
        &self,
        outcome: Result<Value, Error>,
        is_cancelled: bool,
        updates: &mut Updates,
    ) -> Returned {
        // What a cancelled turn used was used all the same.
        if let Some(usage) = outcome.as_ref().ok().and_then(|result| usage(&result["usage"])) {
            let _ = self.sink.send(AgentEvent::Usage(usage)).await;
        }
        if is_cancelled {
            return Returned::Interrupted;
        }
        let result = match outcome {
            Ok(result) => result,
            Err(error) => {
                return Returned::Failed(refused(AGENT_METHOD_NAMES.session_prompt, &error));
            }
        };
        let Some(PromptResponse { stop_reason, .. }) = message::typed(&result) else {
            return of_unknown_reason(&result);
        };
        let noticed = match stop_reason {
            StopReason::EndTurn => return Returned::Completed,
            StopReason::MaxTokens => "The agent stopped at its limit of tokens.",
            StopReason::MaxTurnRequests => "The agent stopped at its limit of model requests.",
            StopReason::Refusal => {
                let detail = "the agent refuses to go on".to_owned();
                return Returned::Failed(AgentFailure { kind: FailureKind::Refused, detail });
            }
            StopReason::Cancelled => {
                let detail = "the agent says it was cancelled, which nobody asked for";
                return Returned::Failed(malformed(detail.to_owned()));
            }
            _ => return of_unknown_reason(&result),
        };
        let _ = self.sink.send(updates.notice(noticed)).await;
        Returned::Completed
    }
}

impl Open {
    fn new() -> Self {
        let (over, is_over) = async_channel::bounded(1);
        let permissions = async_channel::bounded(PERMISSIONS_OPEN_MAX);
        Self { is_cancelled: AtomicBool::new(false), over, is_over, permissions }
    }

    fn is_cancelled(&self) -> bool {
        self.is_cancelled.load(Ordering::Acquire)
    }
}

/// Closing is also right when the turn is dropped.
impl Drop for Open {
    fn drop(&mut self) {
        self.over.close();
    }
}

/// A later version may have other reasons to end well; an answer without any is no answer.
fn of_unknown_reason(result: &Value) -> Returned {
    let Some(reason) = result["stopReason"].as_str() else {
        return Returned::Failed(malformed("the agent gave no stop reason".to_owned()));
    };
    tracing::warn!(reason, "an agent returned for a reason that is unknown");
    Returned::Completed
}

fn usage(usage: &Value) -> Option<Usage> {
    let count = |field: &str| usage[field].as_u64();
    let usage = Usage {
        input: count("inputTokens"),
        output: count("outputTokens"),
        cached: count("cachedReadTokens"),
        ..Usage::UNKNOWN
    };
    (usage != Usage::default()).then_some(usage)
}
