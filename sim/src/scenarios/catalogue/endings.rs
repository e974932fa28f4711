//! Appends in flight, endings by the server, questions, keys: RACE-87 to RACE-98.

use runwarden_protocol::journal::row::Reason;

use super::super::{Scenario, Variant};
use super::queue::{RACE_88, RACE_94, RACE_97};
use super::steps::{
    ADMITTED, BEGUN, CONNECTION_LOST, CONSTRUCTED, FIRST_QUESTION, INVOKED, INVOKED_RUN, LAUNCH,
    REGISTERED, RETURNED, SETTLED, SPEAKING_RUN,
};
use super::{SMALL, explored};
use crate::explore::{Budget, Conditions, Fault, Oddity};
use crate::variants as v;

pub(super) const SCENARIOS: &[Scenario] = &[
    Scenario {
        init: SPEAKING_RUN,
        budget: Budget { events: 2, ..SMALL },
        conditions: Conditions { appends_unknown: true, ..Conditions::PLAIN },
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
                Variant::around(
                    "unknown-counts-as-failed",
                    "INV-SEQ",
                    Fault::UnknownCountsAsFailed,
                ),
            ],
        )
    },
    RACE_88,
    Scenario {
        init: SPEAKING_RUN,
        ..explored(
            "RACE-89",
            "teardown-that-hangs-after-the-settlement",
            &[Variant::of::<v::RowWaitsForTeardown>("row-waits-for-teardown", "INV-LIVE")],
        )
    },
    Scenario {
        init: SPEAKING_RUN,
        budget: Budget { crashes: 2, ..SMALL },
        ..explored(
            "RACE-90",
            "restart-inside-the-grace",
            &[Variant::around("young-turn-left-alone", "INV-LIVE", Fault::YoungTurnLeftAlone)],
        )
    },
    Scenario {
        init: SPEAKING_RUN,
        budget: Budget { stops: 2, ..SMALL },
        ..explored(
            "RACE-92",
            "agent-that-ignores-stop",
            &[
                Variant::of::<v::InterruptedOnce>("interrupted-once", "INV-LIVE"),
                Variant::of::<v::NeverInterrupted>("never-interrupted", "REG-11"),
            ],
        )
    },
    Scenario {
        init: SPEAKING_RUN,
        budget: Budget { stops: 2, ..SMALL },
        conditions: Conditions { server_ends: Some(Reason::Shutdown), ..Conditions::PLAIN },
        ..explored(
            "RACE-93",
            "shutdown-with-an-active-run",
            &[
                Variant::of::<v::EndingCalledCancelled>("ending-called-cancelled", "STOP-21"),
                Variant::of::<v::EndNeverShown>("end-never-shown", "STOP-15"),
            ],
        )
    },
    RACE_94,
    Scenario {
        init: &[ADMITTED, LAUNCH, BEGUN, CONSTRUCTED, REGISTERED, INVOKED, FIRST_QUESTION],
        budget: Budget { clients: 0, ..SMALL },
        conditions: Conditions { agents_ask: true, ..Conditions::PLAIN },
        ..explored(
            "RACE-95",
            "question-and-a-lost-connection",
            &[
                Variant::around("loss-answers", "ASK-07", Fault::LossAnswers),
                Variant::of::<v::AnsweredStaysOpen>("answered-stays-open", "ASK-03"),
                Variant::of::<v::OpenBehindStop>("open-behind-stop", "ASK-04"),
                Variant::of::<v::OpenBehindEnd>("open-behind-end", "ASK-05"),
            ],
        )
    },
    Scenario {
        init: &[
            ADMITTED,
            CONNECTION_LOST,
            LAUNCH,
            BEGUN,
            CONSTRUCTED,
            REGISTERED,
            INVOKED,
            RETURNED,
            SETTLED,
        ],
        budget: Budget { clients: 3, events: 0, stops: 0, ..SMALL },
        conditions: Conditions { keyed: true, ..Conditions::PLAIN },
        ..explored(
            "RACE-96",
            "a-refused-key-used-again",
            &[Variant::around("key-freed-by-loss", "ADM-13", Fault::KeyFreedByLoss)],
        )
    },
    RACE_97,
    Scenario {
        init: INVOKED_RUN,
        conditions: Conditions { oddity: Some(Oddity::NearlyFullJournal), ..Conditions::PLAIN },
        ..explored(
            "RACE-98",
            "a-journal-that-is-full",
            &[Variant::of::<v::EndingCalledCancelled>("ending-called-cancelled", "STOP-21")],
        )
    },
];
