//! One agent process and the messages to and from it.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agent_client_protocol_schema::v1::{CLIENT_METHOD_NAMES, Error, ErrorCode};
use async_channel::{Receiver, Sender};
use futures_lite::AsyncWriteExt;
use runwarden_protocol::instant::Duration;
use runwarden_runtime::ports::agent::FailureKind;
use runwarden_runtime::ports::{AgentFailure, World};
use serde_json::Value;
use smol::process::{ChildStdin, ChildStdout};

use super::command::AcpCommand;
use super::lines::Lines;
use super::message::{self, Incoming};
use super::permission;
use super::process::{self, Group, Pipes, Processes};

/// Most bytes of one message of an agent; a longer one ends its process.
pub const MESSAGE_BYTES_MAX: usize = 4_194_304;

/// Most lines in a row that are no message; one more ends the process.
pub const GARBAGE_LINES_MAX: usize = 1_000;

/// How long an idle process that is not needed any more has to end by itself, and then after SIGTERM.
pub const END_GRACE: Duration = Duration::from_secs(2);

/// Messages that wait to be read by an invocation, or to be written to the agent.
const MESSAGES_WAITING_MAX: usize = 64;

/// Most characters of an agent's error that are logged.
const ERROR_CHARS_MAX: usize = 1_024;

/// The request for a permission.
pub(super) const REQUEST_PERMISSION: &str = CLIENT_METHOD_NAMES.session_request_permission;

/// A running process. Dropping it kills its group.
#[derive(Debug)]
pub(super) struct Connection {
    group: Arc<Group>,
    outgoing: Sender<String>,
    desk: Arc<Desk>,
    requests: AtomicU64,
    /// Whether it ends by itself, or else a little later by force.
    is_ending: bool,
}

/// What an invocation reads from. While there is none, messages are dropped and requests declined.
pub(super) struct Inbox<'a> {
    desk: &'a Desk,
    incoming: Receiver<Incoming>,
}

/// Where the reading task leaves messages.
#[derive(Debug, Default)]
struct Desk {
    state: Mutex<DeskState>,
}

#[derive(Debug, Default)]
struct DeskState {
    invocation: Option<Sender<Incoming>>,
    ended: Option<AgentFailure>,
}

impl Connection {
    /// Starts the process and the tasks that read and write.
    ///
    /// # Errors
    /// What the system reports.
    pub(super) fn open<W: World>(
        world: &W,
        processes: &Processes,
        agent: &str,
        command: &AcpCommand,
    ) -> io::Result<Self> {
        let (group, Pipes { stdin, stdout }) = process::start(world, processes, agent, command)?;
        let (outgoing, to_write) = async_channel::bounded(MESSAGES_WAITING_MAX);
        let desk = Arc::new(Desk::default());
        world.spawn(write(stdin, to_write));
        let reading = Reading {
            agent: agent.to_owned(),
            desk: Arc::clone(&desk),
            outgoing: outgoing.clone(),
            group: Arc::clone(&group),
        };
        world.spawn(reading.run(stdout));
        Ok(Self { group, outgoing, desk, requests: AtomicU64::new(0), is_ending: false })
    }

    /// Ends a process that has nothing to do: its input ends, so that it can put away what it keeps;
    /// after [`END_GRACE`] its group gets SIGTERM, and after as long again SIGKILL.
    pub(super) fn end<W: World>(mut self, world: &W) {
        self.is_ending = true;
        self.outgoing.close();
        let (group, clock) = (Arc::clone(&self.group), world.clone());
        world.spawn(async move {
            clock.sleep_until(clock.now().plus(END_GRACE)).await;
            group.terminate();
            clock.sleep_until(clock.now().plus(END_GRACE)).await;
            group.kill();
        });
    }

    /// The processes.
    pub(super) fn group(&self) -> &Arc<Group> {
        &self.group
    }

    /// Whether nothing can be asked any more.
    pub(super) fn is_over(&self) -> bool {
        self.group.is_over() || self.desk.lock().ended.is_some()
    }

    /// Why it ended.
    pub(super) fn failure(&self) -> AgentFailure {
        self.desk.lock().ended.clone().unwrap_or_else(|| lost("the agent's process has ended"))
    }

