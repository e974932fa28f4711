//! The built-in agent: deterministic, needs no account, and can misbehave on request.

mod perform;
mod script;
mod show;
mod talk;
mod text;

use std::sync::Arc;

use futures_lite::FutureExt;
use runwarden_protocol::instant::Duration;
use runwarden_runtime::ports::agent::BoxFuture;
use runwarden_runtime::ports::{
    Agent, AgentCapabilities, AgentContext, AgentFactory, AgentFailure, AgentProfile, Construction,
    EventSink, Invocation, Returned, Signal, World,
};

use super::interrupt::{Interrupt, Interrupts};
use perform::Performer;
use script::Script;

/// Time per word of a streamed answer, as an operator sees it.
pub const PACE: Duration = Duration::from_millis(30);

/// Makes demo agents. Offers no models.
#[derive(Clone, Debug)]
pub struct DemoFactory<W> {
    profile: AgentProfile,
    world: W,
    pace: Duration,
}

struct DemoAgent<W> {
    world: W,
    pace: Duration,
    interrupts: Interrupts,
}

impl<W: World> DemoFactory<W> {
    /// A factory whose agents take `pace` per word; [`Duration::ZERO`] never touches the timer.
    pub fn new(name: String, label: String, world: W, pace: Duration) -> Self {
        let capabilities = AgentCapabilities { steer: true, ..AgentCapabilities::default() };
        let profile = AgentProfile::new(name, label)
            .declare(AgentContext::Transcript, capabilities)
            .expect("context `transcript` asks for nothing");
        Self { profile, world, pace }
    }
}

impl<W: World> AgentFactory for DemoFactory<W> {
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
        let agent: Arc<dyn Agent> = Arc::new(DemoAgent {
            world: self.world.clone(),
            pace: self.pace,
            interrupts: Interrupts::default(),
        });
        Box::pin(std::future::ready(Ok(agent)))
    }

    fn probe(&self) -> BoxFuture<'_, Result<AgentProfile, AgentFailure>> {
        Box::pin(std::future::ready(Ok(self.profile())))
    }
}

impl<W: World> Agent for DemoAgent<W> {
    fn invoke(
        self: Arc<Self>,
        invocation: Invocation,
        sink: EventSink,
    ) -> BoxFuture<'static, Returned> {
        let interrupt = self.interrupts.begin();
        let script = Script::for_context(&invocation.context);
        let obeys = script.obeys;
        let performer = Performer::new(self.world.clone(), self.pace, sink);
        Box::pin(async move { ended(&interrupt, obeys).or(performer.perform(script)).await })
    }

    fn signal(&self, signal: Signal) {
        self.interrupts.raise(signal);
    }

    fn close(&self) {}
}

async fn ended(interrupt: &Interrupt, obeys: bool) -> Returned {
    if obeys {
        interrupt.asked().await;
    } else {
        interrupt.killed().await;
    }
    Returned::Interrupted
}
