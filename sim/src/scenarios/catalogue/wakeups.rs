//! Wakeups by producers inside the server: RACE-70.

use super::super::{Scenario, Variant};
use super::steps::{
    ADMITTED, BEGUN, CONSTRUCTED, INVOKED, LAUNCH, REGISTERED, RETURNED, SETTLED, Steps,
};
use super::{SMALL, WAKING, explored};
use crate::explore::{Budget, Conditions, Fault, Oddity};
use crate::variants as v;

const TWO_WAIT: Steps = &[
    "producer send wake(wake_1)",
    "store answer wakeups_changed(ses_1)",
    "producer send wake(wake_2)",
    "store answer wakeups_changed(ses_1)",
];

pub(super) const SCENARIOS: &[Scenario] = &[Scenario {
    init: &[ADMITTED, LAUNCH, BEGUN, CONSTRUCTED, REGISTERED, INVOKED, TWO_WAIT, RETURNED, SETTLED],
    budget: Budget { clients: 0, stops: 0, ..SMALL },
    conditions: Conditions { oddity: Some(Oddity::TwoTurnsFailed), ..WAKING },
    ..explored(
        "RACE-70",
        "wakeups",
        &[
            Variant::of::<v::AllStartAtOnce>("all-start-at-once", "STR-12"),
            Variant::of::<v::RefusalSpendsAttempt>("refusal-spends-attempt", "STR-13"),
            Variant::of::<v::StaleWakeupUncounted>("stale-wakeup-uncounted", "STR-13"),
            Variant::of::<v::RunsInAnotherSession>("runs-in-another-session", "STR-15"),
            Variant::of::<v::NeverPaused>("never-paused", "STR-16"),
            Variant::of::<v::FailedTurnWakes>("failed-turn-wakes", "STR-16"),
            Variant::around("wakeups-forgotten", "STR-14", Fault::WakeupsForgotten),
            Variant::around("identities-forgotten", "STR-14", Fault::IdentitiesForgotten),
            Variant::around("claimed-wakeup-kept", "STR-14", Fault::ClaimedWakeupKept),
            Variant::around("pause-forgotten", "STR-16", Fault::PauseForgotten),
        ],
    )
}];
