//! Sessions as documents: what is stored, and what is computed from it for clients and agents.

pub mod answer;
pub mod context;
pub mod cursor;
pub mod history;
pub mod late;
pub mod list;
pub mod ops;
pub mod project;
pub mod record;
pub mod resume;
pub mod rewrite;
pub mod ring_budget;
pub mod rings;
pub mod scene;
pub mod settle;
pub mod usage;
