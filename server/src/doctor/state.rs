//! The state directory: what is in it, whether it is whole, and whether a server uses it.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use serde::Serialize;

use super::report::Finding;
use super::text;
use crate::state_dir::{self, ERRORS_DB, Lease, SESSIONS_DB, StateDirError, TOKEN};
use crate::store::inspect::{self, ErrorsFound, SessionsFound};

/// Looks at the databases, when a server was started or ended in between.
const LOOKS_MAX: usize = 3;

/// What the state directory holds.
#[derive(Clone, Debug, Serialize)]
pub(super) struct StateReport {
    /// Where it is.
    pub(super) path: PathBuf,
    /// Whether it is there; the first start makes it.
    pub(super) exists: bool,
    /// Whether a running server holds its lock.
    pub(super) server_running: bool,
    /// The lease of that server.
    pub(super) lease: Option<Lease>,
    /// Unix milliseconds of this look.
    pub(super) looked_at: u64,
    /// What lies in it, with the bytes of everything below, symbolic links not followed.
    pub(super) entries: Vec<Entry>,
    /// The session database.
    pub(super) sessions: FileReport<SessionsFound>,
    /// The error database.
    pub(super) errors: FileReport<ErrorsFound>,
    /// Whether others than the owner may read the token.
    pub(super) token_exposed: bool,
}

/// One entry of the state directory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Entry {
    /// Its name.
    pub(super) name: String,
    /// Bytes of it and of everything below.
    pub(super) bytes: u64,
}

/// A database file.
#[derive(Clone, Debug, Serialize)]
pub(super) struct FileReport<T> {
    /// Whether it is there.
    pub(super) exists: bool,
    /// What it holds; none when it is absent or could not be read.
    pub(super) found: Option<T>,
    /// Why it could not be read, with what to do.
    pub(super) problem: Option<String>,
}

/// Looks at a state directory.
///
/// # Errors
/// [`StateDirError`] when it cannot be looked at.
pub(super) fn examine(path: &Path) -> Result<StateReport, StateDirError> {
    let mut report = StateReport {
        path: path.to_owned(),
        exists: path.exists(),
        server_running: false,
        lease: None,
        looked_at: now_ms(),
        entries: Vec::new(),
        sessions: FileReport::absent(),
        errors: FileReport::absent(),
        token_exposed: false,
    };
    if !report.exists {
        return Ok(report);
    }
    report.entries = entries(path)?;
    for _ in 0..LOOKS_MAX {
        report.lease = state_dir::lease_of(path)?;
        report.server_running = report.lease.is_some();
        let served = report.server_running;
        report.sessions = FileReport::of(&path.join(SESSIONS_DB), |file| {
            inspect::sessions(file, served).map_err(|error| error.to_string())
        });
        report.errors = FileReport::of(&path.join(ERRORS_DB), |file| {
            inspect::errors(file, served).map_err(|error| error.to_string())
        });
        if state_dir::is_in_use(path)? == served {
            break;
        }
    }
    report.token_exposed = is_exposed(&path.join(TOKEN));
    Ok(report)
}

fn entries(path: &Path) -> Result<Vec<Entry>, StateDirError> {
    let unusable = |source| StateDirError::Unusable { path: path.to_owned(), source };
    if !path.is_dir() {
        return Err(StateDirError::NotADirectory { path: path.to_owned() });
    }
    let mut entries = Vec::new();
    for entry in fs::read_dir(path).map_err(unusable)? {
        let entry = entry.map_err(unusable)?;
        let name = entry.file_name().to_string_lossy().into_owned();
        entries.push(Entry { name, bytes: bytes_below(&entry.path()) });
    }
    entries.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(entries)
}

/// What cannot be read counts nothing.
fn bytes_below(path: &Path) -> u64 {
    let mut bytes = 0_u64;
    let mut waiting = vec![path.to_owned()];
    while let Some(path) = waiting.pop() {
        let Ok(metadata) = fs::symlink_metadata(&path) else { continue };
        if metadata.is_dir() {
            let below = fs::read_dir(&path).into_iter().flatten();
            waiting.extend(below.filter_map(|entry| Some(entry.ok()?.path())));
        } else if metadata.is_file() {
            bytes = bytes.saturating_add(metadata.len());
        }
    }
    bytes
}

fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

fn is_exposed(token: &Path) -> bool {
    fs::metadata(token).is_ok_and(|metadata| metadata.permissions().mode() & 0o077 != 0)
}

impl<T> FileReport<T> {
    const fn absent() -> Self {
        Self { exists: false, found: None, problem: None }
    }

    fn of(path: &Path, look: impl FnOnce(&Path) -> Result<T, String>) -> Self {
        if !path.exists() {
            return Self::absent();
        }
        match look(path) {
            Ok(found) => Self { exists: true, found: Some(found), problem: None },
            Err(problem) => Self { exists: true, found: None, problem: Some(problem) },
        }
    }
}

impl StateReport {
    /// What wants doing.
    pub(super) fn findings(&self) -> Vec<Finding> {
        let mut findings = Vec::new();
        let restore = "restore it from a backup, or move it away";
        for (name, problem) in
            [(SESSIONS_DB, &self.sessions.problem), (ERRORS_DB, &self.errors.problem)]
        {
            if let Some(problem) = problem {
                findings.push(Finding::new(name, problem.as_str(), restore));
            }
        }
        let of_sessions = self.sessions.found.iter().flat_map(|found| &found.faults);
        let of_errors = self.errors.found.iter().flat_map(|found| &found.faults);
        let faults = of_sessions.map(|fault| (SESSIONS_DB, fault));
        for (name, fault) in faults.chain(of_errors.map(|fault| (ERRORS_DB, fault))) {
            findings.push(Finding::new(name, format!("it is damaged: {fault}"), restore));
        }
        self.find_runs(&mut findings);
        if self.token_exposed {
            findings.push(Finding::new(
                TOKEN,
                "other users of this machine can read it",
                "make it yours alone with `chmod 600`, or remove it to get a new one",
            ));
        }
        findings
    }

    /// What is worth knowing and mends itself.
    pub(super) fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if !self.exists {
            notes.push("there is no state directory yet: the first start makes it".to_owned());
        }
        let Some(found) = &self.sessions.found else { return notes };
        if found.schema_version < found.newest_version {
            notes.push(format!(
                "{SESSIONS_DB} has schema {}: the next start brings it to {}",
                found.schema_version, found.newest_version
            ));
        }
        let Some(content) = &found.content else { return notes };
        if self.server_running && content.unsettled_total > 0 {
            notes.push(format!("runs going on: {}", content.unsettled_total));
        }
        if !self.server_running && !content.is_closed {
            notes.push(
                "the last server did not end by itself: the next start recovers what it left"
                    .to_owned(),
            );
        }
        notes
    }

    fn find_runs(&self, findings: &mut Vec<Finding>) {
        let content = self.sessions.found.as_ref().and_then(|found| found.content.as_ref());
        let Some(content) = content else { return };
        if content.unsettled_total > 0 && !self.server_running {
            let first = content.unsettled.first().map(|run| {
                let old = text::age(self.looked_at.saturating_sub(run.started_at));
                format!(", the oldest {} from {old} ago", run.run_id)
            });
            findings.push(Finding::new(
                "runs without settlement",
                format!(
                    "{} left by a server that ended{}",
                    content.unsettled_total,
                    first.unwrap_or_default()
                ),
                "start the server: it settles them before it listens",
            ));
        }
        for run in &content.quarantined {
            findings.push(Finding::new(
                format!("journal of {}", run.run_id),
                format!("it cannot be trusted: {}", run.reason),
                "every other run stays readable; look for a failing disk, and keep a backup",
            ));
        }
        let unnamed = content.quarantined_total - content.quarantined.len() as u64;
        if unnamed > 0 {
            findings.push(Finding::new(
                "journals",
                format!("{unnamed} more cannot be trusted"),
                "look for a failing disk, and keep a backup",
            ));
        }
    }
}
