//! Waiting for what nobody announces: a process that ends, a row that another process writes.

use std::time::{Duration, Instant};

/// Between two questions.
const ASK_AGAIN: Duration = Duration::from_millis(10);

/// Asks until there is an answer.
///
/// # Panics
/// When there is none within `limit`.
#[track_caller]
pub(crate) fn poll<T>(what: &str, limit: Duration, mut ask: impl FnMut() -> Option<T>) -> T {
    let since = Instant::now();
    loop {
        if let Some(answer) = ask() {
            return answer;
        }
        assert!(since.elapsed() < limit, "not within {limit:?}: {what}");
        std::thread::sleep(ASK_AGAIN);
    }
}