    /// From now on messages are kept for the caller, in their order.
    pub(super) fn begin(&self) -> Inbox<'_> {
        let (sender, incoming) = async_channel::bounded(MESSAGES_WAITING_MAX);
        let mut state = self.desk.lock();
        if state.ended.is_none() {
            state.invocation = Some(sender);
        }
        Inbox { desk: &self.desk, incoming }
    }

    /// Asks and waits for the answer. Until it is there, requests of the agent are declined and what it
    /// says is dropped.
    ///
    /// # Errors
    /// What the agent answers, or that it is gone.
    pub(super) async fn call(
        &self,
        inbox: &Inbox<'_>,
        method: &str,
        params: &Value,
    ) -> Result<Value, AgentFailure> {
        let asked = self.request(method, params).await;
        loop {
            if let Some(answer) = self.answer_or_other(inbox, method, asked).await? {
                return Ok(answer);
            }
        }
    }

    /// Takes one message: the answer to the request `asked` of this method, or anything else.
    ///
    /// # Errors
    /// As [`Connection::call`].
    pub(super) async fn answer_or_other(
        &self,
        inbox: &Inbox<'_>,
        method: &str,
        asked: u64,
    ) -> Result<Option<Value>, AgentFailure> {
        match inbox.next().await {
            Some(Incoming::Response { id, outcome }) if id == Some(asked) => {
                outcome.map(Some).map_err(|error| refused(method, &error))
            }
            Some(Incoming::Request { id, method, .. }) => {
                self.send(declined(&id, &method)).await;
                Ok(None)
            }
            Some(Incoming::Response { .. } | Incoming::Notification { .. }) => Ok(None),
            None => Err(self.failure()),
        }
    }

    /// Sends a request and gives its id.
    pub(super) async fn request(&self, method: &str, params: &Value) -> u64 {
        let id = self.requests.fetch_add(1, Ordering::Relaxed) + 1;
        self.send(message::request(id, method, params)).await;
        id
    }

    /// Sends a line. A process that is gone is noticed by reading.
    pub(super) async fn send(&self, line: String) {
        let _ = self.outgoing.send(line).await;
    }

    /// Sends a line unless the agent reads nothing, in which case it could not obey it either.
    pub(super) fn send_now(&self, line: String) {
        let _ = self.outgoing.try_send(line);
    }

    /// Where lines to the agent go.
    pub(super) fn outgoing(&self) -> &Sender<String> {
        &self.outgoing
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        if !self.is_ending {
            self.group.kill();
        }
    }
}

impl Inbox<'_> {
    /// The next message; `None` once the process can say nothing more.
    pub(super) async fn next(&self) -> Option<Incoming> {
        self.incoming.recv().await.ok()
    }
}

impl Drop for Inbox<'_> {
    fn drop(&mut self) {
        self.desk.lock().invocation = None;
    }
}

impl Desk {
    fn lock(&self) -> MutexGuard<'_, DeskState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits while an invocation is behind; gives back what nobody wants.
    async fn deliver(&self, incoming: Incoming) -> Option<Incoming> {
        let invocation = self.lock().invocation.clone();
        match invocation {
            Some(invocation) => invocation.send(incoming).await.err().map(|unsent| unsent.0),
            None => Some(incoming),
        }
    }

    fn end(&self, failure: AgentFailure) {
        let mut state = self.lock();
        state.ended = Some(failure);
        state.invocation = None;
    }
}

/// The task that reads.
struct Reading {
    agent: String,
    desk: Arc<Desk>,
    outgoing: Sender<String>,
    group: Arc<Group>,
}

impl Reading {
    async fn run(self, stdout: ChildStdout) {
        let failure = self.read(stdout).await;
        self.desk.end(failure);
        // A process that cannot be heard is of no use.
        self.group.kill();
        self.outgoing.close();
    }

    async fn read(&self, stdout: ChildStdout) -> AgentFailure {
        let mut lines = Lines::new(stdout, MESSAGE_BYTES_MAX);
        let mut garbage = 0;
        loop {
            let line = match lines.next().await {
                Ok(Some(line)) => line,
                Ok(None) => return lost("the agent's process ended or closed its output"),
                Err(error) => return lost(&format!("the agent cannot be read: {error}")),
            };
            if line.is_cut {
                return malformed(format!("a message longer than {MESSAGE_BYTES_MAX} bytes"));
            }
            if let Some(incoming) = message::parse(&line.bytes) {
                garbage = 0;
                if let Some(unwanted) = self.desk.deliver(incoming).await {
                    self.decline(unwanted).await;
                }
                continue;
            }
            garbage += 1;
            if garbage == 1 {
                tracing::warn!(agent = self.agent, "an agent wrote a line that is no message");
            }
            if garbage > GARBAGE_LINES_MAX {
                return malformed(format!("more than {GARBAGE_LINES_MAX} lines of no message"));
            }
        }
    }

    /// Outside of an invocation nobody can be asked, and what is said belongs to no run.
    async fn decline(&self, incoming: Incoming) {
        if let Incoming::Request { id, method, .. } = incoming {
            let _ = self.outgoing.send(declined(&id, &method)).await;
        }
    }
}

/// The answer to a request that nobody will look at.
pub(super) fn declined(id: &Value, method: &str) -> String {
    if method == REQUEST_PERMISSION {
        message::response(id, &permission::cancelled())
    } else {
        message::not_offered(id, method)
    }
}

/// The agent broke its protocol.
pub(super) fn malformed(detail: String) -> AgentFailure {
    AgentFailure { kind: FailureKind::Malformed, detail }
}

/// The agent answered a request with an error.
pub(super) fn refused(method: &str, error: &Error) -> AgentFailure {
    let kind = match error.code {
        ErrorCode::AuthRequired => FailureKind::Unauthorized,
        ErrorCode::InvalidParams => FailureKind::Refused,
        _ => FailureKind::Provider,
    };
    let code = i32::from(error.code);
    let message: String = error.message.chars().take(ERROR_CHARS_MAX).collect();
    AgentFailure { kind, detail: format!("{method} was answered with error {code}: {message}") }
}

/// The process is gone.
pub(super) fn lost(detail: &str) -> AgentFailure {
    AgentFailure { kind: FailureKind::Lost, detail: detail.to_owned() }
}

async fn write(mut stdin: ChildStdin, lines: Receiver<String>) {
    while let Ok(line) = lines.recv().await {
        if stdin.write_all(line.as_bytes()).await.is_err() || stdin.flush().await.is_err() {
            break;
        }
    }
    lines.close();
}
