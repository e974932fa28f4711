//! Stop against completion, and what Stop keeps: RACE-16 to RACE-23.

use super::super::{Scenario, Variant};
use super::steps::{
    ADMITTED, BEGUN, CONSTRUCTED, FIRST_THOUGHT, INVOKED, LAUNCH, REGISTERED, RETURNED, RUN_SHOWN,
    SPEAKING_RUN,
};
use super::{SMALL, WATCHED, WEDGING, explored};
use crate::explore::{Budget, Conditions, Fault};
use crate::variants as v;

pub(super) const SCENARIOS: &[Scenario] = &[
    Scenario {
        init: &[ADMITTED, LAUNCH, BEGUN, CONSTRUCTED, REGISTERED, INVOKED, RETURNED],
        ..explored(
            "RACE-16",
            "stop-after-the-settlement",
            &[
                Variant::of::<v::SettledStopAccepted>("settled-stop-accepted", "STOP-06"),
                Variant::of::<v::StopDuringSaveAccepted>("stop-during-save-accepted", "STOP-07"),
                Variant::of::<v::StopHitsWhateverRuns>("stop-hits-whatever-runs", "STOP-13"),
            ],
        )
    },
    Scenario {
        init: SPEAKING_RUN,
        budget: Budget { stops: 3, drops: 0, ..SMALL },
        ..explored(
            "RACE-17",
            "two-stops",
            &[Variant::of::<v::RepeatInterrupts>("repeat-interrupts", "STOP-08")],
        )
    },
    Scenario {
        init: SPEAKING_RUN,
        conditions: WEDGING,
        ..explored(
            "RACE-18",
            "wedged-worker-unfinished-journal",
            &[
                Variant::of::<v::AnsweredBeforeSettled>("answered-before-settled", "STOP-04"),
                Variant::of::<v::RecoveryToldEarly>("recovery-told-early", "STOP-06"),
                Variant::of::<v::FailedSaveDropsClaim>("failed-save-drops-claim", "INV-LIVE"),
            ],
        )
    },
    Scenario {
        init: &[ADMITTED, RUN_SHOWN, LAUNCH, BEGUN, CONSTRUCTED, REGISTERED, INVOKED],
        budget: Budget { clients: 0, events: 0, ..SMALL },
        conditions: WATCHED,
        ..explored(
            "RACE-20",
            "stop-from-the-session-list",
            &[
                Variant::around("stops-session-on-screen", "STOP-19", Fault::StopsSessionOnScreen),
                Variant::around("stopped-shown-idle", "STOP-19", Fault::StoppedShownIdle),
            ],
        )
    },
    Scenario {
        init: &[ADMITTED, LAUNCH, BEGUN, CONSTRUCTED, REGISTERED, INVOKED, FIRST_THOUGHT],
        conditions: Conditions { agents_think: true, ..Conditions::PLAIN },
        ..explored(
            "RACE-21",
            "stop-before-any-visible-text",
            &[Variant::around("partial-needs-text", "INV-TEXT", Fault::PartialNeedsText)],
        )
    },
];
