//! The state directory: where it is, what is in it, and the lock that makes it this server's own.

use std::ffi::OsString;
use std::fs::{self, File, TryLockError};
use std::io::{self, ErrorKind, Seek, Write};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use serde::Serialize;

/// Directories kept inside the state directory.
pub const SUBDIRECTORIES: [&str; 3] = ["attachments", "logs", "trash"];

/// Name of the lock in it.
const LOCK: &str = "lock";

/// Names of the database files in it.
pub const SESSIONS_DB: &str = "sessions.db";

/// As [`SESSIONS_DB`], of the error store.
pub const ERRORS_DB: &str = "errors.db";

/// Name of the generated token in it.
pub const TOKEN: &str = "token";

/// Why the state directory cannot be used, and what helps.
#[derive(Debug, thiserror::Error)]
pub enum StateDirError {
    /// Neither `XDG_STATE_HOME` nor `HOME` names a place.
    #[error("no place for the state directory: set HOME, or name one with --state DIR")]
    NoHome,
    /// The path names something else.
    #[error("{} is not a directory: name another place with --state DIR", path.display())]
    NotADirectory {
        /// The path.
        path: PathBuf,
    },
    /// Nothing may be written there.
    #[error("{} cannot be written: {source}; make it writable for this user, or name another place with --state DIR", path.display())]
    ReadOnly {
        /// What could not be written.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
    /// No room is left.
    #[error("no room is left for {}: free some disk space, or name another place with --state DIR", path.display())]
    Full {
        /// What could not be written.
        path: PathBuf,
    },
    /// A running server holds the lock.
    #[error("{} is in use by another server: stop that one, or name another place with --state DIR", path.display())]
    Locked {
        /// The state directory.
        path: PathBuf,
    },
    /// Anything else.
    #[error("{} cannot be used: {source}", path.display())]
    Unusable {
        /// What failed.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
}

impl StateDirError {
    fn new(path: &Path, source: io::Error) -> Self {
        let path = path.to_owned();
        match source.kind() {
            ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => {
                Self::ReadOnly { path, source }
            }
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded => Self::Full { path },
            ErrorKind::NotADirectory | ErrorKind::AlreadyExists => Self::NotADirectory { path },
            _ => Self::Unusable { path, source },
        }
    }
}

/// The lease of an exclusive store: which server holds the lock of its directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Lease {
    /// Where it listens; none before it does.
    pub address: Option<SocketAddr>,
    /// Its process.
    pub process_id: Option<u32>,
    /// Unix milliseconds at which it took the directory, or began to listen.
    pub since_ms: Option<u64>,
}

/// A state directory that this process alone uses until the last clone is dropped.
#[derive(Clone, Debug)]
pub struct StateDir {
    path: PathBuf,
    lock: Arc<File>,
}

impl StateDir {
    /// Makes the directory where it is missing, and locks it.
    ///
    /// # Errors
    /// [`StateDirError`] says what to do.
    pub fn open(path: &Path) -> Result<Self, StateDirError> {
        if path.exists() && !path.is_dir() {
            return Err(StateDirError::NotADirectory { path: path.to_owned() });
        }
        create_private(path).map_err(|error| StateDirError::new(path, error))?;
        let lock_path = path.join(LOCK);
        let lock = File::options()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&lock_path)
            .map_err(|error| StateDirError::new(&lock_path, error))?;
        match lock.try_lock() {
            // What the server before noted goes.
            Ok(()) => {
                note(&lock, None).map_err(|error| StateDirError::new(&lock_path, error))?;
            }
            Err(TryLockError::WouldBlock) => {
                return Err(StateDirError::Locked { path: path.to_owned() });
            }
            Err(TryLockError::Error(error)) => {
                return Err(StateDirError::new(&lock_path, error));
            }
        }
        for name in SUBDIRECTORIES {
            let directory = path.join(name);
            create_private(&directory).map_err(|error| StateDirError::new(&directory, error))?;
        }
        Ok(Self { path: path.to_owned(), lock: Arc::new(lock) })
    }

    /// The directory itself.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The session store.
    pub fn sessions_db(&self) -> PathBuf {
        self.path.join(SESSIONS_DB)
    }

