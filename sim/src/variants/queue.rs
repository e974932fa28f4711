use runwarden_protocol::run::guards::Guards;
use runwarden_protocol::wire::codes::Code;

/// A message starts beside those that wait.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct OvertakesQueue;

impl Guards for OvertakesQueue {
    fn goes_behind(_has_entries: bool) -> bool {
        false
    }
}

/// A Stop leaves the queue as it is, and the next message starts at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct StopLeavesQueue;

impl Guards for StopLeavesQueue {
    fn holds_queue() -> bool {
        false
    }
}

/// An idle transition starts the head of a held queue too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct HeldQueueStarts;

impl Guards for HeldQueueStarts {
    fn may_start_head(_held: bool) -> bool {
        true
    }
}

/// A head that finds the server busy holds its queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct BusyHeadHolds;

impl Guards for BusyHeadHolds {
    fn holds_refused_head(_code: Code) -> bool {
        true
    }
}

/// A head that is refused for good stays first, and nothing ever starts it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct StaleHeadWaits;

impl Guards for StaleHeadWaits {
    fn holds_refused_head(_code: Code) -> bool {
        false
    }
}

/// The idle transition behind a failed launch starts the same head again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct FailedHeadStartsAgain;

impl Guards for FailedHeadStartsAgain {
    fn holds_returned_head() -> bool {
        false
    }
}

/// A failed launch takes the message with it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct FailedHeadDropped;

impl Guards for FailedHeadDropped {
    fn returns_head() -> bool {
        false
    }
}

/// A message is confirmed before it is stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct ConfirmedUnstored;

impl Guards for ConfirmedUnstored {
    fn confirms_stored() -> bool {
        false
    }
}

/// A message whose turn was accepted is called removed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct RemovedBehindItsStart;

impl Guards for RemovedBehindItsStart {
    fn removes_waiting_only() -> bool {
        false
    }
}

/// The end of a hold starts nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct ResumeStartsNothing;

impl Guards for ResumeStartsNothing {
    fn resume_triggers() -> bool {
        false
    }
}

/// The end of a run starts nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct IdleStartsNothing;

impl Guards for IdleStartsNothing {
    fn idle_triggers() -> bool {
        false
    }
}

/// A hold ends while a run is there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct ResumedWhileBusy;

impl Guards for ResumedWhileBusy {
    fn may_resume(_may_start: bool) -> bool {
        true
    }
}
