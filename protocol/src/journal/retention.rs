//! When the journal of a settled run may go (JRN-18, KEEP-5).

use crate::instant::{Duration, Instant};
use crate::session::record::StoredRow;
use crate::session::settle::Answer;

/// How long a journal is kept after its settlement (JOURNAL_RETENTION), 30 days.
pub const JOURNAL_RETENTION: Duration = Duration::from_secs(30 * 24 * 3_600);

/// Whether a journal is old enough to go.
pub fn is_due(settled_at: Instant, now: Instant, retention: Duration) -> bool {
    now.age_of(settled_at) >= retention
}

/// Whether the answer in the transcript holds the content of all rows of the journal.
pub fn holds(answer: Option<&StoredRow>, content: Option<&Answer>) -> bool {
    match (answer, content) {
        (_, None) => true,
        (None, Some(_)) => false,
        (Some(row), Some(content)) => {
            row.body.as_deref() == Some(content.body.as_str()) && row.items == content.items
        }
    }
}
