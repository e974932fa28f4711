//! Ring weave: the async drivers of [`runwarden_runtime`] on one seeded executor.
//!
//! The hub, its sessions and its connections are those of the server, with real WebSocket framing. What
//! they stand on is simulated: an [`Executor`] that polls runnable tasks in an order it is told and moves a
//! virtual clock when nothing is runnable, a [`SimWorld`] over it, a [`duplex`] in place of a socket, a
//! [`ModelStore`] that fails, loses power and takes its time, and scripted [`agents`](Agents). A [`Bed`] puts
//! them together.
//!
//! Whatever could go one way or another is a decision of [`Choices`]: by a seed, or by the departures of a race
//! file. The Records of the session machines are captured, and their digest is the same whenever the decisions
//! are. A [`Story`] plays a scenario on a bed and says what did not hold; [`Schedule`] runs one.

mod agents;
mod bed;
mod choices;
mod client;
mod duplex;
mod executor;
mod lines;
mod schedule;
mod store;
mod truth;
mod world;
mod wrong;

pub use crate::random::Random;
pub use agents::{Act, AgentEvent, Agents, Construct, Manner, Script};
pub use bed::{Bed, OWNER, Went};
pub use choices::{Actor, Choices, DEPARTURES_MAX, Departure, DepartureError, FAULT, Way};
pub use client::{Client, Frame};
pub use duplex::{End, duplex};
pub use executor::{Executor, Host, Stuck};
pub use lines::LinesFile;
pub use schedule::{Plan, Play, Schedule, Story, Verdict, ensure, schedule};
pub use store::{
    APPEND_FAILED, COMMIT_FAILED, Data, Disk, Faults, ModelStore, StoredMessage, StoredRun,
    StoredSession, TurnStep,
};
pub use truth::check_data;
pub use world::{SimWorld, Sleep};
pub use wrong::Wrong;

/// Every kind of fault, in alphabetical order.
pub const FAULTS: &[&str] = &[APPEND_FAILED, COMMIT_FAILED];
