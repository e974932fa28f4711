//! One process of an agent and the invocations it serves.

use std::sync::{Arc, Mutex, PoisonError};

use agent_client_protocol_schema::v1::ContentBlock;
use futures_lite::FutureExt;
use runwarden_runtime::ports::agent::{BoxFuture, ContextMessage, FailureKind};
use runwarden_runtime::ports::{
    Agent, AgentFailure, Construction, EventSink, Invocation, Returned, Signal, World,
};

use super::super::interrupt::{Interrupt, Interrupts};
use super::Shared;
use super::command::AcpCommand;
use super::connection::{Connection, lost};
use super::offer::{self, Offer};
use super::opening::{self, NotOpened, Opened};
use super::preamble::preamble;
use super::process::Group;
use super::turn::{self, Turn};
use super::updates::Updates;

/// An agent object. Its process is started by the first invocation.
pub(super) struct AcpAgent<W> {
    shared: Arc<Shared<W>>,
    construction: Construction,
    interrupts: Interrupts,
    /// The process between invocations; an invocation takes it out and puts it back if it may stay.
    slot: smol::lock::Mutex<Slot>,
    /// The processes of the running invocation.
    running: Mutex<Option<Arc<Group>>>,
    /// The session as it is after the last invocation that came to its end.
    conversation: Mutex<Option<String>>,
}

enum Slot {
    /// No process was started yet.
    Fresh,
    /// A process waits for the next invocation.
    Idle(Box<Link>),
    /// The process is gone, and with it the agent.
    Gone,
}

/// A process that has opened a session.
struct Link {
    connection: Connection,
    session_id: String,
    offer: Offer,
    /// The model the session began with.
    first_model: Option<String>,
    /// Whether the mode of the configuration was chosen.
    is_set_up: bool,
    /// Whether the agent knows the conversation so far.
    is_told: bool,
    /// Whether another process can take up the session.
    can_resume: bool,
    /// Whether it answers requests that it does not know.
    has_fence: bool,
}

impl<W: World> AcpAgent<W> {
    pub(super) fn new(shared: &Arc<Shared<W>>, construction: Construction) -> Self {
        Self {
            shared: Arc::clone(shared),
            construction,
            interrupts: Interrupts::default(),
            slot: smol::lock::Mutex::new(Slot::Fresh),
            running: Mutex::new(None),
            conversation: Mutex::new(None),
        }
    }

    /// Opens a session, chooses what is configured, and ends the process.
    ///
    /// # Errors
    /// Why the agent cannot be used.
    pub(super) async fn try_out(&self) -> Result<(), AgentFailure> {
        let mut link = self.open().await?;
        let Link { connection, session_id, offer, .. } = &mut link;
        let inbox = connection.begin();
        let defaults = &self.shared.defaults;
        for (what, wanted, choice) in [
            ("model", &defaults.model, &mut offer.models),
            ("mode", &defaults.mode, &mut offer.modes),
        ] {
            let Some(wanted) = wanted else { continue };
            let choice = choice.as_mut().ok_or_else(|| offer::no_choice(what, wanted))?;
            choice.choose((connection, &inbox), session_id, (what, wanted)).await?;
        }
        Ok(())
    }

    /// Serves one invocation; gives back the process if the next one may use it.
    async fn serve(
        &self,
        link: Link,
        invocation: &Invocation,
        sink: &EventSink,
        interrupt: &Interrupt,
    ) -> (Returned, Slot) {
        let Link { connection, session_id, offer, is_told, .. } = link;
        let inbox = connection.begin();
        let turn = Turn {
            world: &self.shared.world,
            connection: &connection,
            inbox: &inbox,
            session_id: &session_id,
            sink,
        };
        let mut updates = Updates::new(offer);
        let prompt = prompt(&invocation.context, is_told);
        let returned = turn.run(prompt, &mut updates, interrupt).await;
        drop(inbox);
        match returned {
            Returned::Completed | Returned::Interrupted if !connection.is_over() => {}
            Returned::Completed | Returned::Interrupted | Returned::Failed(_) => {
                return (returned, Slot::Gone);
            }
        }
        if link.can_resume {
            self.note_conversation(&session_id);
        }
        let offer = updates.offer;
        let link = Link { connection, session_id, offer, is_told: true, ..link };
        (returned, Slot::Idle(Box::new(link)))
    }

    /// Starts the process and opens a session in it. Where it breaks over the session it is to take up,
    /// one more process opens a new one: a session that cannot be loaded must not be lost for ever.
    async fn open(&self) -> Result<Link, AgentFailure> {
        let Shared { world, processes, name, command, .. } = &*self.shared;
        let mut resume = self.construction.resume.as_deref();
        loop {
            let connection = Connection::open(world, processes, name, command)
                .map_err(|error| not_started(command, &error))?;
            self.runs(connection.group());
            let inbox = connection.begin();
            let opened = opening::open(world, (&connection, &inbox), command, resume).await;
            drop(inbox);
            match opened {
                Ok(opened) => {
                    self.shared.met(&opened);
                    return Ok(Link::new(connection, opened));
                }
                Err(NotOpened::LostInLoad(failure)) => {
                    tracing::warn!(agent = name, %failure, "an agent cannot load its session");
                    resume = None;
                }
                Err(NotOpened::Failed(failure)) => return Err(of_start(failure)),
            }
        }
    }

