//! Opening a session with an agent, and one prompt in it.

use std::convert::Infallible;
use std::sync::atomic::{AtomicBool, Ordering};

use async_channel::{Receiver, Sender};
use futures_lite::FutureExt;
use runwarden_protocol::instant::Duration;
use runwarden_protocol::session::record::Usage;
use runwarden_runtime::ports::agent::{FailureKind, QuestionReply, SinkClosed};
use runwarden_runtime::ports::{AgentEvent, AgentFailure, EventSink, Returned, World};
use serde_json::{Value, json};

use super::super::interrupt::Interrupt;
use super::command::AcpCommand;
use super::connection::{Connection, Inbox, REQUEST_PERMISSION, declined, malformed};
use super::message::{self, Incoming, RpcError};
use super::permission::Permission;
use super::updates::Updates;

/// Most permission requests of one run that are open at once; a further one is answered `cancelled`.
pub const PERMISSIONS_OPEN_MAX: usize = 16;

/// Longest wait for the answer to the fence.
pub const FENCE_MAX: Duration = Duration::from_millis(1_000);

/// A request that no agent offers; its refusal tells that everything said before it has arrived.
const FENCE: &str = "_runwarden/fence";

/// Most bytes of an agent's session id.
const SESSION_ID_BYTES_MAX: usize = 1_024;

/// The version of the protocol that is spoken.
const PROTOCOL_VERSION: u64 = 1;

/// ACP: the agent wants its user to log in.
const AUTHENTICATION_REQUIRED: i64 = -32_000;

/// JSON-RPC: the parameters were refused.
const INVALID_PARAMS: i64 = -32_602;

/// Greets a new process and opens a session in it.
///
/// # Errors
/// Why the agent cannot be used.
pub(super) async fn open_session(
    connection: &Connection,
    inbox: &Inbox<'_>,
    command: &AcpCommand,
) -> Result<String, AgentFailure> {
    let greeting = json!({
        "protocolVersion": PROTOCOL_VERSION,
        "clientCapabilities": {
            "fs": {"readTextFile": false, "writeTextFile": false}, "terminal": false,
        },
        "clientInfo": {"name": "runwarden", "version": env!("CARGO_PKG_VERSION")},
    });
    let greeted = call(connection, inbox, "initialize", &greeting).await?;
    if greeted["protocolVersion"].as_u64() != Some(PROTOCOL_VERSION) {
        return Err(malformed(format!(
            "the agent speaks protocol version {}, not {PROTOCOL_VERSION}",
            greeted["protocolVersion"]
        )));
    }
    let place = json!({"cwd": command.cwd, "mcpServers": []});
    let opened = call(connection, inbox, "session/new", &place).await?;
    let id = opened["sessionId"].as_str().unwrap_or_default();
    if id.is_empty() || id.len() > SESSION_ID_BYTES_MAX {
        return Err(malformed("the agent named no session".to_owned()));
    }
    Ok(id.to_owned())
}

/// Lets what belongs to the prompt before pass by: updates do not name the prompt they belong to.
/// False when the agent did not answer in time; then nothing is known.
pub(super) async fn pass_fence<W: World>(world: &W, connection: &Connection) -> bool {
    let inbox = connection.begin();
    let answered = async {
        // Any answer will do, and an end is seen by whoever asks next.
        let _ = call(connection, &inbox, FENCE, &json!({})).await;
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
    /// `session/cancel`; what the agent says after it is not shown, and its return is awaited.
    pub(super) async fn run(&self, prompt: &[Value], interrupt: &Interrupt) -> Returned {
        let params = json!({"sessionId": self.session_id, "prompt": prompt});
        let id = self.connection.request("session/prompt", &params).await;
        let open = Open::new();
        let cancelling = async {
            interrupt.asked().await;
            self.cancel(&open);
            std::future::pending().await
        };
        let returned = cancelling.or(self.read(id, &open)).await;
        open.over.close();
        returned
    }

    fn cancel(&self, open: &Open) {
        if !open.is_cancelled.swap(true, Ordering::AcqRel) {
            open.over.close();
            let params = json!({"sessionId": self.session_id});
            self.connection.send_now(message::notification("session/cancel", &params));
        }
    }

    async fn read(&self, prompt_id: u64, open: &Open) -> Returned {
        let mut updates = Updates::default();
        while let Some(incoming) = self.inbox.next().await {
            let done = match incoming {
                Incoming::Response { id, outcome } if id == Some(prompt_id) => {
                    return self.returned(outcome, open.is_cancelled(), &mut updates).await;
                }
                Incoming::Response { .. } => Ok(()),
                Incoming::Notification { method, params } => {
                    if method == "session/update" && !open.is_cancelled() {
                        self.show(updates.read(&params["update"])).await
                    } else {
                        Ok(())
                    }
                }
                Incoming::Request { id, method, params } => {
                    if method == REQUEST_PERMISSION && !open.is_cancelled() {
                        self.ask(id, &params, &mut updates, open).await
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
        let place = open.permissions.0.try_send(());
        let (Some(permission), Ok(())) = (Permission::read(params), place) else {
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
        outcome: Result<Value, RpcError>,
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
            Err(error) => return Returned::Failed(refused("session/prompt", &error)),
        };
        let noticed = match result["stopReason"].as_str() {
            Some("end_turn") => return Returned::Completed,
            Some("max_tokens") => "The agent stopped at its limit of tokens.",
            Some("max_turn_requests") => "The agent stopped at its limit of model requests.",
            Some("refusal") => {
                let detail = "the agent refuses to go on".to_owned();
                return Returned::Failed(AgentFailure { kind: FailureKind::Refused, detail });
            }
            Some("cancelled") => {
                let detail = "the agent says it was cancelled, which nobody asked for";
                return Returned::Failed(malformed(detail.to_owned()));
            }
            Some(other) => {
                tracing::warn!(reason = other, "an agent returned for a reason that is unknown");
                return Returned::Completed;
            }
            None => return Returned::Failed(malformed("the agent gave no stop reason".to_owned())),
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

/// A request before the first prompt; nothing else is of interest until it is answered.
async fn call(
    connection: &Connection,
    inbox: &Inbox<'_>,
    method: &str,
    params: &Value,
) -> Result<Value, AgentFailure> {
    let asked = connection.request(method, params).await;
    while let Some(incoming) = inbox.next().await {
        match incoming {
            Incoming::Response { id, outcome } if id == Some(asked) => {
                return outcome.map_err(|error| refused(method, &error));
            }
            Incoming::Request { id, method, .. } => {
                connection.send(declined(&id, &method)).await;
            }
            Incoming::Response { .. } | Incoming::Notification { .. } => {}
        }
    }
    Err(connection.failure())
}

fn refused(method: &str, error: &RpcError) -> AgentFailure {
    let RpcError { code, message } = error;
    let kind = match *code {
        AUTHENTICATION_REQUIRED => FailureKind::Unauthorized,
        INVALID_PARAMS => FailureKind::Refused,
        _ => FailureKind::Provider,
    };
    let message: String = message.chars().take(SESSION_ID_BYTES_MAX).collect();
    AgentFailure { kind, detail: format!("{method} was answered with error {code}: {message}") }
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
