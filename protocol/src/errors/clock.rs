//! The guarded wall clock: civil time that never steps back (ENV-5, ERR-23).

use serde::{Deserialize, Serialize};

/// Never returns less than the largest value it returned before or found in the store at opening.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct GuardedClock {
    largest_ms: i64,
}

impl GuardedClock {
    /// A clock that begins at the largest time found in the store, in Unix milliseconds.
    pub const fn opened_at(stored_largest_ms: i64) -> Self {
        Self { largest_ms: stored_largest_ms }
    }

    /// The guarded time, given what the wall clock says, in Unix milliseconds.
    pub fn read(&mut self, wall_ms: i64) -> i64 {
        self.largest_ms = self.largest_ms.max(wall_ms);
        self.largest_ms
    }
}
