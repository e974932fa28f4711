//! Journals: the append-only rows of a run, and the turns a session accepted.

pub mod identity;
pub mod json_lines;
pub mod lease;
#[cfg(test)]
mod lines_property;
pub mod numbers;
pub mod retention;
pub mod row;
pub mod run_journal;
pub mod session_read;
pub mod soundness;
pub mod text_merge;
pub mod turn_journal;
