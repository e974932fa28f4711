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
