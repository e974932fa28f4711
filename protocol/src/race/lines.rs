//! The lines of a file, within their bounds.

use super::error::{Problem, RaceError};
use super::{FILE_BYTES_MAX, LINE_BYTES_MAX, LINES_MAX};

/// Lines of a file in order, with their numbers.
pub(super) struct Lines<'a> {
    rest: &'a [u8],
    number: usize,
    bytes_read: usize,
}

impl<'a> Lines<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes, number: 0, bytes_read: 0 }
    }

    /// The next line without its LF; an error when there is none, since `due` is.
    pub(super) fn next(&mut self, due: &'static str) -> Result<&'a str, RaceError> {
        self.number += 1;
        if self.rest.is_empty() {
            return Err(self.error(Problem::Ends(due)));
        }
        if self.number > LINES_MAX {
            return Err(self.error(Problem::TooManyLines));
        }
        let end = self.rest.iter().position(|byte| *byte == b'\n');
        let line = &self.rest[..end.unwrap_or(self.rest.len())];
        let taken = line.len() + usize::from(end.is_some());
        self.bytes_read += taken;
        self.rest = &self.rest[taken..];
        if line.len() > LINE_BYTES_MAX {
            return Err(self.error(Problem::LineTooLong));
        }
        if self.bytes_read > FILE_BYTES_MAX {
            return Err(self.error(Problem::FileTooLarge));
        }
        if end.is_none() {
            return Err(self.error(Problem::NoLineFeed));
        }
        if line.ends_with(b"\r") {
            return Err(self.error(Problem::CarriageReturn));
        }
        std::str::from_utf8(line).map_err(|_| self.error(Problem::NotUtf8))
    }

    /// An error when a line follows.
    pub(super) fn end(&mut self) -> Result<(), RaceError> {
        if self.rest.is_empty() {
            return Ok(());
        }
        self.number += 1;
        Err(self.error(Problem::AfterDigest))
    }

    /// `problem` at the line that was read last.
    pub(super) fn error(&self, problem: Problem) -> RaceError {
        RaceError { line: self.number, problem }
    }
}
