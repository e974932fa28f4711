//! Journal and live stream, records that are read and written: RACE-43 to RACE-70.

use super::super::{Scenario, Variant};
use super::steps::{ADMITTED, INVOKED_RUN, SPEAKING_RUN};
use super::{SHARED, SMALL, explored};
use crate::explore::{Budget, Conditions, Fault};
use crate::variants as v;

pub(super) const SCENARIOS: &[Scenario] = &[
    Scenario {
        init: INVOKED_RUN,
        budget: Budget { events: 3, ..SMALL },
        ..explored(
            "RACE-43",
            "reserved-number-late-write",
            &[Variant::around("number-taken-early", "INV-SEQ", Fault::NumberTakenEarly)],
        )
    },
    Scenario {
        init: SPEAKING_RUN,
        conditions: Conditions { deletes: true, ..Conditions::PLAIN },
        ..explored(
            "RACE-46",
            "journal-deleted-under-its-writer",
            &[Variant::around("journal-made-anew", "JRN-12", Fault::JournalMadeAnew)],
        )
    },
    Scenario {
        init: &[ADMITTED],
        budget: Budget { clients: 0, ..SMALL },
        conditions: SHARED,
        ..explored(
            "RACE-62",
            "a-starting-turn-taken-for-a-dead-one",
            &[
                Variant::around("grace-ignored", "RST-03", Fault::GraceIgnored),
                Variant::around("lease-ignored", "RST-01", Fault::LeaseIgnored),
            ],
        )
    },
    Scenario {
        init: INVOKED_RUN,
        budget: Budget { events: 0, drops: 0, ..SMALL },
        conditions: Conditions { changes: true, ..Conditions::PLAIN },
        ..explored(
            "RACE-69",
            "a-session-object-that-grew-old",
            &[
                Variant::around("old-copy-saved", "OWN-03", Fault::OldCopySaved),
                Variant::of::<v::AgentChangedWhileBusy>("agent-changed-while-busy", "LIFE-03"),
            ],
        )
    },
];