    /// A process that served before, if it can serve again.
    async fn ready(&self, mut link: Link) -> Result<Link, AgentFailure> {
        self.runs(link.connection.group());
        if link.has_fence {
            let inbox = link.connection.begin();
            link.has_fence = turn::pass_fence(&self.shared.world, &link.connection, &inbox).await;
        }
        if link.connection.is_over() { Err(link.connection.failure()) } else { Ok(link) }
    }

    /// Chooses the model of the run and, once, the mode of the configuration.
    async fn choose(&self, link: &mut Link, run_model: Option<&str>) -> Result<(), AgentFailure> {
        let Link { connection, session_id, offer, .. } = link;
        let inbox = connection.begin();
        let defaults = &self.shared.defaults;
        let named = run_model.or(self.construction.model.as_deref()).or(defaults.model.as_deref());
        if let Some(model) = named.or(link.first_model.as_deref()) {
            let models = offer.models.as_mut().ok_or_else(|| offer::no_choice("model", model))?;
            models.choose((connection, &inbox), session_id, ("model", model)).await?;
        }
        if let (Some(mode), false) = (&defaults.mode, link.is_set_up) {
            let modes = offer.modes.as_mut().ok_or_else(|| offer::no_choice("mode", mode))?;
            modes.choose((connection, &inbox), session_id, ("mode", mode)).await?;
        }
        link.is_set_up = true;
        Ok(())
    }

    /// A process with a session in which everything is chosen.
    async fn prepared(&self, slot: Slot, run_model: Option<&str>) -> Result<Link, NotReady> {
        let mut link = match slot {
            Slot::Fresh => self.open().await.map_err(NotReady::gone)?,
            Slot::Idle(link) => self.ready(*link).await.map_err(NotReady::gone)?,
            Slot::Gone => return Err(NotReady::gone(lost("the agent's process has ended"))),
        };
        match self.choose(&mut link, run_model).await {
            Ok(()) => Ok(link),
            Err(failure) if failure.kind == FailureKind::Refused => Err(NotReady {
                returned: Returned::Failed(failure),
                slot: Slot::Idle(Box::new(link)),
            }),
            Err(failure) => Err(NotReady::gone(failure)),
        }
    }

    fn runs(&self, group: &Arc<Group>) {
        let group = Some(Arc::clone(group));
        *self.running.lock().unwrap_or_else(PoisonError::into_inner) = group;
    }

    fn note_conversation(&self, session_id: &str) {
        let session_id = Some(session_id.to_owned());
        *self.conversation.lock().unwrap_or_else(PoisonError::into_inner) = session_id;
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
            let mut slot = self.slot.lock().await;
            let _running = Running(&self.running);
            // Taken out: if this invocation is dropped, its process goes with it.
            let taken = std::mem::replace(&mut *slot, Slot::Gone);
            // Before there is a prompt to cancel, an interrupt ends the process.
            let stopped = async {
                interrupt.asked().await;
                Err(NotReady { returned: Returned::Interrupted, slot: Slot::Gone })
            };
            let prepared = stopped.or(self.prepared(taken, invocation.model.as_deref())).await;
            let (returned, left) = match prepared {
                Ok(link) => self.serve(link, &invocation, &sink, &interrupt).await,
                Err(NotReady { returned, slot }) => (returned, slot),
            };
            *slot = left;
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

    fn conversation(&self) -> Option<String> {
        self.conversation.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn close(&self) {
        if let Some(mut slot) = self.slot.try_lock()
            && let Slot::Idle(link) = std::mem::replace(&mut *slot, Slot::Gone)
        {
            link.connection.end(&self.shared.world);
        }
        if let Some(group) = self.running.lock().unwrap_or_else(PoisonError::into_inner).as_ref() {
            group.kill();
        }
    }
}

impl Link {
    fn new(connection: Connection, opened: Opened) -> Self {
        Self {
            connection,
            session_id: opened.session_id,
            first_model: opened.offer.models.as_ref().map(|models| models.current.clone()),
            offer: opened.offer,
            is_set_up: false,
            is_told: opened.is_resumed,
            can_resume: opened.can_resume,
            has_fence: true,
        }
    }
}

/// There is no prompt: how the invocation returns, and what is left.
struct NotReady {
    returned: Returned,
    slot: Slot,
}

impl NotReady {
    fn gone(failure: AgentFailure) -> Self {
        Self { returned: Returned::Failed(failure), slot: Slot::Gone }
    }
}

/// Clears the place of the running invocation at its end.
struct Running<'a>(&'a Mutex<Option<Arc<Group>>>);

impl Drop for Running<'_> {
    fn drop(&mut self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

fn not_started(command: &AcpCommand, error: &std::io::Error) -> AgentFailure {
    let program = command.program.display();
    let detail = format!("{program} cannot be started: {error}");
    AgentFailure { kind: FailureKind::Internal, detail }
}

/// A process that ends before it served will do so again: no other agent cures that.
fn of_start(failure: AgentFailure) -> AgentFailure {
    match failure.kind {
        FailureKind::Lost => AgentFailure { kind: FailureKind::Provider, ..failure },
        FailureKind::Unreachable
        | FailureKind::RateLimited
        | FailureKind::Unauthorized
        | FailureKind::Provider
        | FailureKind::Malformed
        | FailureKind::Refused
        | FailureKind::Internal => failure,
    }
}

fn prompt(context: &[ContextMessage], is_told: bool) -> Vec<ContentBlock> {
    let Some((last, earlier)) = context.split_last() else { return Vec::new() };
    let preamble = if is_told { None } else { preamble(earlier) };
    preamble.into_iter().chain([last.text.clone()]).map(ContentBlock::from).collect()
}
