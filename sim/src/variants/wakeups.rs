use runwarden_protocol::ids::SessionId;
use runwarden_protocol::journal::row::Outcome;
use runwarden_protocol::run::guards::Guards;
use runwarden_protocol::wire::codes::Code;

/// One trigger starts wakeup after wakeup.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct AllStartAtOnce;

impl Guards for AllStartAtOnce {
    fn attempts_once() -> bool {
        false
    }
}

/// A wakeup that finds session or server busy has used up an attempt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct RefusalSpendsAttempt;

impl Guards for RefusalSpendsAttempt {
    fn counts_refused_wakeup(_code: Code) -> bool {
        true
    }
}

/// A wakeup that is refused for good costs nothing, and is tried for ever.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct StaleWakeupUncounted;

impl Guards for StaleWakeupUncounted {
    fn counts_refused_wakeup(_code: Code) -> bool {
        false
    }
}

/// A wakeup of another session runs in this one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct RunsInAnotherSession;

impl Guards for RunsInAnotherSession {
    fn takes_wakeup(_of: SessionId, _here: SessionId) -> bool {
        true
    }
}

/// Turns that fail are followed by others without end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct NeverPaused;

impl Guards for NeverPaused {
    fn may_start_wakeup(_failures: u8) -> bool {
        true
    }
}

/// A turn that fails leaves what it asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct FailedTurnWakes;

impl Guards for FailedTurnWakes {
    fn keeps_wakeups_of(_outcome: Outcome) -> bool {
        true
    }
}
