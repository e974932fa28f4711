//! Steers: to which run they belong, and what becomes of each.

use crate::holds_and_catches;

/// STR-05 [explore], REG-10 [explore]: a steer is read by the run it was given to, whoever else has its agent; a refused
/// worker that kept the agent it borrowed is caught at its last drain.
#[test]
fn race_09() {
    holds_and_catches("RACE-09");
}

/// STR-03 [explore]: a steer behind the last drain is refused.
#[test]
fn race_71() {
    holds_and_catches("RACE-71");
}

/// STR-04 [explore]: what was accepted is settled once, however its run ends.
#[test]
fn race_72() {
    holds_and_catches("RACE-72");
}

/// STR-01 [explore]: a steer is taken in phase `running` only, and a refused one has no effect.
#[test]
fn race_73() {
    holds_and_catches("RACE-73");
}

#[test]
fn race_74() {
    holds_and_catches("RACE-74");
}
