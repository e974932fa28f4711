//! What the drivers need from the world. The server, the simulation and tests each bring their own.

pub mod agent;
pub mod store;
pub mod world;

pub use agent::{
    Agent, AgentEvent, AgentFactory, AgentFailure, EventSink, Invocation, Returned, Signal,
};
pub use store::{Store, StoreFailure};
pub use world::World;
