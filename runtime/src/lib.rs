//! Async drivers of Runwarden: they feed the machines of `runwarden-protocol` and carry out their
//! effects, generic over the ports in [`ports`]. Nothing is decided here.
//!
//! - [`dispatch`]: effects become calls of ports, answers become facts.
//! - [`hub`]: the server's core; [`session`]: the driver of one session; [`worker`]: one invocation of
//!   an agent; [`connection`]: the driver of one connection; [`outbound`] and [`frames`]: what it sends.

pub mod connection;
pub mod dispatch;
mod draining;
mod flights;
pub mod frames;
pub mod hub;
pub mod outbound;
pub mod ports;
pub mod records;
pub mod session;
pub mod status;
mod storage;
pub mod worker;

pub use draining::DrainTimes;
