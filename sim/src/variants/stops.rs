use runwarden_protocol::run::guards::Guards;

/// A Stop of a settled run is accepted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct SettledStopAccepted;

impl Guards for SettledStopAccepted {
    fn honours_settlement() -> bool {
        false
    }
}

/// Each Stop interrupts the agent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct RepeatInterrupts;

impl Guards for RepeatInterrupts {
    fn interrupts_again() -> bool {
        true
    }
}

/// Stop is answered first, the terminal is left to whoever comes later.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct AnsweredBeforeSettled;

impl Guards for AnsweredBeforeSettled {
    fn answers_at_acceptance() -> bool {
        true
    }
}

/// One interrupt is all that ever happens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct InterruptedOnce;

impl Guards for InterruptedOnce {
    fn escalates() -> bool {
        false
    }
}

/// A Stop is accepted while the settlement is being saved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct StopDuringSaveAccepted;

impl Guards for StopDuringSaveAccepted {
    fn holds_stop(_saving: bool) -> bool {
        false
    }
}

/// A Stop is applied to whatever the session runs now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct StopHitsWhateverRuns;

impl Guards for StopHitsWhateverRuns {
    fn stops_named_only() -> bool {
        false
    }
}

/// A save of the canceller that failed is not tried again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct FailedSaveDropsClaim;

impl Guards for FailedSaveDropsClaim {
    fn keeps_claim() -> bool {
        false
    }
}

/// The canceller looks its session up through what the worker removes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct SessionLookedUpLate;

impl Guards for SessionLookedUpLate {
    fn finds_session(worker_gone: bool) -> bool {
        !worker_gone
    }
}

/// A Stop searches the channels only.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct ChannelSearchedOnly;

impl Guards for ChannelSearchedOnly {
    fn finds_run(live: bool) -> bool {
        live
    }
}

/// A Stop gives the session free at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct StopReleasesOwner;

impl Guards for StopReleasesOwner {
    fn stop_releases_owner() -> bool {
        true
    }
}

/// A Stop waits for the agent to end by itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct NeverInterrupted;

impl Guards for NeverInterrupted {
    fn interrupts(_invoked: bool) -> bool {
        false
    }
}

/// A worker that has returned waits for ever when a Stop takes its settlement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct ReturnedWorkerForgotten;

impl Guards for ReturnedWorkerForgotten {
    fn exits_when_overtaken() -> bool {
        false
    }
}

/// A Stop of a lost run is told what recovery is about to write.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct RecoveryToldEarly;

impl Guards for RecoveryToldEarly {
    fn awaits_recovery() -> bool {
        false
    }
}

/// A start waits until the settlement of a stopped run is saved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct DecisionWaitsForSave;

impl Guards for DecisionWaitsForSave {
    fn decides_at_once() -> bool {
        false
    }
}
