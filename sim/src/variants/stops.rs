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
