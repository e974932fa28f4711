//! One test for each scenario.

use crate::holds_and_catches;

/// RST-04 [sim]: a partial answer is stored once and above its marker, whether the canceller or
/// recovery settles its run, and however often recovery comes by.
#[test]
fn race_23() {
    holds_and_catches("RACE-23");
}
