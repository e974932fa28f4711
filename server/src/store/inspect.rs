//! Looking at the database files of a state directory without changing anything in it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use runwarden_protocol::ids::{RunId, Seq, SessionId};
use runwarden_protocol::instant::Instant;
use rusqlite::{Connection, OpenFlags, OptionalExtension};
use serde::Serialize;

use super::column::{Column, read};
use super::open::{self, ERRORS_FILE, FileKind, OpenError, SESSIONS_FILE};
use super::{journal, meta};

/// Most runs that are named; all are counted.
pub const RUNS_NAMED_MAX: usize = 100;

/// Most faults of a file that are named.
const FAULTS_NAMED_MAX: u32 = 20;

/// What `sessions.db` holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SessionsFound {
    /// Version of its tables.
    pub schema_version: i64,
    /// The newest version this program knows; an older file is brought up at the next start.
    pub newest_version: i64,
    /// What is damaged; empty when the file is whole.
    pub faults: Vec<String>,
    /// What its tables hold; none while the file is damaged or has an older version.
    pub content: Option<SessionsContent>,
}

/// What the tables of `sessions.db` hold.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SessionsContent {
    /// Sessions.
    pub sessions: u64,
    /// Settled rows of all transcripts.
    pub rows: u64,
    /// Runs, settled or not.
    pub runs: u64,
    /// Rows of all journals.
    pub journal_rows: u64,
    /// Bytes of their bodies.
    pub journal_bytes: u64,
    /// Runs without settlement.
    pub unsettled_total: u64,
    /// The oldest of them.
    pub unsettled: Vec<LeftRun>,
    /// Runs whose journal cannot be trusted (JRN-11).
    pub quarantined_total: u64,
    /// Some of them.
    pub quarantined: Vec<Quarantined>,
    /// Whether the last server closed the store, or still has it open.
    pub is_closed: bool,
}

/// A run without settlement, with the turn that is pending for it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LeftRun {
    /// Its session.
    pub session_id: String,
    /// The run.
    pub run_id: String,
    /// Unix milliseconds at which its turn was accepted.
    pub started_at: u64,
    /// Number of the last row of its journal.
    pub last_seq: u64,
    /// Unix milliseconds of that row; none while it has none.
    pub last_event_at: Option<u64>,
    /// The outcome its journal already ends with, which the next start only has to settle.
    pub ended_as: Option<&'static str>,
}

/// A run whose journal cannot be trusted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Quarantined {
    /// Its session.
    pub session_id: String,
    /// The run.
    pub run_id: String,
    /// What is wrong with which row.
    pub reason: String,
}

/// What `errors.db` holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ErrorsFound {
    /// Version of its tables.
    pub schema_version: i64,
    /// What is damaged; empty when the file is whole.
    pub faults: Vec<String>,
    /// Error records.
    pub records: u64,
    /// Those nobody has acknowledged.
    pub open: u64,
}

/// Looks at `sessions.db`. `is_served` says whether a server has it open.
///
/// # Errors
/// [`OpenError`] when it cannot be read.
pub fn sessions(path: &Path, is_served: bool) -> Result<SessionsFound, OpenError> {
    let file = Quiet::open(path, is_served)?;
    let failed = |error: rusqlite::Error| OpenError::new(path, &error);
    let version = file.version(path, SESSIONS_FILE)?;
    let faults = faults(&file.connection).map_err(failed)?;
    let newest_version = SESSIONS_FILE.version();
    let is_readable = faults.is_empty() && version == newest_version;
    let content = is_readable.then(|| content(&file.connection)).transpose().map_err(failed)?;
    Ok(SessionsFound { schema_version: version, newest_version, faults, content })
}

