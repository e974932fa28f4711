//! The list, by the chapters of the catalogue.

mod completion;
mod endings;
mod journal;
mod queue;
mod start_up;
mod steers;
mod steps;
mod successors;
mod wakeups;

use super::{Scenario, Variant};
use crate::explore::{Budget, Conditions};
use crate::race::Ring;

/// All scenarios, in the order of the catalogue.
pub const ALL: &[Scenario] = &joined::<LENGTH>(CHAPTERS);

const CHAPTERS: &[&[Scenario]] = &[
    start_up::SCENARIOS,
    completion::SCENARIOS,
    successors::SCENARIOS,
    journal::SCENARIOS,
    wakeups::SCENARIOS,
    steers::SCENARIOS,
    &[queue::RACE_75, queue::RACE_77],
    endings::SCENARIOS,
];

const LENGTH: usize = {
    let mut length = 0;
    let mut chapter = 0;
    while chapter < CHAPTERS.len() {
        length += CHAPTERS[chapter].len();
        chapter += 1;
    }
    length
};

/// One more client, one row, one Stop, one fault and one crash.
const SMALL: Budget = Budget { clients: 1, events: 1, stops: 1, drops: 1, crashes: 1 };

const STALLING: Conditions = Conditions { workers_stall: true, ..Conditions::PLAIN };
const WEDGING: Conditions = Conditions { agents_wedge: true, ..Conditions::PLAIN };
const QUEUEING: Conditions = Conditions { queues: true, ..Conditions::PLAIN };
const STEERING: Conditions = Conditions { steers: true, ..Conditions::PLAIN };
const WATCHED: Conditions = Conditions { screens: true, ..Conditions::PLAIN };
const WAKING: Conditions = Conditions { wakeups: true, ..Conditions::PLAIN };
const SHARED: Conditions = Conditions { shared: true, ..Conditions::PLAIN };

const fn explored(id: &'static str, name: &'static str, variants: &'static [Variant]) -> Scenario {
    Scenario {
        name,
        id,
        rings: &[Ring::Explore],
        variants,
        init: &[],
        budget: SMALL,
        conditions: Conditions::PLAIN,
    }
}

const fn joined<const N: usize>(chapters: &[&[Scenario]]) -> [Scenario; N] {
    let mut all = [chapters[0][0]; N];
    let (mut next, mut chapter) = (0, 0);
    while chapter < chapters.len() {
        let mut index = 0;
        while index < chapters[chapter].len() {
            all[next] = chapters[chapter][index];
            next += 1;
            index += 1;
        }
        chapter += 1;
    }
    all
}
