//! Reclamation of a stopped row whose worker does not come back (table 5.4).

mod state;
#[cfg(test)]
mod tests;
mod transitions;

pub use state::{Input, Output, Reclaim};