/// Looks at `errors.db`. `is_served` says whether a server has it open.
///
/// # Errors
/// [`OpenError`] when it cannot be read.
pub fn errors(path: &Path, is_served: bool) -> Result<ErrorsFound, OpenError> {
    let file = Quiet::open(path, is_served)?;
    let failed = |error: rusqlite::Error| OpenError::new(path, &error);
    let schema_version = file.version(path, ERRORS_FILE)?;
    let faults = faults(&file.connection).map_err(failed)?;
    let count = |sql: &str| -> Result<u64, OpenError> {
        if faults.is_empty() { count(&file.connection, sql).map_err(failed) } else { Ok(0) }
    };
    let records = count("SELECT count(*) FROM errors")?;
    let open = count("SELECT count(*) FROM errors WHERE closed_at IS NULL")?;
    Ok(ErrorsFound { schema_version, faults, records, open })
}

/// A database that is read where it lies, or from a copy where reading it would write.
struct Quiet {
    connection: Connection,
    _copy: Option<Copy>,
}

impl Quiet {
    /// While a server has the file open, its write-ahead log is shared with it. Otherwise the file alone is
    /// all there is after a clean end, and is read as if nothing could change it; with the log that a
    /// killed server left it is read from a copy, since looking into the log where it lies would change it.
    fn open(path: &Path, is_served: bool) -> Result<Self, OpenError> {
        let failed = |error: rusqlite::Error| OpenError::new(path, &error);
        if is_served {
            return Ok(Self { connection: open::open_reader(path)?, _copy: None });
        }
        let log = beside(path, "-wal");
        if fs::metadata(&log).is_ok_and(|log| log.len() > 0) {
            let copy = Copy::of(path, &log).map_err(|error| {
                let detail = format!("it cannot be copied to be looked at: {error}");
                OpenError::Failed { path: path.to_owned(), detail }
            })?;
            let connection = Connection::open(copy.file()).map_err(failed)?;
            return Ok(Self { connection, _copy: Some(copy) });
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
            | OpenFlags::SQLITE_OPEN_URI
            | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let uri = format!("file:{}?immutable=1", encoded(path));
        let connection = Connection::open_with_flags(uri, flags).map_err(failed)?;
        Ok(Self { connection, _copy: None })
    }

    fn version(&self, path: &Path, kind: FileKind) -> Result<i64, OpenError> {
        open::check(&self.connection, path, kind).map(|version| version.unwrap_or(0))
    }
}

/// A private folder with a copy of a database and its log, removed when dropped.
struct Copy {
    folder: PathBuf,
}

impl Copy {
    fn of(path: &Path, log: &Path) -> io::Result<Self> {
        let number = getrandom::u64().map_err(|error| io::Error::other(error.to_string()))?;
        let folder = std::env::temp_dir().join(format!("runwarden-doctor-{number:016x}"));
        let mut builder = fs::DirBuilder::new();
        #[cfg(unix)]
        {
            use std::os::unix::fs::DirBuilderExt;
            builder.mode(0o700);
        }
        builder.create(&folder)?;
        let copy = Self { folder };
        fs::copy(path, copy.file())?;
        fs::copy(log, beside(&copy.file(), "-wal"))?;
        Ok(copy)
    }