    /// The error store (ERR-1).
    pub fn errors_db(&self) -> PathBuf {
        self.path.join(ERRORS_DB)
    }

    /// The generated token.
    pub fn token(&self) -> PathBuf {
        self.path.join(TOKEN)
    }

    /// Notes in the lock where this server listens, for commands that ask it something ([`address_of`]).
    ///
    /// # Errors
    /// [`StateDirError`] when it cannot be written.
    pub fn note_address(&self, address: SocketAddr) -> Result<(), StateDirError> {
        note(&self.lock, Some(address))
            .map_err(|error| StateDirError::new(&self.path.join(LOCK), error))
    }

    /// The diagnostic logs.
    pub fn logs(&self) -> PathBuf {
        logs(&self.path)
    }
}

/// The logs of the state directory at `path`.
pub fn logs(path: &Path) -> PathBuf {
    path.join("logs")
}

/// Whether a running server holds the lock of this directory. Changes nothing: the lock is taken for an
/// instant, if it is free, and given back.
///
/// # Errors
/// [`StateDirError`] says what to do.
pub fn is_in_use(path: &Path) -> Result<bool, StateDirError> {
    let lock_path = path.join(LOCK);
    let lock = match File::open(&lock_path) {
        Ok(lock) => lock,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
        Err(source) => return Err(StateDirError::Unusable { path: lock_path, source }),
    };
    match lock.try_lock_shared() {
        Ok(()) => Ok(false),
        Err(TryLockError::WouldBlock) => Ok(true),
        Err(TryLockError::Error(source)) => {
            Err(StateDirError::Unusable { path: lock_path, source })
        }
    }
}

/// Where the server that uses this directory listens; none when no server does, or it does not listen yet.
///
/// # Errors
/// [`StateDirError`] says what to do.
pub fn address_of(path: &Path) -> Result<Option<SocketAddr>, StateDirError> {
    Ok(lease_of(path)?.and_then(|lease| lease.address))
}

/// The lease on this directory; none when no server uses it.
///
/// # Errors
/// [`StateDirError`] says what to do.
pub fn lease_of(path: &Path) -> Result<Option<Lease>, StateDirError> {
    if !is_in_use(path)? {
        return Ok(None);
    }
    let lock_path = path.join(LOCK);
    let unusable = |source| StateDirError::Unusable { path: lock_path.clone(), source };
    let text = fs::read_to_string(&lock_path).map_err(unusable)?;
    let mut words = text.split_ascii_whitespace();
    // A server of another build may have noted less.
    Ok(Some(Lease {
        address: words.next().and_then(|word| word.parse().ok()),
        process_id: words.next().and_then(|word| word.parse().ok()),
        since_ms: words.next().and_then(|word| word.parse().ok()),
    }))
}

/// What the server that uses the directory noted in its lock: address, process and time, on one line.
fn note(mut lock: &File, address: Option<SocketAddr>) -> io::Result<()> {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
    let address = address.map_or_else(|| "-".to_owned(), |address| address.to_string());
    lock.set_len(0)?;
    lock.rewind()?;
    writeln!(lock, "{address} {} {since}", std::process::id())
}

/// The default place: `$XDG_STATE_HOME/runwarden`, else `~/.local/state/runwarden`, from the values of
/// `XDG_STATE_HOME` and `HOME`.
///
/// # Errors
/// [`StateDirError::NoHome`] when neither is an absolute path.
pub fn default_path(
    state_home: Option<OsString>,
    home: Option<OsString>,
) -> Result<PathBuf, StateDirError> {
    let state_home = state_home.map(PathBuf::from).filter(|path| path.is_absolute());
    let home = home.map(PathBuf::from).filter(|path| path.is_absolute());
    state_home
        .or_else(|| home.map(|home| home.join(".local/state")))
        .map(|base| base.join("runwarden"))
        .ok_or(StateDirError::NoHome)
}

