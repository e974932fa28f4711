//! Steer, queue, send: RACE-71 to RACE-77; heads that fail, and messages behind a Stop.

use super::super::{Scenario, Variant};
use super::steps::{
    ADMITTED, BEGUN, CONSTRUCTED, INVOKED, LAUNCH, REGISTERED, RETURNED, SECOND_QUEUED, SETTLED,
};
use super::{QUEUEING, SMALL, WATCHED, explored};
use crate::explore::{Budget, Conditions, Fault};
use crate::variants as v;

pub(super) const RACE_75: Scenario = Scenario {
    init: &[ADMITTED, LAUNCH, BEGUN, CONSTRUCTED, REGISTERED, INVOKED],
    budget: Budget { clients: 2, events: 0, stops: 0, drops: 0, ..SMALL },
    conditions: QUEUEING,
    ..explored(
        "RACE-75",
        "queue-and-the-session-on-screen",
        &[
            Variant::of::<v::IdleStartsNothing>("idle-starts-nothing", "STR-12"),
            Variant::of::<v::ConfirmedUnstored>("confirmed-unstored", "STR-09"),
            Variant::of::<v::RemovedBehindItsStart>("removed-behind-its-start", "LIFE-06"),
            Variant::around("head-removed-first", "INV-TEXT", Fault::HeadRemovedFirst),
            Variant::around("head-kept", "STR-10", Fault::HeadKept),
        ],
    )
};

pub(super) const RACE_77: Scenario = Scenario {
    budget: Budget { clients: 2, events: 0, stops: 0, ..SMALL },
    conditions: WATCHED,
    ..explored(
        "RACE-77",
        "submit-against-an-older-observation",
        &[
            Variant::around("list-clears-turn", "OBS-07", Fault::ListClearsTurn),
            Variant::around("own-flag-holds", "OBS-07", Fault::OwnFlagHolds),
            Variant::around("repeated-under-new-key", "ADM-13", Fault::RepeatedUnderNewKey),
        ],
    )
};

pub(super) const RACE_88: Scenario = Scenario {
    init: &[
        ADMITTED,
        LAUNCH,
        BEGUN,
        CONSTRUCTED,
        REGISTERED,
        INVOKED,
        SECOND_QUEUED,
        RETURNED,
        SETTLED,
    ],
    budget: Budget { clients: 1, events: 0, stops: 0, ..SMALL },
    conditions: QUEUEING,
    ..explored(
        "RACE-88",
        "a-head-that-cannot-launch",
        &[
            Variant::of::<v::FailedHeadStartsAgain>("failed-head-starts-again", "STR-20"),
            Variant::of::<v::FailedHeadDropped>("failed-head-dropped", "INV-TEXT"),
            Variant::of::<v::StaleHeadWaits>("stale-head-waits", "STR-13"),
            Variant::of::<v::BusyHeadHolds>("busy-head-holds", "STR-13"),
            Variant::around("hold-forgotten", "STR-20", Fault::HoldForgotten),
        ],
    )
};

pub(super) const RACE_94: Scenario = Scenario {
    init: &[ADMITTED, LAUNCH, BEGUN, CONSTRUCTED, REGISTERED, INVOKED, SECOND_QUEUED],
    budget: Budget { events: 0, stops: 0, ..SMALL },
    conditions: Conditions { deletes: true, ..QUEUEING },
    ..explored(
        "RACE-94",
        "deleting-a-session-with-a-run",
        &[
            Variant::of::<v::DeletedBesideItsRun>("deleted-beside-its-run", "LIFE-01"),
            Variant::of::<v::DeletedStillKnown>("deleted-still-known", "LIFE-02"),
        ],
    )
};

pub(super) const RACE_97: Scenario = Scenario {
    init: &[ADMITTED, LAUNCH, BEGUN, CONSTRUCTED, REGISTERED, INVOKED, SECOND_QUEUED],
    budget: Budget { events: 0, drops: 0, ..SMALL },
    conditions: QUEUEING,
    ..explored(
        "RACE-97",
        "stop-with-messages-waiting",
        &[
            Variant::of::<v::StopLeavesQueue>("stop-leaves-queue", "STR-18"),
            Variant::of::<v::OvertakesQueue>("overtakes-queue", "ADM-17"),
            Variant::of::<v::HeldQueueStarts>("held-queue-starts", "STR-20"),
            Variant::of::<v::ResumeStartsNothing>("resume-starts-nothing", "LIFE-07"),
            Variant::of::<v::ResumedWhileBusy>("resumed-while-busy", "LIFE-03"),
        ],
    )
};
