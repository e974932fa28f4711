//! The race file: one schedule as text (docs/spec/race.md).

mod error;
mod file;
mod lines;
mod names;
mod parse;
mod scope;
#[cfg(test)]
mod tests;
mod write;

pub use error::{Problem, RaceError};
pub use file::{Choice, Expectation, Label, Race, Ring};
pub use names::{Argument, InvariantId, NameError, Slug, Word};
pub use scope::{Scope, ScopeKey};

/// Most bytes of a race file.
pub const FILE_BYTES_MAX: usize = 4 << 20;

/// Most bytes of one line without its LF.
pub const LINE_BYTES_MAX: usize = 1 << 20;

/// Most lines of a race file.
pub const LINES_MAX: usize = 100_000;
