use serde::{Deserialize, Serialize};

use crate::instant::{Duration, Instant};

/// A Stop waits for a remote backend at most this long (REMOTE_STOP_WAIT, STOP-17).
pub const REMOTE_STOP_WAIT: Duration = Duration::from_secs(5);

/// A run on a remote backend, as its Stop sees it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "remote")]
pub enum Remote {
    /// The backend has not given its id.
    #[default]
    Starting,
    /// The id is known.
    Running,
    /// A Stop waits for the id.
    AwaitingId {
        /// Since when.
        since: Instant,
    },
    /// The backend was asked to stop, and a Stop waits for its answer.
    Asked {
        /// Since when the Stop waits.
        since: Instant,
    },
    /// The Stop was accepted, and the backend is to be asked as soon as the id arrives.
    Owed,
    /// The backend was asked, and the Stop is accepted.
    Stopped,
}

/// What a remote backend says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fact {
    /// The call runs on a remote backend.
    Started,
    /// It gave its id.
    Identified,
    /// It stops.
    StopTaken,
    /// It does not stop.
    StopRefused,
    /// Its run is over, or never began: there is nothing to stop any more.
    Gone,
}

/// What happens to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Input {
    /// Somebody asks to stop the run.
    StopAsked,
    /// The backend gave its id.
    Identified,
    /// The backend stops.
    StopTaken,
    /// The backend refuses to stop.
    StopRefused,
}

/// What it asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Output {
    /// Ask the backend to stop.
    StopRemote,
    /// The Stop is accepted now.
    Accept,
    /// The Stop is refused: nothing changes (STOP-18).
    Refuse,
}

impl Remote {
    /// Whether the backend is still to be asked to stop.
    pub const fn is_owed(self) -> bool {
        matches!(self, Self::Owed)
    }
}
