use runwarden_protocol::journal::row::Outcome;
use runwarden_protocol::run::guards::Guards;

/// The box takes steers before the agent is called.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct BoxOpenBeforeCall;

impl Guards for BoxOpenBeforeCall {
    fn opens_box_at_registration() -> bool {
        true
    }
}

/// The box is open behind the last drain of the worker.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct BoxOpenBehindDrain;

impl Guards for BoxOpenBehindDrain {
    fn closes_box_at_return() -> bool {
        false
    }
}

/// Only a run that completes settles its steers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct OnlySuccessSettles;

impl Guards for OnlySuccessSettles {
    fn settles_steers(outcome: Outcome) -> bool {
        outcome == Outcome::Completed
    }
}

/// The terminal says nothing of the steers that it gives back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct ReturnedUnlisted;

impl Guards for ReturnedUnlisted {
    fn lists_returned() -> bool {
        false
    }
}

/// A registration waits for the append that is unanswered, and nobody comes back to it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct RegistrationWaitsForAppend;

impl Guards for RegistrationWaitsForAppend {
    fn registers_beside_appends() -> bool {
        false
    }
}
