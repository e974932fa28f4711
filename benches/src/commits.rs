//! What bounds a durable server: one commit after another in a file of its own, each synced.

use std::path::Path;
use std::time::{Duration, Instant};

use rusqlite::Connection;

use crate::Problem;

/// Commits a second of one small row each, as the server's store is configured (WAL, synchronous FULL).
///
/// # Errors
/// When the file cannot be written.
pub(crate) fn rate(folder: &Path, duration: Duration) -> Result<f64, Problem> {
    let store = Connection::open(folder.join("commits.db"))?;
    store.pragma_update(None, "journal_mode", "WAL")?;
    store.pragma_update(None, "synchronous", "FULL")?;
    store.execute("CREATE TABLE rows (id INTEGER PRIMARY KEY, text TEXT NOT NULL)", [])?;
    let mut insert = store.prepare("INSERT INTO rows (text) VALUES (?1)")?;
    let text = "x".repeat(100);
    let begin = Instant::now();
    let mut commits = 0_u32;
    while begin.elapsed() < duration {
        insert.execute([&text])?;
        commits += 1;
    }
    Ok(f64::from(commits) / begin.elapsed().as_secs_f64())
}
