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
