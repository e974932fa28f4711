//! Any agent that speaks the Agent Client Protocol, version 1, as a child process over stdio.
//!
//! An agent object has one process in its life. It starts with the first invocation and serves the later
//! ones in one session of its own; once it is gone, the object is lost and another one takes its place
//! (REG-14). A new process takes up the session of the one before by its id where the agent can do that;
//! otherwise it is told the conversation so far in front of the prompt (AGT-03). Whatever the agent does,
//! it is ended with everything it started: by SIGTERM and SIGKILL to its process group (REG-15), when an
//! invocation is dropped or fails, and at [`Agent::close`].

mod agent;
mod command;
mod connection;
mod lines;
mod message;
mod offer;
mod opening;
mod permission;
mod preamble;
mod process;
mod turn;
mod updates;

use std::sync::{Arc, Mutex, PoisonError};

use futures_lite::FutureExt;
use runwarden_protocol::instant::Duration;
use runwarden_runtime::ports::agent::{BoxFuture, FailureKind};
use runwarden_runtime::ports::{
    Agent, AgentCapabilities, AgentContext, AgentFactory, AgentFailure, AgentProfile, Construction,
    World,
};

use agent::AcpAgent;
pub use command::{ARGS_MAX, AcpCommand, CommandError, ENV_MAX};
pub use connection::{END_GRACE, GARBAGE_LINES_MAX, MESSAGE_BYTES_MAX};
pub use opening::{LOAD_MAX, LOAD_SILENCE_MAX, SESSION_ID_BYTES_MAX};
pub use permission::{OPTION_CHARS_MAX, OPTIONS_MAX};
pub use preamble::PREAMBLE_BYTES_MAX;
pub use process::{Processes, SHUTDOWN_GRACE, STDERR_LINE_BYTES_MAX, STDERR_LINES_MAX};
pub use turn::{FENCE_MAX, PERMISSIONS_OPEN_MAX};
pub use updates::{PLAN_ENTRIES_MAX, TOOL_CALLS_MAX, TOOL_VALUE_BYTES_MAX};

/// Longest time that trying an agent may take.
pub const PROBE_MAX: Duration = Duration::from_secs(30);

/// What an operator chose for the sessions of an agent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AcpDefaults {
    /// The model of sessions that name none; `None` leaves it to the agent.
    pub model: Option<String>,
    /// The mode a session begins in; `None` leaves it to the agent.
    pub mode: Option<String>,
}

/// Makes agents that start one command.
#[derive(Clone, Debug)]
pub struct AcpFactory<W> {
    shared: Arc<Shared<W>>,
}

/// What the agents of a factory share.
#[derive(Debug)]
struct Shared<W> {
    name: String,
    command: AcpCommand,
    defaults: AcpDefaults,
    world: W,
    processes: Processes,
    /// What is known of the agent; its processes tell more.
    profile: Mutex<AgentProfile>,
}

impl<W: World> AcpFactory<W> {
    /// A factory whose agents start `command`. The world runs the tasks that read and write, and
    /// `processes` ends with the server what is left.
    pub fn new(
        name: String,
        label: String,
        command: AcpCommand,
        defaults: AcpDefaults,
        world: W,
        processes: Processes,
    ) -> Self {
        let mut profile = AgentProfile::new(name.clone(), label);
        profile.default_model.clone_from(&defaults.model);
        let profile = Mutex::new(profile);
        let shared = Shared { name, command, defaults, world, processes, profile };
        Self { shared: Arc::new(shared) }
    }
}

impl<W: World> AgentFactory for AcpFactory<W> {
    fn name(&self) -> &str {
        &self.shared.name
    }

    fn profile(&self) -> AgentProfile {
        self.shared.profile()
    }

    fn construct(
        &self,
        construction: Construction,
    ) -> BoxFuture<'_, Result<Arc<dyn Agent>, AgentFailure>> {
        let agent: Arc<dyn Agent> = Arc::new(AcpAgent::new(&self.shared, construction));
        Box::pin(std::future::ready(Ok(agent)))
    }

    /// Starts the process, opens a session in it, chooses what is configured, and ends it.
    fn probe(&self) -> BoxFuture<'_, Result<AgentProfile, AgentFailure>> {
        let world = &self.shared.world;
        let late = async {
            world.sleep_until(world.now().plus(PROBE_MAX)).await;
            let detail = format!("no session within {} s", PROBE_MAX.as_millis() / 1_000);
            Err(AgentFailure { kind: FailureKind::Unreachable, detail })
        };
        let tried = async { AcpAgent::new(&self.shared, Construction::default()).try_out().await };
        Box::pin(async move {
            let tried = tried.or(late).await;
            self.shared.learn(|profile| profile.available = tried.is_ok());
            tried.map(|()| self.profile())
        })
    }
}

impl<W> Shared<W> {
    fn profile(&self) -> AgentProfile {
        self.profile.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn learn(&self, learned: impl FnOnce(&mut AgentProfile)) {
        learned(&mut self.profile.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// Notes what a process told of itself (AGT-01): it keeps the conversation as its own where it can
    /// find it again (AGT-04).
    fn met(&self, opened: &opening::Opened) {
        let context = if opened.can_resume { AgentContext::Own } else { AgentContext::Transcript };
        let capabilities =
            AgentCapabilities { resume: opened.can_resume, ..AgentCapabilities::default() };
        let models = opened.offer.model_ids();
        let choice = opened.offer.models.as_ref();
        let configured = self.defaults.model.as_deref();
        let configured = configured
            .map(|wanted| choice.and_then(|choice| choice.id_of(wanted)).unwrap_or(wanted));
        let default = configured.or(choice.map(|choice| choice.current.as_str()));
        let default = default.map(str::to_owned);
        self.learn(|profile| {
            profile.available = true;
            profile.default_model = default;
            profile.models = models;
            let declared = profile.clone().declare(context, capabilities);
            *profile = declared.expect("context `own` only where a session can be taken up again");
        });
    }
}
