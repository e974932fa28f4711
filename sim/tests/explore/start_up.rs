//! Stop against start-up and registration.

use crate::holds_and_catches;

/// REG-01 [explore]: a worker whose run was stopped does not begin.
#[test]
fn race_01() {
    holds_and_catches("RACE-01");
}

/// REG-03 [explore]: an agent is not registered after the Stop that came during its construction.
#[test]
fn race_02() {
    holds_and_catches("RACE-02");
}

/// REG-04 [explore]: a refused registration publishes nothing.
#[test]
fn race_03() {
    holds_and_catches("RACE-03");
}

/// REG-05 [explore], REG-08 [explore]: an agent is not invoked after the Stop that came during preparation,
/// and nobody interrupts it.
#[test]
fn race_04() {
    holds_and_catches("RACE-04");
}

/// REG-03 [explore], REG-05 [explore], REG-09 [explore]: a rebuilt agent passes both gates again; after
/// a Stop it is cleaned up and nobody is called.
#[test]
fn race_05() {
    holds_and_catches("RACE-05");
}

/// REG-09 [explore]: a borrowed agent is let go as it is.
#[test]
fn race_06() {
    holds_and_catches("RACE-06");
}

/// REG-06 [explore], OWN-02 [explore]: a refused worker retires nothing that its successor uses.
#[test]
fn race_07() {
    holds_and_catches("RACE-07");
}

/// REG-06 [explore], OWN-02 [explore]: without an owner nothing is retired.
#[test]
fn race_08() {
    holds_and_catches("RACE-08");
}

/// STOP-02 [explore], STOP-16 [explore]: the session of a stopped run is known without its worker, and an
/// early Stop is settled.
#[test]
fn race_10() {
    holds_and_catches("RACE-10");
}

#[test]
fn race_11() {
    holds_and_catches("RACE-11");
}

#[test]
fn race_12() {
    holds_and_catches("RACE-12");
}

/// TRN-03 [explore], STOP-16 [explore]: the turn of a run that was stopped before it began is closed.
#[test]
fn race_13() {
    holds_and_catches("RACE-13");
}

/// No decision waits for a save (REG-12).
#[test]
fn race_14() {
    holds_and_catches("RACE-14");
}
