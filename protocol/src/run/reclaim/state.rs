use std::marker::PhantomData;

use serde::{Deserialize, Serialize};

use crate::instant::{Duration, Instant};
use crate::run::guards::{Guards, Rules};

/// When the row of one run may be reclaimed.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(bound = "")]
pub struct Reclaim<G: Guards = Rules> {
    pub(super) state: State,
    pub(super) unwind: Duration,
    #[serde(skip)]
    pub(super) guards: PhantomData<G>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum State {
    /// Not stopped: no age makes the row reclaimable (REC-02).
    Untouched,
    /// Stopped; the channel is still open.
    Stopped { since: Instant },
    /// Stopped, and the channel is closed.
    Closed { since: Instant },
    /// The row is gone, by reclamation or otherwise.
    Over,
}

/// What happens to the row as far as reclamation goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Input {
    /// Stop or a server ending was accepted.
    StopAccepted,
    /// The run's channel in STREAMS was closed.
    ChannelClosed,
    /// A start asks for the session.
    StartAsked,
    /// The row is gone.
    RowGone,
}

/// What reclamation causes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Output {
    /// Remove the row, stream-owner entry and ownership of exactly this run (REC-04).
    Reclaim,
}

impl<G: Guards> Reclaim<G> {
    /// The row of a fresh reservation; `unwind` is the configured window (REC-03).
    pub fn new(unwind: Duration) -> Self {
        Self { state: State::Untouched, unwind, guards: PhantomData }
    }
}
