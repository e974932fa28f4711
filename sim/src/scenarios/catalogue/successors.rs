//! Successor admission, fencing, reclamation: RACE-24 to RACE-42.

use super::super::{Scenario, Variant};
use super::steps::{
    ADMITTED, BEGUN, CONSTRUCTED, CRASHED, FIRST_ROW, INVOKED, LAUNCH, PRESSED, REGISTERED,
    SECOND_ADMITTED, SECOND_QUEUED, SETTLED, SPEAKING_RUN, STOPPED, TAKEN_OVER, WINDOW_OVER,
};
use super::{QUEUEING, SHARED, SMALL, WEDGING, explored};
use crate::explore::{Budget, Conditions, Fault};
use crate::variants as v;

pub(super) const SCENARIOS: &[Scenario] = &[
    Scenario {
        init: SPEAKING_RUN,
        budget: Budget { clients: 2, drops: 0, ..SMALL },
        ..explored(
            "RACE-24",
            "stop-and-send-at-once",
            &[
                Variant::of::<v::CancellingRowIgnored>("cancelling-row-ignored", "ADM-02"),
                Variant::of::<v::CancellingRowAttachable>("cancelling-row-attachable", "INV-9"),
                Variant::of::<v::StopReleasesOwner>("stop-releases-owner", "OWN-05"),
            ],
        )
    },
    Scenario {
        init: SPEAKING_RUN,
        conditions: WEDGING,
        budget: Budget { clients: 2, drops: 0, ..SMALL },
        ..explored(
            "RACE-25",
            "wedged-worker-and-the-window",
            &[
                Variant::of::<v::RowNeverReclaimed>("row-never-reclaimed", "INV-LIVE"),
                Variant::of::<v::ReclaimKeepsOwner>("reclaim-keeps-owner", "REC-04"),
            ],
        )
    },
    Scenario {
        init: &[ADMITTED, LAUNCH, BEGUN, CONSTRUCTED, REGISTERED, INVOKED, FIRST_ROW, STOPPED],
        conditions: Conditions { evicts: true, ..Conditions::PLAIN },
        ..explored(
            "RACE-26",
            "reclaim-by-age-alone",
            &[Variant::of::<v::EvictedWhileUsed>("evicted-while-used", "REG-13")],
        )
    },
    Scenario {
        init: SPEAKING_RUN,
        ..explored(
            "RACE-27",
            "long-run-stopped-just-now",
            &[
                Variant::of::<v::AgeFromStart>("age-from-start", "ADM-02"),
                Variant::of::<v::RunningRowIgnored>("running-row-ignored", "ADM-03"),
            ],
        )
    },
    Scenario {
        init: SPEAKING_RUN,
        conditions: WEDGING,
        ..explored(
            "RACE-31",
            "two-windows",
            &[Variant::of::<v::ShorterWindowShown>("shorter-window-shown", "INV-10")],
        )
    },
    Scenario {
        init: &[
            ADMITTED,
            LAUNCH,
            BEGUN,
            CONSTRUCTED,
            REGISTERED,
            INVOKED,
            STOPPED,
            SETTLED,
            PRESSED,
            WINDOW_OVER,
            SECOND_ADMITTED,
        ],
        budget: Budget { clients: 0, drops: 0, ..SMALL },
        conditions: Conditions { workers_save: true, ..WEDGING },
        ..explored(
            "RACE-32",
            "old-finaliser-over-a-successor-two-session-objects",
            &[Variant::around("saved-uncompared", "OWN-02", Fault::SavedUncompared)],
        )
    },
    Scenario {
        init: &[ADMITTED, LAUNCH, BEGUN, CONSTRUCTED, REGISTERED, INVOKED, TAKEN_OVER],
        budget: Budget { events: 0, drops: 0, ..SMALL },
        conditions: SHARED,
        ..explored(
            "RACE-33",
            "result-after-an-interruption",
            &[
                Variant::around("result-saved-over", "OWN-07", Fault::SavedUncompared),
                Variant::around("old-epoch-accepted", "JRN-14", Fault::OldEpochAccepted),
            ],
        )
    },
    Scenario {
        init: &[ADMITTED, LAUNCH, BEGUN, CONSTRUCTED, REGISTERED, INVOKED, SECOND_QUEUED],
        budget: Budget { events: 0, ..SMALL },
        conditions: Conditions { rotates: true, ..QUEUEING },
        ..explored(
            "RACE-34",
            "rotation-and-the-ownership-key",
            &[
                Variant::of::<v::OwnerLeftBehind>("owner-left-behind", "OWN-06"),
                Variant::of::<v::QueueForgotten>("queue-forgotten", "STR-19"),
            ],
        )
    },
    Scenario {
        budget: Budget { clients: 2, ..SMALL },
        ..explored(
            "RACE-35",
            "simultaneous-starts",
            &[
                Variant::of::<v::SecondStartReplacesFirst>("second-start-replaces-first", "ADM-09"),
                Variant::of::<v::ReservedWithoutOwner>("reserved-without-owner", "ADM-08"),
            ],
        )
    },
    Scenario {
        init: &[ADMITTED, LAUNCH, BEGUN, CONSTRUCTED, REGISTERED, INVOKED, CRASHED],
        budget: Budget { clients: 2, events: 0, drops: 0, ..SMALL },
        conditions: Conditions { recovers_late: true, ..Conditions::PLAIN },
        ..explored(
            "RACE-36",
            "stale-cleanup-against-a-fresh-start",
            &[Variant::around("cleared-uncompared", "REC-09", Fault::ClearedUncompared)],
        )
    },
    Scenario {
        budget: Budget { clients: 2, ..SMALL },
        ..explored(
            "RACE-38",
            "launch-failure",
            &[Variant::of::<v::LaunchFailureLeftBehind>("launch-failure-left-behind", "INV-LIVE")],
        )
    },
    Scenario {
        init: &[
            ADMITTED,
            LAUNCH,
            BEGUN,
            CONSTRUCTED,
            REGISTERED,
            INVOKED,
            FIRST_ROW,
            STOPPED,
            SETTLED,
        ],
        conditions: Conditions { evicts: true, ..WEDGING },
        ..explored(
            "RACE-41",
            "evictor-against-a-live-worker",
            &[Variant::of::<v::EvictedWhileUsed>("evicted-while-used", "REG-13")],
        )
    },
    Scenario {
        init: SPEAKING_RUN,
        ..explored(
            "RACE-42",
            "slow-teardown",
            &[Variant::of::<v::TeardownClosesShared>("teardown-closes-shared", "INV-OWN")],
        )
    },
];
