//! Whether the store has room for new runs (LIM-05).
//!
//! One machine for the whole process. It is told how much space is free and says when starts are to be
//! refused. It goes back later than it came, so that starts do not flap around the bound (KEEP-7).

mod state;
#[cfg(test)]
mod tests;
mod transitions;

pub use state::{DISK_LOW_BYTES, Input, Output, STORAGE_RETRY_MS, Storage};
