//! Pure state machines and wire types of Runwarden: the only place where decisions are made.
//!
//! Nothing here reads a clock, draws a random number, performs I/O, waits or runs threads: time and
//! chance arrive as inputs, and everything to be done leaves as an output ([`machine::Machine`]).
#![deny(clippy::float_arithmetic, clippy::disallowed_types, clippy::disallowed_methods)]

pub mod client;
pub mod delivery;
pub mod errors;
pub mod flight;
pub mod ids;
pub mod instant;
pub mod invariants;
pub mod journal;
pub mod json_bytes;
pub mod laws;
pub mod machine;
pub mod matrix;
pub mod race;
pub mod record;
pub mod run;
pub mod session;
pub mod wire;
