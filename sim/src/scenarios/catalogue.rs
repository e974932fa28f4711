//! The list.

use super::{Scenario, Variant};
use crate::explore::{Budget, Conditions};
use crate::race::Ring;
use crate::variants as v;

/// All scenarios, in the order of the catalogue.
pub const ALL: &[Scenario] = &[
    Scenario {
        init: &[LAUNCHED],
        ..explored(
            "RACE-01",
            "stop-between-launch-and-the-worker-s-first-step",
            &[Variant::of::<v::BeginUnchecked>("begin-unchecked", "REG-01")],
        )
    },
    Scenario {
        init: &[LAUNCHED, BEGUN],
        ..explored(
            "RACE-02",
            "stop-while-the-agent-is-constructed",
            &[Variant::of::<v::RegistrationUnchecked>("registration-unchecked", "INV-REG")],
        )
    },
    Scenario {
        init: &[LAUNCHED, BEGUN, CONSTRUCTED],
        ..explored(
            "RACE-03",
            "check-first-publish-later",
            &[Variant::of::<v::PublishedWhenRefused>("published-when-refused", "INV-OWN")],
        )
    },
    Scenario {
        init: &[LAUNCHED, BEGUN, CONSTRUCTED, REGISTERED],
        ..explored(
            "RACE-04",
            "stop-between-registration-and-invocation",
            &[Variant::of::<v::InvocationUnchecked>("invocation-unchecked", "INV-REG")],
        )
    },
    Scenario {
        init: &[LAUNCHED, BEGUN, CONSTRUCTED, REGISTERED, INVOKED, AGENT_LOST],
        conditions: DYING,
        ..explored(
            "RACE-05",
            "stop-during-self-heal",
            &[
                Variant::of::<v::RegistrationUnchecked>("registration-unchecked", "INV-REG"),
                Variant::of::<v::RebuiltAfterOutput>("rebuilt-after-output", "INV-TEXT"),
            ],
        )
    },
    Scenario {
        init: &[LAUNCHED, BEGUN, CONSTRUCTED, REGISTERED, INVOKED, COMPLETED, SECOND_LAUNCHED],
        ..explored(
            "RACE-06",
            "a-rejected-worker-and-its-borrowed-agent",
            &[Variant::of::<v::BorrowedAgentCleanedUp>("borrowed-agent-cleaned-up", "INV-OWN")],
        )
    },
    Scenario {
        init: &[LAUNCHED, BEGUN, CONSTRUCTED, REGISTERED],
        conditions: STALLING,
        ..explored(
            "RACE-07",
            "same-agent-object-another-owner",
            &[Variant::of::<v::RetiredByAgentObject>("retired-by-agent-object", "INV-OWN")],
        )
    },
    Scenario {
        init: &[LAUNCHED, BEGUN, CONSTRUCTED, REGISTERED],
        conditions: STALLING,
        ..explored(
            "RACE-08",
            "absent-owner",
            &[Variant::of::<v::AbsentOwnerPermits>("absent-owner-permits", "INV-OWN")],
        )
    },
    Scenario {
        init: &[LAUNCHED, BEGUN, CONSTRUCTED, REGISTERED, INVOKED, COMPLETED],
        ..explored(
            "RACE-16",
            "stop-after-the-settlement",
            &[Variant::of::<v::SettledStopAccepted>("settled-stop-accepted", "STOP-06")],
        )
    },
    Scenario {
        init: INVOKED_RUN,
        budget: Budget { stops: 3, drops: 0, ..SMALL },
        ..explored(
            "RACE-17",
            "two-stops",
            &[Variant::of::<v::RepeatInterrupts>("repeat-interrupts", "STOP-08")],
        )
    },
    Scenario {
        init: INVOKED_RUN,
        conditions: WEDGING,
        ..explored(
            "RACE-18",
            "wedged-worker-unfinished-journal",
            &[
                Variant::of::<v::AnsweredBeforeSettled>("answered-before-settled", "STOP-04"),
                Variant::of::<v::RecoveryToldEarly>("recovery-told-early", "STOP-06"),
            ],
        )
    },
    Scenario {
        init: INVOKED_RUN,
        budget: Budget { clients: 2, drops: 0, ..SMALL },
        ..explored(
            "RACE-24",
            "stop-and-send-at-once",
            &[Variant::of::<v::CancellingRowIgnored>("cancelling-row-ignored", "ADM-02")],
        )
    },
    Scenario {
        init: INVOKED_RUN,
        conditions: WEDGING,
        budget: Budget { clients: 2, drops: 0, ..SMALL },
        ..explored(
            "RACE-25",
            "wedged-worker-and-the-window",
            &[Variant::of::<v::RowNeverReclaimed>("row-never-reclaimed", "INV-LIVE")],
        )
    },
    Scenario {
        budget: Budget { clients: 2, ..SMALL },
        ..explored(
            "RACE-35",
            "simultaneous-starts",
            &[Variant::of::<v::SecondStartReplacesFirst>("second-start-replaces-first", "ADM-09")],
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
        init: &[LAUNCHED, BEGUN, CONSTRUCTED, REGISTERED, INVOKED, FIRST_ROW],
        budget: Budget { events: 2, ..SMALL },
        ..explored(
            "RACE-87",
            "append-in-flight-at-stop",
            &[
                Variant::of::<v::SettledBeforeAppendAnswered>(
                    "settled-before-append-answered",
                    "STOP-22",
                ),
                Variant::of::<v::WaitingRowsSurviveStop>("waiting-rows-survive-stop", "STOP-22"),
                Variant::of::<v::ReturnedWorkerForgotten>("returned-worker-forgotten", "INV-LIVE"),
            ],
        )
    },
    Scenario {
        init: INVOKED_RUN,
        ..explored(
            "RACE-89",
            "teardown-that-hangs-after-the-settlement",
            &[Variant::of::<v::RowWaitsForTeardown>("row-waits-for-teardown", "INV-LIVE")],
        )
    },
    Scenario {
        init: INVOKED_RUN,
        budget: Budget { stops: 2, ..SMALL },
        ..explored(
            "RACE-92",
            "agent-that-ignores-stop",
            &[Variant::of::<v::InterruptedOnce>("interrupted-once", "INV-LIVE")],
        )
    },
];

/// One more client, one row, one Stop, one fault and one crash.
const SMALL: Budget = Budget { clients: 1, events: 1, stops: 1, drops: 1, crashes: 1 };

const PROMPT: Conditions =
    Conditions { workers_stall: false, agents_wedge: false, agents_die: false };
const STALLING: Conditions = Conditions { workers_stall: true, ..PROMPT };
const WEDGING: Conditions = Conditions { agents_wedge: true, ..PROMPT };
const DYING: Conditions = Conditions { agents_die: true, ..PROMPT };

const LAUNCHED: &[&str] = &[
    "client-a send start(run_1)",
    "store answer admitted(run_1)",
    "worker-1 answer launched(run_1)",
];
const BEGUN: &[&str] = &["worker-1 answer began(run_1)"];
const CONSTRUCTED: &[&str] = &["worker-1 answer constructed(run_1)"];
const REGISTERED: &[&str] = &["worker-1 answer registration_asked(run_1)"];
const INVOKED: &[&str] = &["worker-1 answer invocation_asked(run_1)"];
const AGENT_LOST: &[&str] = &["agent-1 fault lost(run_1)"];
const FIRST_ROW: &[&str] = &["agent-1 emit text(run_1)", "store answer persisted(run_1)"];
const COMPLETED: &[&str] = &["agent-1 emit completed(run_1)", "store answer settled(run_1)"];
const SECOND_LAUNCHED: &[&str] = &[
    "client-b send start(run_2)",
    "store answer admitted(run_2)",
    "worker-2 answer launched(run_2)",
];
const INVOKED_RUN: &[&[&str]] = &[LAUNCHED, BEGUN, CONSTRUCTED, REGISTERED, INVOKED, FIRST_ROW];

const fn explored(id: &'static str, name: &'static str, variants: &'static [Variant]) -> Scenario {
    Scenario {
        name,
        id,
        rings: &[Ring::Explore],
        variants,
        init: &[],
        budget: SMALL,
        conditions: PROMPT,
    }
}
