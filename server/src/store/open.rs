//! Opening the database files: whose they are, whether this version reads them, whether they can be written.

use std::path::{Path, PathBuf};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags};

use super::schema;

/// Why a database file cannot be used, and what helps.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Another program made the file.
    #[error("{} was not made by Runwarden: move it away, or name another place with --state DIR", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// A newer version made the file.
    #[error("{} was made by a newer version (its schema is {found}, this one reads up to {supported}): start that version, or name another place with --state DIR", path.display())]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its schema version.
        found: i64,
        /// The newest schema version that this program reads.
        supported: i64,
    },
    /// The file or its directory cannot be written.
    #[error("{} cannot be written: make it and its directory writable for this user, or name another place with --state DIR", path.display())]
    ReadOnly {
        /// The file.
        path: PathBuf,
    },
    /// No room is left.
    #[error("no room is left for {}: free some disk space, or name another place with --state DIR", path.display())]
    Full {
        /// The file.
        path: PathBuf,
    },
    /// The file is damaged.
    #[error("{} is damaged ({detail}): restore it from a backup, or move it away", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What the database says.
        detail: String,
    },
    /// Another program holds the file.
    #[error("{} is in use by another program: stop that one, or name another place with --state DIR", path.display())]
    InUse {
        /// The file.
        path: PathBuf,
    },
    /// Anything else.
    #[error("{} cannot be opened: {detail}", path.display())]
    Failed {
        /// The file.
        path: PathBuf,
        /// What the system says.
        detail: String,
    },
}

impl OpenError {
    /// The error of a file that the database refused.
    pub(super) fn new(path: &Path, error: &rusqlite::Error) -> Self {
        let path = path.to_owned();
        let detail = error.to_string();
        match error.sqlite_error_code() {
            Some(ErrorCode::NotADatabase) => Self::Foreign { path },
            Some(ErrorCode::ReadOnly | ErrorCode::CannotOpen | ErrorCode::PermissionDenied) => {
                Self::ReadOnly { path }
            }
            Some(ErrorCode::DiskFull) => Self::Full { path },
            Some(ErrorCode::DatabaseCorrupt) => Self::Damaged { path, detail },
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Self::InUse { path },
            _ => Self::Failed { path, detail },
        }
    }
}

/// Which of the two files is opened.
#[derive(Clone, Copy, Debug)]
pub(super) struct FileKind {
    application_id: i64,
    tables: &'static str,
    upgrades: &'static [&'static str],
}

impl FileKind {
    /// Version of its tables, kept in `user_version`.
    pub(super) fn version(self) -> i64 {
        1 + i64::try_from(self.upgrades.len()).unwrap_or(i64::MAX - 1)
    }
}

/// `sessions.db`.
pub(super) const SESSIONS_FILE: FileKind = FileKind {
    application_id: schema::SESSIONS_APPLICATION,
    tables: schema::SESSIONS,
    upgrades: schema::SESSIONS_UPGRADES,
};

/// `errors.db`.
pub(super) const ERRORS_FILE: FileKind =
    FileKind { application_id: schema::ERRORS_APPLICATION, tables: schema::ERRORS, upgrades: &[] };

/// Longest wait for another program that reads the file, in milliseconds.
const BUSY_WAIT_MS: u64 = 2_000;

/// Statements kept prepared per connection; more than there are.
const STATEMENTS_KEPT: usize = 160;

/// Memory for pages of a file, in KiB, per connection.
const CACHE_KIB: i64 = 4 * 1_024;

/// Pages of the write-ahead log after which it is moved into the file. A page that is written often is moved
/// once for all of them.
const CHECKPOINT_PAGES: i64 = 8_192;

/// Bytes of write-ahead log kept after a checkpoint.
const LOG_BYTES_KEPT: i64 = 64 * 1_024 * 1_024;

