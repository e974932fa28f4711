//! Any agent that speaks the Agent Client Protocol, version 1, as a child process over stdio.
//!
//! The process starts with the first invocation and serves the later ones of the same agent object,
//! in one session of its own. A process that is new, because there was none or the last one ended or
//! failed, is told the conversation so far in front of the prompt (AGT-03). Whatever the agent does, it
//! is ended with everything it started: by SIGTERM and SIGKILL to its process group (REG-15), when an
//! invocation is dropped or fails, and at [`Agent::close`].

mod command;
mod connection;
mod lines;
mod message;
mod permission;
mod preamble;
mod process;
mod turn;
mod updates;

use std::sync::{Arc, Mutex, PoisonError};

use futures_lite::FutureExt;
use runwarden_protocol::instant::Duration;
use runwarden_runtime::ports::agent::{BoxFuture, ContextMessage, FailureKind};
use runwarden_runtime::ports::{
    Agent, AgentFactory, AgentFailure, AgentProfile, Construction, EventSink, Invocation, Returned,
    Signal, World,
};
use serde_json::{Value, json};

use super::interrupt::{Interrupt, Interrupts};
pub use command::{ARGS_MAX, AcpCommand, CommandError, ENV_MAX};
use connection::{Connection, Inbox};
pub use connection::{GARBAGE_LINES_MAX, MESSAGE_BYTES_MAX};
pub use permission::{OPTION_CHARS_MAX, OPTIONS_MAX};
pub use preamble::PREAMBLE_BYTES_MAX;
use preamble::preamble;
use process::Group;
pub use process::{Processes, STDERR_LINE_BYTES_MAX, STDERR_LINES_MAX};
use turn::Turn;
pub use turn::{FENCE_MAX, PERMISSIONS_OPEN_MAX};
pub use updates::{PLAN_ENTRIES_MAX, TOOL_CALLS_MAX, TOOL_VALUE_BYTES_MAX};

/// Longest time that trying an agent may take.
pub const PROBE_MAX: Duration = Duration::from_secs(30);

/// Makes agents that start one command. Offers no models.
#[derive(Clone, Debug)]
pub struct AcpFactory<W> {
    profile: AgentProfile,
    command: Arc<AcpCommand>,
    world: W,
    processes: Processes,
}

struct AcpAgent<W> {
    name: String,
    command: Arc<AcpCommand>,
    world: W,
    processes: Processes,
    interrupts: Interrupts,
    /// The process between invocations; an invocation takes it out and puts it back if it may stay.
    link: smol::lock::Mutex<Option<Link>>,
    /// The processes of the running invocation.
    running: Mutex<Option<Arc<Group>>>,
}

/// A process that has opened a session.
struct Link {
    connection: Connection,
    session_id: String,
    /// Whether it answers requests that it does not know.
    has_fence: bool,
}

impl<W: World> AcpFactory<W> {
    /// A factory whose agents start `command`. The world runs the tasks that read and write, and
    /// `processes` ends with the server what is left.
    pub fn new(
        name: String,
        label: String,
        command: AcpCommand,
        world: W,
        processes: Processes,
    ) -> Self {
        let profile = AgentProfile::new(name, label);
        Self { profile, command: Arc::new(command), world, processes }
    }
}

impl<W: World> AcpFactory<W> {
    async fn try_out(&self) -> Result<AgentProfile, AgentFailure> {
        let name = &self.profile.name;
        let connection = Connection::open(&self.world, &self.processes, name, &self.command)
            .map_err(|error| not_started(&self.command, &error))?;
        let inbox = connection.begin();
        turn::open_session(&connection, &inbox, &self.command).await?;
        Ok(self.profile())
    }
}

impl<W: World> AgentFactory for AcpFactory<W> {
    fn name(&self) -> &str {
        &self.profile.name
    }

    fn profile(&self) -> AgentProfile {
        self.profile.clone()
    }

    fn construct(
        &self,
        _construction: Construction,
    ) -> BoxFuture<'_, Result<Arc<dyn Agent>, AgentFailure>> {
        let agent: Arc<dyn Agent> = Arc::new(AcpAgent {
            name: self.profile.name.clone(),
            command: Arc::clone(&self.command),
            world: self.world.clone(),
            processes: self.processes.clone(),
            interrupts: Interrupts::default(),
            link: smol::lock::Mutex::new(None),
            running: Mutex::new(None),
        });
        Box::pin(std::future::ready(Ok(agent)))
    }

    /// Starts the process, opens a session in it and ends it.
    fn probe(&self) -> BoxFuture<'_, Result<AgentProfile, AgentFailure>> {
        let late = async {
            self.world.sleep_until(self.world.now().plus(PROBE_MAX)).await;
            let detail = format!("no session within {} s", PROBE_MAX.as_millis() / 1_000);
            Err(AgentFailure { kind: FailureKind::Unreachable, detail })
        };
        Box::pin(self.try_out().or(late))
    }
}

