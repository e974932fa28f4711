//! Sessions as documents: what is stored, and what is computed from it for clients and agents.

pub mod context;
pub mod list;
pub mod record;
pub mod scene;
pub mod settle;
