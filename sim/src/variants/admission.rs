use runwarden_protocol::instant::{Duration, Instant};
use runwarden_protocol::run::Phase;
use runwarden_protocol::run::guards::Guards;

/// Admission looks at the active run only: a row that unwinds does not block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct CancellingRowIgnored;

impl Guards for CancellingRowIgnored {
    fn is_reclaimable(
        phase: Phase,
        _since: Instant,
        _now: Instant,
        live: bool,
        _unwind: Duration,
    ) -> bool {
        phase == Phase::Cancelling && !live
    }
}

/// The row of a worker that hangs never goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct RowNeverReclaimed;

impl Guards for RowNeverReclaimed {
    fn is_reclaimable(
        _phase: Phase,
        _since: Instant,
        _now: Instant,
        _live: bool,
        _unwind: Duration,
    ) -> bool {
        false
    }
}

/// The reservation does not test again, and the second start takes the place of the first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct SecondStartReplacesFirst;

impl Guards for SecondStartReplacesFirst {
    fn blocks_start(_phase: Phase, _reclaimable: bool) -> bool {
        false
    }

    fn replaces_owner() -> bool {
        true
    }
}

/// A failed launch leaves everything that was made for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct LaunchFailureLeftBehind;

impl Guards for LaunchFailureLeftBehind {
    fn compensates() -> bool {
        false
    }
}
