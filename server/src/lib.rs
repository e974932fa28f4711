//! The Runwarden server.

pub mod agents;
pub mod state_dir;
pub mod store;
