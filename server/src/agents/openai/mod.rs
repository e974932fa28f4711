//! Any endpoint that speaks OpenAI's chat completions with `stream: true`.
//!
//! Each invocation is one request on a connection of its own. It carries the whole conversation
//! (AGT-02); compaction is not there yet. An interrupt, or dropping the invocation, closes the
//! connection at once (REG-15).

mod connect;
mod endpoint;
mod exchange;
pub mod sse;
mod translate;
mod wire;

use std::sync::Arc;

use futures_lite::FutureExt;
use runwarden_runtime::ports::agent::BoxFuture;
use runwarden_runtime::ports::{
    Agent, AgentFactory, AgentFailure, AgentProfile, Construction, EventSink, Invocation, Returned,
    Signal, World,
};

use super::interrupt::{Interrupt, Interrupts};
pub use endpoint::{EXTRA_ROOTS_MAX, Endpoint, EndpointError, TlsRoots, URL_BYTES_MAX};
pub use exchange::{CONNECT_MAX, ERROR_BODY_BYTES_MAX, ERROR_BODY_MAX, FIRST_BYTE_MAX};

/// The models of an endpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Models {
    /// Used when neither session nor invocation names one.
    pub default: String,
    /// Those people may choose from; empty when there is no choice.
    pub offered: Vec<String>,
}

/// Makes agents that ask one endpoint.
#[derive(Clone, Debug)]
pub struct OpenAiFactory<W> {
    profile: AgentProfile,
    default_model: String,
    endpoint: Arc<Endpoint>,
    world: W,
}

struct OpenAiAgent<W> {
    model: String,
    endpoint: Arc<Endpoint>,
    world: W,
    interrupts: Interrupts,
}

impl<W: World> OpenAiFactory<W> {
    /// A factory for `endpoint`. The world gives the timer of the bounds on silence.
    pub fn new(name: String, label: String, models: Models, endpoint: Endpoint, world: W) -> Self {
        let default_model = models.default;
        let mut profile = AgentProfile::new(name, label);
        profile.models = models.offered;
        profile.default_model = Some(default_model.clone());
        Self { profile, default_model, endpoint: Arc::new(endpoint), world }
    }
}

impl<W: World> AgentFactory for OpenAiFactory<W> {
    fn name(&self) -> &str {
        &self.profile.name
    }

    fn profile(&self) -> AgentProfile {
        self.profile.clone()
    }

    fn construct(
        &self,
        construction: Construction,
    ) -> BoxFuture<'_, Result<Arc<dyn Agent>, AgentFailure>> {
        let agent: Arc<dyn Agent> = Arc::new(OpenAiAgent {
            model: construction.model.unwrap_or_else(|| self.default_model.clone()),
            endpoint: Arc::clone(&self.endpoint),
            world: self.world.clone(),
            interrupts: Interrupts::default(),
        });
        Box::pin(std::future::ready(Ok(agent)))
    }

    /// Reaches the endpoint; what it answers to a request without a model call differs too much to
    /// be judged.
    fn probe(&self) -> BoxFuture<'_, Result<AgentProfile, AgentFailure>> {
        Box::pin(async move {
            exchange::reach(&self.endpoint, &self.world).await.map(|_connection| self.profile())
        })
    }
}

impl<W: World> Agent for OpenAiAgent<W> {
    fn invoke(
        self: Arc<Self>,
        invocation: Invocation,
        sink: EventSink,
    ) -> BoxFuture<'static, Returned> {
        let interrupt = self.interrupts.begin();
        Box::pin(async move {
            let model = invocation.model.as_deref().unwrap_or(&self.model);
            let body = wire::request(model, &invocation.context);
            let exchange = exchange::exchange(&self.endpoint, &self.world, &body, &sink);
            interrupted(&interrupt).or(exchange).await
        })
    }

    fn signal(&self, signal: Signal) {
        self.interrupts.raise(signal);
    }

    fn close(&self) {}
}

async fn interrupted(interrupt: &Interrupt) -> Returned {
    interrupt.asked().await;
    Returned::Interrupted
}
