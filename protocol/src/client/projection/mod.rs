//! What one client knows of one open session (table 5.5). Frames in, effects out; the view is read from [`View`].
//!
//! A client that shows a [`Projection`] and carries out its effects ends with the server's view, however often its
//! connection was cut, as long as it is connected long enough in the end (SES-24, SES-32, SES-33, SES-49).

mod live;
mod ops;
mod state;

#[cfg(test)]
mod tests;

use crate::wire::actions::KnownState;

pub use live::{Live, Took};
pub use state::{Projection, State, View};

/// What a client has to ask for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// `open_session`.
    Open {
        /// The open generation.
        generation: i64,
        /// What it knows.
        known: Option<KnownState>,
    },
    /// `load_history` with `latest`.
    ReadLatest {
        /// The open generation.
        generation: i64,
    },
    /// `get_stream`.
    GetStream {
        /// The open generation.
        generation: i64,
        /// The entity.
        entity_id: String,
        /// What it has of it.
        known_seq: Option<i64>,
    },
    /// `list_queue`.
    ListQueue,
}
