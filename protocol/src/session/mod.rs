//! Sessions as documents: what is stored, and what is computed from it for clients and agents.

pub mod answer;
pub mod context;
pub mod cursor;
pub mod history;
pub mod late;
pub mod list;
pub mod project;
pub mod record;
pub mod rewrite;
pub mod scene;
pub mod settle;
pub mod usage;
