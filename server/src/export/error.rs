use std::io;
use std::path::PathBuf;

use runwarden_protocol::flight::{FlightError, RecordingError};
use runwarden_protocol::ids::SessionId;
use runwarden_protocol::record::RecordError;

use crate::asking::AskError;
use crate::config::ConfigError;
use crate::state_dir::StateDirError;

/// Why nothing was exported, and what to do.
#[derive(Debug, thiserror::Error)]
pub(super) enum ExportError {
    /// The text is no id.
    #[error("{0:?} is no session id: the page shows it in its address, as ses_ and 16 digits")]
    SessionId(String),
    /// The settings.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The state directory.
    #[error(transparent)]
    State(#[from] StateDirError),
    /// The server has the lock and does not listen yet.
    #[error("the server does not listen yet: try again")]
    Starting,
    /// The server cannot be asked.
    #[error(transparent)]
    Ask(#[from] AskError),
    /// The server refused.
    #[error("the server answers {status}: {text}")]
    Refused {
        /// The status.
        status: u16,
        /// What it says.
        text: String,
    },
    /// The steps do not lead to the state of the live machine.
    #[error("{0}")]
    Differs(String),
    /// No server, and no recording.
    #[error(
        "no server runs on {}, and it holds no recording of {session_id}: only a server started with --record leaves \
         one behind; else export while the server runs",
        path.display()
    )]
    NothingRecorded {
        /// The state directory.
        path: PathBuf,
        /// The session.
        session_id: SessionId,
    },
    /// A recording cannot be read.
    #[error("{} cannot be read: {source}", path.display())]
    Read {
        /// The file or folder.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// A recording is not whole.
    #[error("{}: {problem}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        problem: Problem,
    },
    /// The file cannot be written.
    #[error("{} cannot be written: {source}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
}

/// What is wrong with a recording.
#[derive(Debug, thiserror::Error)]
pub(super) enum Problem {
    /// A line is not the record that is due.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// The records are not the life of one machine.
    #[error(transparent)]
    Recording(#[from] RecordingError),
    /// What it holds cannot leave as a race file.
    #[error(transparent)]
    Flight(#[from] FlightError),
    /// The file cannot be read on.
    #[error("it cannot be read on: {0}")]
    Io(#[from] io::Error),
    /// A line passes its bound.
    #[error("a line passes {0} bytes")]
    LineTooLong(u64),
}
