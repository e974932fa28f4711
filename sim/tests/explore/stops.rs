//! Stop against completion, and what Stop keeps.

use crate::holds_and_catches;

/// STOP-06 [explore], STOP-07 [explore], STOP-13 [explore]: a Stop behind the settlement is told the outcome, one
/// beside it is held, and neither touches another run.
#[test]
fn race_16() {
    holds_and_catches("RACE-16");
}

#[test]
fn race_17() {
    holds_and_catches("RACE-17");
}

/// STOP-04 [explore], OWN-11 [explore]: a Stop is answered when its terminal is stable, and its claim outlives a
/// save that failed.
#[test]
fn race_18() {
    holds_and_catches("RACE-18");
}

#[test]
fn race_20() {
    holds_and_catches("RACE-20");
}

#[test]
fn race_21() {
    holds_and_catches("RACE-21");
}
