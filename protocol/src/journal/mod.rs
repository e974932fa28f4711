//! Journals: the append-only rows of a run, and the turns a session accepted.

pub mod row;
