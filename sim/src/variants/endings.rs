use runwarden_protocol::run::guards::Guards;

/// The terminal is issued while an append is unanswered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct SettledBeforeAppendAnswered;

impl Guards for SettledBeforeAppendAnswered {
    fn may_settle(_batch_in_flight: bool) -> bool {
        true
    }
}

/// Rows that waited at the Stop are stored behind it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct WaitingRowsSurviveStop;

impl Guards for WaitingRowsSurviveStop {
    fn seals() -> bool {
        false
    }
}

/// The row of a settled run waits for the teardown of its worker.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct RowWaitsForTeardown;

impl Guards for RowWaitsForTeardown {
    fn frees_at_settlement() -> bool {
        false
    }
}

/// An ending by the server is stored as a Stop of the user.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct EndingCalledCancelled;

impl Guards for EndingCalledCancelled {
    fn names_ending() -> bool {
        false
    }
}

/// The end of a stopped run is stored and sent to nobody.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct EndNeverShown;

impl Guards for EndNeverShown {
    fn shows_cancelled() -> bool {
        false
    }
}

/// The teardown of a settled run closes the agent that the next one would borrow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct TeardownClosesShared;

impl Guards for TeardownClosesShared {
    fn closes_shared() -> bool {
        true
    }
}
