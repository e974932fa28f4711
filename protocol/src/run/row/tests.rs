use super::{Input, Row, State};
use crate::instant::Instant;
use crate::laws::laws;
use crate::machine::{Machine, Outbox, Reject, Scope};
use crate::matrix::assert_matrix;
use proptest::prelude::*;

const INPUTS: [Input; 5] = [
    Input::InvocationAdmitted,
    Input::LastReturned,
    Input::ConstructionFailed,
    Input::StopAccepted,
    Input::Removed,
];

struct Everything;

impl Scope<Row> for Everything {
    fn inputs(&self, _row: &Row) -> Vec<Input> {
        INPUTS.to_vec()
    }
}

#[test]
fn the_laws_hold() {
    let report = laws(Row::reserved(Instant::ZERO), &Everything, 64).unwrap();
    assert_eq!(report.state_names.len(), 5, "every state is reached");
    assert_matrix!("run_row", &report.matrix);
}

proptest! {
    /// REC-11 [property]: no update brings a removed row back.
    #[test]
    fn an_update_never_creates_a_row(updates in prop::collection::vec(0..5_usize, 0..8)) {
        let mut row = Row::reserved(Instant::ZERO);
        let mut out = Outbox::new();
        row.step(Instant::ZERO, Input::Removed, &mut out).unwrap();
        for update in updates {
            let result = row.step(Instant::ZERO, INPUTS[update], &mut out);
            prop_assert_eq!(result, Err(Reject::Local("no_row")));
            prop_assert_eq!(row.state(), State::Absent);
        }
    }
}

#[test]
fn events_of_the_worker_are_discarded_once_a_stop_was_accepted() {
    let mut row = Row::reserved(Instant::ZERO);
    let mut out = Outbox::new();
    row.step(Instant::ZERO, Input::StopAccepted, &mut out).unwrap();
    out.drain();
    for input in [Input::InvocationAdmitted, Input::LastReturned, Input::ConstructionFailed] {
        row.step(Instant::from_millis(1), input, &mut out).unwrap();
        assert_eq!(row.state(), State::Cancelling);
        assert_eq!(row.since(), Instant::ZERO);
        assert!(out.is_empty());
    }
}
