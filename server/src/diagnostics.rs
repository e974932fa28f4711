//! The diagnostic log: JSON lines in STATE/logs/runwarden.log, and warnings on standard error.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::{Layer, Registry};

/// Size at which the log starts anew; the one before is kept as `runwarden.log.1`.
pub const LOG_BYTES_MAX: u64 = 5_242_880;

/// Name of the diagnostic log in its folder.
pub const LOG_FILE: &str = "runwarden.log";

/// Environment variable that sets the level of the server's own lines: error, warn, info, debug, trace.
pub const LEVEL_VARIABLE: &str = "RUNWARDEN_LOG";

/// Why the log cannot be opened.
#[derive(Debug, thiserror::Error)]
#[error(
    "cannot write logs in {}: {source}; make the state directory writable, or choose another one \
     with --state", folder.display()
)]
pub struct LogError {
    /// The folder of logs.
    folder: PathBuf,
    /// Why.
    source: io::Error,
}

/// Sends the log of this process into this folder, and to standard error, from now on. Called once.
///
/// # Errors
/// [`LogError`] when the file cannot be opened.
pub fn start(folder: &Path, level: Option<&str>) -> Result<(), LogError> {
    let opened = RotatingFile::open(folder.join(LOG_FILE));
    let file = opened.map_err(|source| LogError { folder: folder.to_owned(), source })?;
    let own = level.and_then(|text| text.parse().ok()).unwrap_or(LevelFilter::INFO);
    let lines = tracing_subscriber::fmt::layer()
        .json()
        .flatten_event(true)
        .with_writer(file)
        .with_filter(targets(own));
    let warnings = tracing_subscriber::fmt::layer()
        .with_ansi(false)
        .with_target(false)
        .with_writer(io::stderr)
        .with_filter(targets(LevelFilter::WARN));
    let subscriber = Registry::default().with(lines).with(warnings);
    // A second call in one process, as tests make it, keeps the first log.
    let _ = tracing::subscriber::set_global_default(subscriber);
    Ok(())
}

/// Sends the log of this process to standard error, from now on: warnings, or what `level` names.
pub fn start_on_stderr(level: Option<&str>) {
    let own = level.and_then(|text| text.parse().ok()).unwrap_or(LevelFilter::WARN);
    let lines = tracing_subscriber::fmt::layer()
        .with_ansi(false)
        .with_target(false)
        .with_writer(io::stderr)
        .with_filter(targets(own));
    // A second call in one process, as tests make it, keeps the first log.
    let _ = tracing::subscriber::set_global_default(Registry::default().with(lines));
}

/// Libraries may name headers and frames in their finer levels, so only warnings of them are kept (PRIN-2).
fn targets(own: LevelFilter) -> Targets {
    Targets::new()
        .with_default(LevelFilter::WARN.min(own))
        .with_target("runwarden", own)
        .with_target("runwarden_runtime", own)
}

/// A file that is renamed to `NAME.1` when it is full. A line that cannot be written is lost: the log
/// never holds up the server.
#[derive(Debug)]
struct RotatingFile {
    path: PathBuf,
    bytes_max: u64,
    open: Mutex<Open>,
}

#[derive(Debug)]
struct Open {
    file: File,
    bytes: u64,
    is_failing: bool,
}

/// One log line on its way into the file.
struct Line<'a>(&'a RotatingFile);

impl RotatingFile {
    fn open(path: PathBuf) -> io::Result<Self> {
        Self::bounded(path, LOG_BYTES_MAX)
    }

    fn bounded(path: PathBuf, bytes_max: u64) -> io::Result<Self> {
        let file = append_to(&path)?;
        let bytes = file.metadata()?.len();
        Ok(Self { path, bytes_max, open: Mutex::new(Open { file, bytes, is_failing: false }) })
    }

    fn write_line(&self, line: &[u8]) {
        let mut open = self.lock();
        let result = self.try_write(&mut open, line);
        if let Err(error) = &result
            && !open.is_failing
        {
            eprintln!("runwarden: cannot write {}: {error}", self.path.display());
        }
        open.is_failing = result.is_err();
    }

    fn try_write(&self, open: &mut Open, line: &[u8]) -> io::Result<()> {
        let length = line.len() as u64;
        if open.bytes > 0 && open.bytes + length > self.bytes_max {
            let mut before = self.path.clone().into_os_string();
            before.push(".1");
            std::fs::rename(&self.path, before)?;
            open.file = append_to(&self.path)?;
            open.bytes = 0;
        }
        open.file.write_all(line)?;
        open.bytes += length;
        Ok(())
    }

    /// The state is whole between writes, so a panic elsewhere does not spoil it.
    fn lock(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<'a> MakeWriter<'a> for RotatingFile {
    type Writer = Line<'a>;

    fn make_writer(&'a self) -> Line<'a> {
        Line(self)
    }
}

impl Write for Line<'_> {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        self.0.write_line(line);
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn append_to(path: &Path) -> io::Result<File> {
    OpenOptions::new().append(true).create(true).mode(0o600).open(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_log_starts_anew_and_keeps_one_before() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(LOG_FILE);
        let log = RotatingFile::bounded(path.clone(), 10).unwrap();
        let read = |path: &Path| std::fs::read_to_string(path).unwrap();
        let before = folder.path().join("runwarden.log.1");
        log.write_line(b"12345\n");
        log.write_line(b"789\n");
        assert_eq!(read(&path), "12345\n789\n", "exactly full");
        assert!(!before.exists());
        log.write_line(b"a\n");
        assert_eq!((read(&before).as_str(), read(&path).as_str()), ("12345\n789\n", "a\n"));
        log.write_line(b"longer than the bound\n");
        log.write_line(b"b\n");
        assert_eq!(read(&path), "b\n");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2);
    }

    #[test]
    fn a_reopened_log_counts_what_it_holds() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(LOG_FILE);
        RotatingFile::bounded(path.clone(), 8).unwrap().write_line(b"12345\n");
        RotatingFile::bounded(path.clone(), 8).unwrap().write_line(b"abc\n");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "abc\n");
    }

    #[test]
    fn a_folder_that_cannot_be_written_is_named() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join(LOG_FILE)).unwrap();
        let error = start(folder.path(), None).unwrap_err().to_string();
        assert!(error.contains(folder.path().to_str().unwrap()) && error.contains("--state"));
    }
}
