//! Successor admission, fencing, reclamation; the journal.

use crate::holds_and_catches;

/// OWN-05 [explore]: a Stop does not give up ownership.
#[test]
fn race_24() {
    holds_and_catches("RACE-24");
}

/// REC-04 [explore]: reclamation takes row and ownership of its run in one step.
#[test]
fn race_25() {
    holds_and_catches("RACE-25");
}

#[test]
fn race_26() {
    holds_and_catches("RACE-26");
}

/// ADM-03 [explore]: a row that is not stopping blocks at any age.
#[test]
fn race_27() {
    holds_and_catches("RACE-27");
}

#[test]
fn race_31() {
    holds_and_catches("RACE-31");
}

/// OWN-03 [explore], OWN-07 [explore], REC-05 [explore]: the worker of a reclaimed run saves nothing, and every save
/// names the revision that the store holds.
#[test]
fn race_32() {
    holds_and_catches("RACE-32");
}

#[test]
fn race_33() {
    holds_and_catches("RACE-33");
}

/// OWN-06 [explore], STR-19 [explore]: a rotation moves ownership, pending turn and row with the run that asked for it,
/// and what waits, held, in its order.
#[test]
fn race_34() {
    holds_and_catches("RACE-34");
}

/// ADM-08 [explore], ADM-09 [explore]: of two starts at once one is admitted, with row and ownership in one step.
#[test]
fn race_35() {
    holds_and_catches("RACE-35");
}

/// REC-09 [explore]: recovery that comes back late finds another run, and leaves it alone.
#[test]
fn race_36() {
    holds_and_catches("RACE-36");
}

#[test]
fn race_38() {
    holds_and_catches("RACE-38");
}

#[test]
fn race_41() {
    holds_and_catches("RACE-41");
}

/// OWN-13 [explore]: the teardown of a settled run closes nothing that the next one uses.
#[test]
fn race_42() {
    holds_and_catches("RACE-42");
}

/// JRN-01 [explore]: rows are numbered by the answer of their batch alone.
#[test]
fn race_43() {
    holds_and_catches("RACE-43");
}

#[test]
fn race_62() {
    holds_and_catches("RACE-62");
}

/// LIFE-03 [explore]: a change of the agent is refused while no turn may start, and what waited is worked out anew.
#[test]
fn race_69() {
    holds_and_catches("RACE-69");
}
