//! Runs: who may start, attach and stop, and what a run holds while it is alive.
//!
//! [`lineage`] is the machine of a session; it routes to one sub-machine per state table: [`row`]
//! (5.1), [`worker`] (5.2), [`stop`] (5.3), [`reclaim`] (5.4), [`settlement`], [`ownership`],
//! [`pending`] (5.7), [`steer`] (5.8), [`queue`] (5.10), [`record`], [`questions`], [`wakeups`], [`remote`]
//! and [`deletion`]. The run journal is in
//! [`crate::journal`]. Of the whole process, [`slots`] counts the runs and [`cache`] orders the agents that
//! sessions keep; [`storage`] says whether the store has room for more.
//! [`predicates`] holds the three named predicates, [`admission`] table A, [`recovery`] what becomes of a run
//! that is found dead, [`guards`] every decision a
//! faulty variant may override.

pub mod admission;
pub mod cache;
pub mod changes;
pub mod deletion;
pub mod guards;
pub mod layer;
pub mod limits;
pub mod lineage;
pub mod ownership;
pub mod pending;
pub mod predicates;
pub mod questions;
pub mod queue;
pub mod reclaim;
pub mod record;
pub mod recovery;
pub mod remote;
pub mod rotation;
pub mod row;
pub mod settlement;
pub mod slots;
pub mod steer;
pub mod stop;
pub mod storage;
pub mod store_kind;
pub mod wakeups;
pub mod worker;

pub use crate::wire::structures::RunPhase as Phase;
