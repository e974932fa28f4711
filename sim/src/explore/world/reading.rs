//! A reader of the journal of run 1, page by page, beside whoever writes it (JRN-15).

use runwarden_protocol::run::guards::Guards;

use super::check::ensure;
use super::choices::Choice;
use super::conditions::Fault;
use super::{Broken, World};

/// The run whose journal is read.
const READ: u8 = 1;

/// Most rows of a page.
const PAGE_ROWS: u8 = 1;

/// How far the reader is, and what the last page said.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Reader {
    /// The cursor that came with the last page.
    cursor: u8,
    /// The last row that was read.
    read: u8,
    /// Whether the last page said that there is nothing behind it, and the run had ended.
    is_done: bool,
}

impl<G: Guards> World<G> {
    pub(super) fn reading_choices(&self, choices: &mut Vec<Choice>) {
        let is_written = self.last_run() >= READ && self.store.run(READ).is_admitted;
        if self.conditions.reads && is_written && !self.reader.is_done {
            let rows = self.store.run(READ).rows;
            // A page without rows before the end changes nothing.
            if rows > self.reader.cursor || self.store.run(READ).terminal.is_some() {
                choices.push(Choice::ReadPage);
            }
        }
    }

    /// A page begins behind the cursor, and its cursor is its last row.
    pub(super) fn read_page(&mut self) -> Result<(), Broken> {
        let stored = self.store.run(READ);
        let from = self.reader.cursor;
        let returned = stored.rows.saturating_sub(from).min(PAGE_ROWS);
        let last = from + returned;
        let is_at_end = self.conditions.fault == Some(Fault::CursorAtEnd);
        let says_done = self.conditions.fault == Some(Fault::MoreUnsaid);
        let has_more = last < stored.rows && !says_done;
        let reader = &mut self.reader;
        let next = reader.read + 1;
        reader.cursor = if is_at_end { stored.rows } else { last };
        reader.read += returned;
        reader.is_done = !has_more && stored.terminal.is_some();
        let reader = *reader;
        ensure(returned == 0 || from + 1 == next, "JRN-15", || {
            format!("a reader that has rows up to {} is given row {}", next - 1, from + 1)
        })?;
        ensure(!reader.is_done || reader.read == stored.rows, "JRN-15", || {
            format!("a reader is told that it has all, {} of {} rows", reader.read, stored.rows)
        })
    }
}
