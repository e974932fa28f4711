//! The send queue: what waits, in which order it starts, and what holds it; the deletion of a session.

use crate::holds_and_catches;

/// STR-12 [explore], LIFE-06 [explore]: each trigger is one attempt, no message that may start waits for ever, and
/// what was removed has no turn.
#[test]
fn race_75() {
    holds_and_catches("RACE-75");
}

#[test]
fn race_77() {
    holds_and_catches("RACE-77");
}

#[test]
fn race_88() {
    holds_and_catches("RACE-88");
}

/// STR-18 [explore], ADM-17 [explore], LIFE-07 [explore]: a Stop holds what waits, a new message goes behind it, and
/// the end of the hold starts it.
#[test]
fn race_97() {
    holds_and_catches("RACE-97");
}

/// JRN-12 [explore]: a journal that is deleted takes no row of its writer.
#[test]
fn race_46() {
    holds_and_catches("RACE-46");
}

/// LIFE-01 [explore], LIFE-02 [explore], LIST-6 [explore]: a deletion stops the run it meets, is committed with its end
/// and beside no other commit, is answered behind that end, and nobody finds the session afterwards.
#[test]
fn race_94() {
    holds_and_catches("RACE-94");
}

/// STR-12 [explore]: each trigger is one attempt of the oldest wakeup, which is never lost, repeated, or started in
/// another session.
#[test]
fn race_70_wakeups() {
    holds_and_catches("RACE-70");
}
