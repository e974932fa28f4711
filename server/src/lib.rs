//! The Runwarden server.

pub mod agents;
