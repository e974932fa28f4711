//! Journal and live stream: RACE-43 to RACE-61.

use super::super::{Scenario, Variant};
use super::steps::INVOKED_RUN;
use super::{SMALL, explored};
use crate::explore::{Budget, Fault};

pub(super) const SCENARIOS: &[Scenario] = &[Scenario {
    init: INVOKED_RUN,
    budget: Budget { events: 3, ..SMALL },
    ..explored(
        "RACE-43",
        "reserved-number-late-write",
        &[Variant::around("number-taken-early", "INV-SEQ", Fault::NumberTakenEarly)],
    )
}];
