//! Steers: RACE-71 to RACE-74.

use super::super::{Scenario, Variant};
use super::steps::{
    ADMITTED, AGENT_LOST, BEGUN, CONSTRUCTED, INVOKED, INVOKED_RUN, LAUNCH, LAUNCHED_RUN,
    REGISTERED, STEER_SENT, STEERED,
};
use super::{SMALL, STEERING, explored};
use crate::explore::{Budget, Conditions, Fault};
use crate::variants as v;

pub(super) const SCENARIOS: &[Scenario] = &[
    Scenario {
        init: INVOKED_RUN,
        budget: Budget { clients: 2, events: 0, drops: 0, ..SMALL },
        conditions: STEERING,
        ..explored(
            "RACE-71",
            "steer-after-the-last-drain",
            &[
                Variant::of::<v::BoxOpenBehindDrain>("box-open-behind-drain", "STR-03"),
                Variant::of::<v::ReturnedUnlisted>("returned-unlisted", "STR-07"),
            ],
        )
    },
    Scenario {
        init: &[ADMITTED, LAUNCH, BEGUN, CONSTRUCTED, REGISTERED, INVOKED, STEERED],
        budget: Budget { clients: 0, events: 0, ..SMALL },
        conditions: Conditions { agents_die: true, ..STEERING },
        ..explored(
            "RACE-72",
            "steer-and-a-failing-call",
            &[Variant::of::<v::OnlySuccessSettles>("only-success-settles", "STR-04")],
        )
    },
    Scenario {
        init: LAUNCHED_RUN,
        budget: Budget { events: 0, ..SMALL },
        conditions: STEERING,
        ..explored(
            "RACE-73",
            "a-steer-that-fails",
            &[
                Variant::around("falls-back-to-stop", "STR-02", Fault::FallsBackToStop),
                Variant::of::<v::BoxOpenBeforeCall>("box-open-before-call", "STR-01"),
            ],
        )
    },
    Scenario {
        init: &[ADMITTED, LAUNCH, BEGUN, CONSTRUCTED, REGISTERED, INVOKED, STEER_SENT, AGENT_LOST],
        budget: Budget { clients: 0, drops: 0, ..SMALL },
        conditions: Conditions { agents_die: true, ..STEERING },
        ..explored(
            "RACE-74",
            "three-parties-three-holds",
            &[Variant::of::<v::RegistrationWaitsForAppend>(
                "registration-waits-for-append",
                "INV-LIVE",
            )],
        )
    },
];
