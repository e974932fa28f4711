//! The journal of one run as its writer sees it (table 5.5).
//!
//! Rows are handed over without numbers. At most one batch waits for the store; its answer fixes the
//! numbers, and only then are the rows published (JRN-01, JRN-07). A failed batch leaves no row and
//! gives its numbers to the next one (JRN-05). The semantic terminal is not handed over: it commits
//! with the settlement and arrives here as [`Input::Ended`].
//!
//! | State | Meaning |
//! |---|---|
//! | open | takes rows |
//! | sealed | takes no row; the batch in flight, if any, is still answered (STOP-22) |
//! | ended | the semantic terminal stands (JRN-08) |
//! | deleted | every row is refused (JRN-12) |

mod state;
mod transitions;

pub use state::{
    APPEND_OUTAGE, BATCH_ROWS_MAX, Input, JOURNAL_BYTES_MAX, NOTE_ROWS_RESERVED, Output,
    ROW_BYTES_MAX, RowRef, RunJournal, WAITING_BYTES_MAX, WAITING_ROWS_MAX,
};

#[cfg(test)]
mod tests;
