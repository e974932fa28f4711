//! The order in which sessions used the agents they keep, and which of them give theirs up (REG-13).
//!
//! One machine for the whole process. It holds no agent: a session's machine keeps its own entry, tells
//! this one of every change, and is asked to evict when too many sessions keep one. It refuses while it
//! has a row, so that more than the bound may remain; the next session whose row goes is asked instead.

mod state;
#[cfg(test)]
mod tests;
mod transitions;

pub use state::{AGENT_CACHE_CAP, Cache, Input, Notice, Output};
