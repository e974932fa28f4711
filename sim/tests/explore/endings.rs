//! Appends in flight, endings by the server, questions, keys.

use runwarden_sim::explore::{Budget, STATES_MAX};

use crate::{holds_and_catches, scenario};

/// STOP-22 [explore]: the append in flight is answered before the terminal is issued.
#[test]
fn race_87() {
    holds_and_catches("RACE-87");
}

/// STOP-05 [explore]: what waited at the Stop is never issued.
#[test]
fn rows_that_waited_at_the_stop_are_not_stored() {
    let scenario = scenario("RACE-87");
    let budget = Budget { drops: 0, crashes: 0, ..scenario.budget };
    let variant = scenario.variant("waiting-rows-survive-stop");
    let found = scenario.explore(variant, budget, STATES_MAX);
    assert_eq!(found.broken.map(|broken| broken.rule), Some("STOP-05"));
    assert_eq!(scenario.explore(None, budget, STATES_MAX).broken, None);
}

/// OWN-14 [explore]: the row goes in the step that learns of the settlement.
#[test]
fn race_89() {
    holds_and_catches("RACE-89");
}

/// RST-01 [explore]: a run found at the start is settled before anything else, however young.
#[test]
fn race_90() {
    holds_and_catches("RACE-90");
}

/// REG-11 [explore]: a stopped call is interrupted, once.
#[test]
fn race_92() {
    holds_and_catches("RACE-92");
}

/// STOP-15 [explore], STOP-21 [explore]: a run that the server ends is shown with the outcome its rule names.
#[test]
fn race_93() {
    holds_and_catches("RACE-93");
}

/// ASK-03 [explore], ASK-04 [explore], ASK-05 [explore], ASK-07 [explore]: a question is resolved once, by its
/// answer, its time, the Stop or the end of its run, and not by a lost connection.
#[test]
fn race_95() {
    holds_and_catches("RACE-95");
}

#[test]
fn race_96() {
    holds_and_catches("RACE-96");
}

#[test]
fn race_98() {
    holds_and_catches("RACE-98");
}