fn create_private(path: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::DirBuilderExt;
        builder.mode(0o700);
    }
    builder.create(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_place_follows_the_environment() {
        let text = |text: &str| Some(OsString::from(text));
        let path = |state_home, home| default_path(state_home, home).unwrap();
        assert_eq!(path(text("/s"), text("/h")), Path::new("/s/runwarden"));
        assert_eq!(path(None, text("/h")), Path::new("/h/.local/state/runwarden"));
        assert_eq!(path(text("relative"), text("/h")), Path::new("/h/.local/state/runwarden"));
        assert!(matches!(default_path(None, text("")), Err(StateDirError::NoHome)));
    }

    #[test]
    fn a_directory_is_made_with_its_parts_and_used_again() {
        let base = tempfile::tempdir().unwrap();
        let path = base.path().join("a/b");
        drop(StateDir::open(&path).unwrap());
        let state = StateDir::open(&path).unwrap();
        assert!(SUBDIRECTORIES.iter().all(|name| path.join(name).is_dir()));
        assert_eq!(state.sessions_db(), path.join("sessions.db"));
    }

    #[test]
    fn a_second_server_is_told_that_the_directory_is_in_use() {
        let base = tempfile::tempdir().unwrap();
        let first = StateDir::open(base.path()).unwrap();
        let error = StateDir::open(base.path()).unwrap_err();
        assert!(matches!(error, StateDirError::Locked { .. }));
        assert!(error.to_string().contains("stop that one"), "{error}");
        drop(first);
        StateDir::open(base.path()).unwrap();
    }

    #[test]
    fn a_look_tells_whether_a_server_runs_and_leaves_the_lock_free() {
        let base = tempfile::tempdir().unwrap();
        assert!(!is_in_use(base.path()).unwrap(), "nobody has ever used it");
        assert_eq!(fs::read_dir(base.path()).unwrap().count(), 0);
        let state = StateDir::open(base.path()).unwrap();
        assert!(is_in_use(base.path()).unwrap());
        drop(state);
        assert!(!is_in_use(base.path()).unwrap());
        StateDir::open(base.path()).unwrap();
    }

    #[test]
    fn a_look_tells_where_the_server_listens_while_it_runs() {
        let base = tempfile::tempdir().unwrap();
        assert_eq!(address_of(base.path()).unwrap(), None);
        let state = StateDir::open(base.path()).unwrap();
        assert_eq!(address_of(base.path()).unwrap(), None, "not yet");
        for address in ["[2001:db8::1]:65535", "127.0.0.1:1"] {
            let address = address.parse().unwrap();
            state.note_address(address).unwrap();
            assert_eq!(address_of(base.path()).unwrap(), Some(address));
            let lease = lease_of(base.path()).unwrap().unwrap();
            assert_eq!(lease.process_id, Some(std::process::id()));
            assert!(lease.since_ms.is_some_and(|since| since > 1_700_000_000_000));
        }
        drop(state);
        assert_eq!(address_of(base.path()).unwrap(), None, "the server is gone");
        assert_eq!(lease_of(base.path()).unwrap(), None, "and its lease");
        let _state = StateDir::open(base.path()).unwrap();
        assert_eq!(address_of(base.path()).unwrap(), None, "what another one noted is gone");
    }

    #[test]
    fn a_file_in_the_place_is_named() {
        let base = tempfile::tempdir().unwrap();
        let file = base.path().join("file");
        fs::write(&file, "x").unwrap();
        for path in [file.clone(), file.join("below")] {
            let error = StateDir::open(&path).unwrap_err();
            assert!(matches!(error, StateDirError::NotADirectory { .. }), "{error}");
        }
        fs::write(base.path().join("trash"), "x").unwrap();
        assert!(matches!(
            StateDir::open(base.path()).unwrap_err(),
            StateDirError::NotADirectory { .. }
        ));
    }

    #[test]
    fn what_the_system_answers_becomes_advice() {
        let at = Path::new("/state");
        let error = |kind: ErrorKind| StateDirError::new(at, io::Error::from(kind));
        assert!(matches!(error(ErrorKind::PermissionDenied), StateDirError::ReadOnly { .. }));
        assert!(matches!(error(ErrorKind::ReadOnlyFilesystem), StateDirError::ReadOnly { .. }));
        assert!(matches!(error(ErrorKind::StorageFull), StateDirError::Full { .. }));
        assert!(matches!(error(ErrorKind::Other), StateDirError::Unusable { .. }));
    }
}
