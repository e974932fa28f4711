//! Rules that no race of the catalogue shows: each searched in a small world of its own.

use runwarden_protocol::run::guards::Rules;
use runwarden_sim::explore::{Budget, Conditions, Fault, Limits, STATES_MAX, World, search};

use crate::page::BESIDE;

/// A wrong behaviour that is none of a scenario's variants.
struct Beside {
    rule: &'static str,
    name: &'static str,
    fault: Fault,
    conditions: Conditions,
    budget: Budget,
}

const SLOTS: Conditions = Conditions { slots: true, queues: true, ..Conditions::PLAIN };
const READS: Conditions = Conditions { reads: true, ..Conditions::PLAIN };
const SAVES: Conditions =
    Conditions { workers_save: true, agents_wedge: true, ..Conditions::PLAIN };
const BUSY: Budget = Budget { clients: 4, events: 0, stops: 0, drops: 0, crashes: 1 };
const ONE_RUN: Budget = Budget { clients: 1, events: 2, stops: 1, drops: 0, crashes: 1 };

const fn beside(
    rule: &'static str,
    name: &'static str,
    fault: Fault,
    conditions: Conditions,
    budget: Budget,
) -> Beside {
    Beside { rule, name, fault, conditions, budget }
}

const ALL: [Beside; 5] = [
    beside("LIM-03", "slots-uncounted", Fault::SlotsUncounted, SLOTS, BUSY),
    beside("LIM-03", "freed-slot-wakes-nobody", Fault::FreedSlotWakesNobody, SLOTS, BUSY),
    beside("JRN-08", "second-terminal-taken", Fault::SecondTerminalTaken, SAVES, ONE_RUN),
    beside("JRN-15", "cursor-at-end", Fault::CursorAtEnd, READS, ONE_RUN),
    beside("JRN-15", "more-unsaid", Fault::MoreUnsaid, READS, ONE_RUN),
];

fn holds_and_catches(rule: &str) {
    let limits = Limits::states(STATES_MAX);
    let mut caught = 0;
    for beside in ALL.iter().filter(|beside| beside.rule == rule) {
        if caught == 0 {
            let held = search(&World::<Rules>::new(beside.conditions, beside.budget), &limits);
            assert!(held.broken.is_none() && held.exhaustive, "{rule}: {held:#?}");
            assert!(held.states > 500, "{rule}: {held:#?}");
        }
        let conditions = Conditions { fault: Some(beside.fault), ..beside.conditions };
        let found = search(&World::<Rules>::new(conditions, beside.budget), &limits);
        let broken = found.broken.as_ref().map(|broken| broken.rule);
        assert_eq!(broken, Some(rule), "{}: {found:#?}", beside.name);
        caught += 1;
    }
    assert!(caught > 0, "{rule} is in the list");
}

/// LIM-03 [explore]: no more runs than slots have a row, and a freed slot goes to whoever waits for it longest.
#[test]
fn lim_03() {
    holds_and_catches("LIM-03");
}

/// JRN-08 [explore]: behind the terminal that stands, a worker that was left behind brings no other one.
#[test]
fn jrn_08() {
    holds_and_catches("JRN-08");
}

/// JRN-15 [explore]: a reader that follows the cursors of its pages beside the writer has every row once, and is told
/// while rows remain.
#[test]
fn jrn_15() {
    holds_and_catches("JRN-15");
}

#[test]
fn the_page_names_what_is_searched() {
    assert_eq!(ALL.map(|beside| (beside.rule, beside.name)), BESIDE);
}
