//! Stop against start-up and registration: RACE-01 to RACE-15.

use super::super::{Scenario, Variant};
use super::steps::{
    ADMITTED, AGENT_LOST, BEGUN, CONSTRUCTED, INVOKED, INVOKED_RUN, LAUNCH, LAUNCHED_RUN,
    REGISTERED, REGISTERED_RUN, RETURNED, SECOND_ADMITTED, SECOND_INVOKED, SECOND_LAUNCH,
    SECOND_REFUSED, SETTLED, SPEAKING_RUN, STOPPED, THIRD_INVOKED, WINDOW_OVER,
};
use super::{SMALL, STALLING, explored};
use crate::explore::{Budget, Conditions, Fault, Oddity};
use crate::variants as v;

pub(super) const SCENARIOS: &[Scenario] = &[
    Scenario {
        init: LAUNCHED_RUN,
        ..explored(
            "RACE-01",
            "stop-between-launch-and-the-worker-s-first-step",
            &[Variant::of::<v::BeginUnchecked>("begin-unchecked", "REG-01")],
        )
    },
    Scenario {
        init: &[ADMITTED, LAUNCH, BEGUN],
        ..explored(
            "RACE-02",
            "stop-while-the-agent-is-constructed",
            &[Variant::of::<v::RegistrationUnchecked>("registration-unchecked", "INV-REG")],
        )
    },
    Scenario {
        init: &[ADMITTED, LAUNCH, BEGUN, CONSTRUCTED],
        ..explored(
            "RACE-03",
            "check-first-publish-later",
            &[Variant::of::<v::PublishedWhenRefused>("published-when-refused", "INV-OWN")],
        )
    },
    Scenario {
        init: REGISTERED_RUN,
        ..explored(
            "RACE-04",
            "stop-between-registration-and-invocation",
            &[
                Variant::of::<v::InvocationUnchecked>("invocation-unchecked", "INV-REG"),
                Variant::of::<v::UninvokedInterrupted>("uninvoked-interrupted", "REG-08"),
            ],
        )
    },
    Scenario {
        init: &[ADMITTED, LAUNCH, BEGUN, CONSTRUCTED, REGISTERED, INVOKED, AGENT_LOST],
        conditions: Conditions { agents_die: true, ..Conditions::PLAIN },
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
        init: &[
            ADMITTED,
            LAUNCH,
            BEGUN,
            CONSTRUCTED,
            REGISTERED,
            INVOKED,
            RETURNED,
            SETTLED,
            SECOND_ADMITTED,
            SECOND_LAUNCH,
        ],
        ..explored(
            "RACE-06",
            "a-rejected-worker-and-its-borrowed-agent",
            &[Variant::of::<v::BorrowedAgentCleanedUp>("borrowed-agent-cleaned-up", "INV-OWN")],
        )
    },
    Scenario {
        init: &[ADMITTED, LAUNCH, BEGUN, CONSTRUCTED, REGISTERED, STOPPED, SETTLED, WINDOW_OVER],
        conditions: STALLING,
        ..explored(
            "RACE-07",
            "same-agent-object-another-owner",
            &[Variant::of::<v::RetiredByAgentObject>("retired-by-agent-object", "INV-OWN")],
        )
    },
    Scenario {
        init: &[
            ADMITTED,
            LAUNCH,
            BEGUN,
            CONSTRUCTED,
            REGISTERED,
            STOPPED,
            SETTLED,
            WINDOW_OVER,
            SECOND_ADMITTED,
            SECOND_LAUNCH,
            SECOND_INVOKED,
        ],
        conditions: STALLING,
        ..explored(
            "RACE-08",
            "absent-owner",
            &[Variant::of::<v::AbsentOwnerPermits>("absent-owner-permits", "INV-OWN")],
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
            RETURNED,
            SETTLED,
            SECOND_ADMITTED,
            SECOND_LAUNCH,
            SECOND_REFUSED,
            WINDOW_OVER,
            THIRD_INVOKED,
        ],
        budget: Budget { events: 0, stops: 0, drops: 0, ..SMALL },
        conditions: Conditions { steers: true, ..STALLING },
        ..explored(
            "RACE-09",
            "the-old-worker-s-last-drain",
            &[Variant::around("drains-by-agent", "STR-05", Fault::DrainsByAgent)],
        )
    },
    Scenario {
        init: LAUNCHED_RUN,
        ..explored(
            "RACE-10",
            "session-looked-up-after-removal",
            &[Variant::of::<v::SessionLookedUpLate>("session-looked-up-late", "INV-LIVE")],
        )
    },
    Scenario {
        init: SPEAKING_RUN,
        ..explored(
            "RACE-11",
            "the-interrupt-wakes-the-teardown-first",
            &[Variant::around("partial-copied-late", "INV-TEXT", Fault::PartialCopiedLate)],
        )
    },
    Scenario {
        init: INVOKED_RUN,
        conditions: Conditions { oddity: Some(Oddity::NoChannel), ..Conditions::PLAIN },
        ..explored(
            "RACE-12",
            "stop-of-a-run-without-a-channel",
            &[Variant::of::<v::ChannelSearchedOnly>("channel-searched-only", "STOP-03")],
        )
    },
    Scenario {
        init: LAUNCHED_RUN,
        ..explored(
            "RACE-13",
            "early-stop-and-the-turn-journal",
            &[Variant::around("unstarted-turn-left-open", "TRN-03", Fault::UnstartedTurnLeftOpen)],
        )
    },
    Scenario {
        init: SPEAKING_RUN,
        ..explored(
            "RACE-14",
            "slow-finalisation-inside-a-decision",
            &[Variant::of::<v::DecisionWaitsForSave>("decision-waits-for-save", "REG-12")],
        )
    },
];
