//! The Runwarden server.

pub mod agents;
pub mod app;
mod asking;
pub mod assets;
pub mod auth;
pub mod cli;
pub mod config;
pub mod diagnostics;
pub mod doctor;
pub mod export;
pub mod http;
pub mod pruning;
pub mod recording;
pub mod shutdown;
pub mod startup;
pub mod state_dir;
pub mod store;
pub mod world;