    fn file(&self) -> PathBuf {
        self.folder.join("copy.db")
    }
}

impl Drop for Copy {
    fn drop(&mut self) {
        // A temporary folder that stays is the system's to clean up.
        let _ = fs::remove_dir_all(&self.folder);
    }
}

fn content(connection: &Connection) -> rusqlite::Result<SessionsContent> {
    let mut found = SessionsContent {
        sessions: count(connection, "SELECT count(*) FROM sessions")?,
        rows: count(connection, "SELECT count(*) FROM messages")?,
        runs: count(connection, "SELECT count(*) FROM runs")?,
        journal_rows: count(connection, "SELECT count(*) FROM journal")?,
        journal_bytes: count(
            connection,
            "SELECT coalesce(sum(octet_length(body)), 0) FROM journal",
        )?,
        is_closed: meta::is_closed(connection)?,
        ..SessionsContent::default()
    };
    for (run_id, session_id, _, last_seq) in journal::unsettled(connection, None)? {
        found.unsettled_total += 1;
        if found.unsettled.len() < RUNS_NAMED_MAX {
            found.unsettled.push(left(connection, session_id, run_id, last_seq)?);
        }
    }
    find_quarantined(connection, &mut found)?;
    Ok(found)
}

/// Reads every journal as the server reads it.
fn find_quarantined(connection: &Connection, found: &mut SessionsContent) -> rusqlite::Result<()> {
    let mut statement =
        connection.prepare("SELECT run_id FROM runs ORDER BY started_at, run_id")?;
    let runs = statement.query_map([], |row| read::<RunId>(row, "run_id"))?;
    for run_id in runs {
        let run_id = run_id?;
        let Some(run) = journal::facts(connection, run_id)? else { continue };
        let unsound = journal::walk(connection, run_id, &run, Seq::ZERO, |_| Ok(true))?;
        let Some(reason) = unsound else { continue };
        found.quarantined_total += 1;
        if found.quarantined.len() < RUNS_NAMED_MAX {
            let (session_id, run_id) = (run.session_id.to_string(), run_id.to_string());
            found.quarantined.push(Quarantined { session_id, run_id, reason });
        }
    }
    Ok(())
}

fn left(
    connection: &Connection,
    session_id: SessionId,
    run_id: RunId,
    last_seq: Seq,
) -> rusqlite::Result<LeftRun> {
    let millis = |at: Instant| at.as_millis();
    let started_at = connection.query_row(
        "SELECT started_at FROM runs WHERE run_id = ?1",
        [run_id.to_column()],
        |row| read(row, "started_at").map(millis),
    )?;
    let last_event_at = connection
        .query_row(
            "SELECT created_at FROM journal WHERE run_id = ?1 ORDER BY seq DESC LIMIT 1",
            [run_id.to_column()],
            |row| read(row, "created_at").map(millis),
        )
        .optional()?;
    let ended_as = journal::terminal(connection, run_id)?.map(|(_, outcome)| outcome.as_str());
    let (session_id, run_id) = (session_id.to_string(), run_id.to_string());
    Ok(LeftRun {
        session_id,
        run_id,
        started_at,
        last_seq: last_seq.get(),
        last_event_at,
        ended_as,
    })
}

fn faults(connection: &Connection) -> rusqlite::Result<Vec<String>> {
    let sql = format!("PRAGMA quick_check({FAULTS_NAMED_MAX})");
    let mut statement = connection.prepare(&sql)?;
    let lines = statement.query_map([], |row| row.get::<_, String>(0))?;
    let lines = lines.collect::<rusqlite::Result<Vec<_>>>()?;
    Ok(lines.into_iter().filter(|line| line != "ok").collect())
}

fn count(connection: &Connection, sql: &str) -> rusqlite::Result<u64> {
    connection.query_row(sql, [], |row| row.get::<_, i64>(0).map(u64::from_column))
}

fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    name.into()
}

/// A path as part of a URI.
fn encoded(path: &Path) -> String {
    use std::fmt::Write;
    use std::os::unix::ffi::OsStrExt;
    let mut text = String::new();
    for &byte in path.as_os_str().as_bytes() {
        if byte.is_ascii_alphanumeric() || b"/-_.~".contains(&byte) {
            text.push(char::from(byte));
        } else {
            write!(text, "%{byte:02X}").expect("a string takes everything");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_path_survives_its_uri_form() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("50% of a b?#ü.db");
        let made = Connection::open(&path).unwrap();
        made.execute_batch("CREATE TABLE here (x); INSERT INTO here VALUES (7)").unwrap();
        drop(made);
        let found = Quiet::open(&path, false).unwrap();
        let seven: i64 =
            found.connection.query_row("SELECT x FROM here", [], |row| row.get(0)).unwrap();
        assert_eq!(seven, 7);
    }
}
