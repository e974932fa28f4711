//! What the writing thread did, counted.

use std::sync::atomic::{AtomicU64, Ordering};

/// What was committed since the store was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StoreFigures {
    /// Transactions committed.
    pub transactions: u64,
    /// Those of them that were synced before they were answered, for something in them was to be stable.
    pub synced: u64,
    /// Rows of all of them; a change of a session counts as one.
    pub rows: u64,
    /// Rows of the largest.
    pub rows_max: u64,
}

/// The counters behind [`StoreFigures`].
#[derive(Debug, Default)]
pub(super) struct Counters {
    transactions: AtomicU64,
    synced: AtomicU64,
    rows: AtomicU64,
    rows_max: AtomicU64,
}

impl Counters {
    pub(super) fn committed(&self, rows: u64, is_synced: bool) {
        self.transactions.fetch_add(1, Ordering::Relaxed);
        self.synced.fetch_add(u64::from(is_synced), Ordering::Relaxed);
        self.rows.fetch_add(rows, Ordering::Relaxed);
        self.rows_max.fetch_max(rows, Ordering::Relaxed);
    }

    pub(super) fn read(&self) -> StoreFigures {
        StoreFigures {
            transactions: self.transactions.load(Ordering::Relaxed),
            synced: self.synced.load(Ordering::Relaxed),
            rows: self.rows.load(Ordering::Relaxed),
            rows_max: self.rows_max.load(Ordering::Relaxed),
        }
    }
}
