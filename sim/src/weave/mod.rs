//! Ring weave: the async drivers of [`runwarden_runtime`] on one seeded executor.
//!
//! The hub, its sessions and its connections are those of the server, with real WebSocket framing. What
//! they stand on is simulated: an [`Executor`] that polls runnable tasks in an order drawn from the seed and
//! moves a virtual clock when nothing is runnable, a [`SimWorld`] over it, a [`duplex`] in place of a socket,
//! a [`ModelStore`] that fails, loses power and takes its time, and scripted [`agents`](Agents). A [`Bed`] puts
//! them together. A schedule is a seed: the Records of the session machines are captured, and their
//! digest is the same whenever the seed is.
//!
//! This is the beginning of the ring: the network neither loses nor delays bytes yet, it only cuts them.

mod agents;
mod bed;
mod client;
mod duplex;
mod executor;
mod store;
mod world;

pub use crate::random::Random;
pub use agents::{Act, AgentEvent, Agents, Construct, Manner, Script};
pub use bed::{Bed, OWNER, Went};
pub use client::{Client, Frame};
pub use duplex::{End, duplex};
pub use executor::{Executor, Host, Stuck};
pub use store::{Data, Disk, Faults, ModelStore, StoredRun, StoredSession, TurnStep};
pub use world::{SimWorld, Sleep};
