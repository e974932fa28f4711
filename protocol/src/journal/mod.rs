//! Journals: the append-only rows of a run, and the turns a session accepted.

pub mod json_lines;
pub mod row;
pub mod run_journal;
pub mod text_merge;
pub mod turn_journal;