/// Opens a file for writing; makes it when it is missing. A foreign or newer file is not touched.
pub(super) fn open_writer(path: &Path, kind: FileKind) -> Result<Connection, OpenError> {
    let failed = |error: rusqlite::Error| OpenError::new(path, &error);
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_CREATE
        | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags).map_err(failed)?;
    configure(&connection).map_err(failed)?;
    let version = check(&connection, path, kind)?;
    if connection.is_readonly("main").map_err(failed)? {
        return Err(OpenError::ReadOnly { path: path.to_owned() });
    }
    let mode: String = connection
        .pragma_update_and_check(None, "journal_mode", "WAL", |row| row.get(0))
        .map_err(failed)?;
    if mode != "wal" {
        let detail = format!("the file system does not carry a write-ahead log (mode {mode})");
        return Err(OpenError::Failed { path: path.to_owned(), detail });
    }
    connection.pragma_update(None, "wal_autocheckpoint", CHECKPOINT_PAGES).map_err(failed)?;
    connection.pragma_update(None, "journal_size_limit", LOG_BYTES_KEPT).map_err(failed)?;
    connection.pragma_update(None, "synchronous", "FULL").map_err(failed)?;
    match version {
        None => create(&connection, kind).map_err(failed)?,
        Some(version) => upgrade(&connection, kind, version).map_err(failed)?,
    }
    Ok(connection)
}

/// Opens a file that a writer has opened before, for reading only.
pub(super) fn open_reader(path: &Path) -> Result<Connection, OpenError> {
    let failed = |error: rusqlite::Error| OpenError::new(path, &error);
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags).map_err(failed)?;
    configure(&connection).map_err(failed)?;
    Ok(connection)
}

fn configure(connection: &Connection) -> rusqlite::Result<()> {
    connection.set_prepared_statement_cache_capacity(STATEMENTS_KEPT);
    // Otherwise statements with a bound LIMIT or OFFSET are planned again each time they are bound.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    connection.pragma_update(None, "cache_size", -CACHE_KIB)?;
    // What a savepoint may have to take back is kept in memory: a batch is small.
    connection.pragma_update(None, "temp_store", "MEMORY")?;
    connection.busy_timeout(std::time::Duration::from_millis(BUSY_WAIT_MS))
}

/// Whose file it is; the version of its tables, or none of a new file. Reads only.
pub(super) fn check(
    connection: &Connection,
    path: &Path,
    kind: FileKind,
) -> Result<Option<i64>, OpenError> {
    let failed = |error: rusqlite::Error| OpenError::new(path, &error);
    let pragma = |name: &str| {
        connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0)).map_err(failed)
    };
    let application_id = pragma("application_id")?;
    let version = pragma("user_version")?;
    let tables: i64 = connection
        .query_row("SELECT count(*) FROM sqlite_master", [], |row| row.get(0))
        .map_err(failed)?;
    let path = path.to_owned();
    if application_id == 0 && version == 0 && tables == 0 {
        return Ok(None);
    }
    if application_id != kind.application_id {
        return Err(OpenError::Foreign { path });
    }
    if version > kind.version() {
        return Err(OpenError::Newer { path, found: version, supported: kind.version() });
    }
    if version < 1 {
        let detail = format!("its schema version is {version}");
        return Err(OpenError::Damaged { path, detail });
    }
    Ok(Some(version))
}

/// Brings the tables of an older version up to this one, all steps or none.
fn upgrade(connection: &Connection, kind: FileKind, version: i64) -> rusqlite::Result<()> {
    let done = usize::try_from(version - 1).unwrap_or(0);
    let steps = kind.upgrades.get(done..).unwrap_or_default();
    if steps.is_empty() {
        return Ok(());
    }
    connection.execute_batch(&format!(
        "BEGIN IMMEDIATE;
         {}
         PRAGMA user_version = {};
         COMMIT;",
        steps.concat(),
        kind.version(),
    ))
}

fn create(connection: &Connection, kind: FileKind) -> rusqlite::Result<()> {
    connection.execute_batch(&format!(
        "BEGIN IMMEDIATE;
         {}
         PRAGMA application_id = {};
         PRAGMA user_version = {};
         COMMIT;",
        kind.tables,
        kind.application_id,
        kind.version(),
    ))
}