impl<W: World> Agent for AcpAgent<W> {
    fn invoke(
        self: Arc<Self>,
        invocation: Invocation,
        sink: EventSink,
    ) -> BoxFuture<'static, Returned> {
        let interrupt = self.interrupts.begin();
        Box::pin(async move {
            let mut slot = self.link.lock().await;
            let _running = Running(&self.running);
            // Taken out: if this invocation is dropped, its process goes with it.
            let known = match slot.take() {
                Some(link) => self.ready(link).await,
                None => None,
            };
            let (returned, link) = self.serve(known, &invocation.context, &sink, &interrupt).await;
            *slot = link;
            returned
        })
    }

    fn signal(&self, signal: Signal) {
        self.interrupts.raise(signal);
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(group) = running.as_ref() else { return };
        match signal {
            Signal::Interrupt => {}
            Signal::Terminate => group.terminate(),
            Signal::Kill => group.kill(),
        }
    }

    fn close(&self) {
        if let Some(mut link) = self.link.try_lock() {
            *link = None;
        }
        if let Some(group) = self.running.lock().unwrap_or_else(PoisonError::into_inner).as_ref() {
            group.kill();
        }
    }
}

impl<W: World> AcpAgent<W> {
    /// Serves one invocation; gives back the process if the next one may use it.
    async fn serve(
        &self,
        known: Option<Link>,
        context: &[ContextMessage],
        sink: &EventSink,
        interrupt: &Interrupt,
    ) -> (Returned, Option<Link>) {
        let (connection, session_id, has_fence) = match known {
            Some(Link { connection, session_id, has_fence }) => {
                (connection, Some(session_id), has_fence)
            }
            None => {
                let opened =
                    Connection::open(&self.world, &self.processes, &self.name, &self.command);
                match opened {
                    Ok(connection) => (connection, None, true),
                    Err(error) => {
                        return (Returned::Failed(not_started(&self.command, &error)), None);
                    }
                }
            }
        };
        self.runs(connection.group());
        let inbox = connection.begin();
        let prompt = prompt(context, session_id.is_none());
        let opened = interrupted(interrupt).or(self.opened(&connection, &inbox, session_id));
        let session_id = match opened.await {
            Ok(session_id) => session_id,
            Err(returned) => return (returned, None),
        };
        let turn = Turn {
            world: &self.world,
            connection: &connection,
            inbox: &inbox,
            session_id: &session_id,
            sink,
        };
        let returned = turn.run(&prompt, interrupt).await;
        drop(inbox);
        let may_stay = match returned {
            Returned::Completed | Returned::Interrupted => true,
            Returned::Failed(_) => false,
        };
        (returned, may_stay.then_some(Link { connection, session_id, has_fence }))
    }

    /// A process that served before, if it can serve again.
    async fn ready(&self, mut link: Link) -> Option<Link> {
        self.runs(link.connection.group());
        if link.has_fence {
            link.has_fence = turn::pass_fence(&self.world, &link.connection).await;
        }
        (!link.connection.is_over()).then_some(link)
    }

    async fn opened(
        &self,
        connection: &Connection,
        inbox: &Inbox<'_>,
        session_id: Option<String>,
    ) -> Result<String, Returned> {
        match session_id {
            Some(session_id) => Ok(session_id),
            None => {
                turn::open_session(connection, inbox, &self.command).await.map_err(Returned::Failed)
            }
        }
    }

    fn runs(&self, group: &Arc<Group>) {
        let group = Some(Arc::clone(group));
        *self.running.lock().unwrap_or_else(PoisonError::into_inner) = group;
    }
}

/// Clears the place of the running invocation at its end.
struct Running<'a>(&'a Mutex<Option<Arc<Group>>>);

impl Drop for Running<'_> {
    fn drop(&mut self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

/// Before there is a prompt to cancel, an interrupt ends the process.
async fn interrupted(interrupt: &Interrupt) -> Result<String, Returned> {
    interrupt.asked().await;
    Err(Returned::Interrupted)
}

fn not_started(command: &AcpCommand, error: &std::io::Error) -> AgentFailure {
    let program = command.program.display();
    let detail = format!("{program} cannot be started: {error}");
    AgentFailure { kind: FailureKind::Internal, detail }
}

fn prompt(context: &[ContextMessage], is_fresh: bool) -> Vec<Value> {
    let Some((last, earlier)) = context.split_last() else { return Vec::new() };
    let preamble = if is_fresh { preamble(earlier) } else { None };
    let texts = preamble.into_iter().chain([last.text.clone()]);
    texts.map(|text| json!({"type": "text", "text": text})).collect()
}
