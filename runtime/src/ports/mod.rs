//! What the drivers need from the world. The server, the simulation and tests each bring their own.

pub mod agent;
pub mod change;
pub mod deletion;
pub mod errors;
pub mod profile;
pub mod queue;
pub mod reads;
pub mod steer;
pub mod store;
pub mod world;

pub use agent::{
    Agent, AgentEvent, AgentFactory, AgentFailure, Construction, EventSink, Invocation, Returned,
    Signal,
};
pub use profile::{AgentCapabilities, AgentContext, AgentProfile};
pub use store::{Store, StoreFailure};
pub use world::{LaunchRefused, World};
