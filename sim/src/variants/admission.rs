use runwarden_protocol::instant::{Duration, Instant};
use runwarden_protocol::run::Phase;
use runwarden_protocol::run::guards::{Guards, Rules};

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

/// The age of a stopped row counts from the start of its run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct AgeFromStart;

impl Guards for AgeFromStart {
    fn reclaim_anchor(_stopped_at: Instant, started_at: Instant) -> Instant {
        started_at
    }

    fn replaces_owner() -> bool {
        true
    }
}

/// Only a row that starts or stops blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct RunningRowIgnored;

impl Guards for RunningRowIgnored {
    fn blocks_start(phase: Phase, reclaimable: bool) -> bool {
        phase != Phase::Running && Rules::blocks_start(phase, reclaimable)
    }

    fn replaces_owner() -> bool {
        true
    }
}

/// The row appears before its owner is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct ReservedWithoutOwner;

impl Guards for ReservedWithoutOwner {
    fn reserves_owner() -> bool {
        false
    }
}

/// Reclamation takes the row and leaves the owner.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct ReclaimKeepsOwner;

impl Guards for ReclaimKeepsOwner {
    fn reclaim_frees_owner() -> bool {
        false
    }
}

/// The session list counts a shorter window than admission.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct ShorterWindowShown;

impl Guards for ShorterWindowShown {
    fn shown_window(_unwind: Duration) -> Duration {
        Duration::from_secs(30)
    }
}

/// Whoever asks is handed every run that has a row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct CancellingRowAttachable;

impl Guards for CancellingRowAttachable {
    fn may_attach(_phase: Phase) -> bool {
        true
    }
}

/// The agent of a session is changed under its run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct AgentChangedWhileBusy;

impl Guards for AgentChangedWhileBusy {
    fn may_change_agent(_may_start: bool) -> bool {
        true
    }
}
