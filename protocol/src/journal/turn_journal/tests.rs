use proptest::prelude::*;

use super::*;
use crate::instant::Instant;
use crate::journal::row::Outcome;
use crate::laws::laws;
use crate::machine::{Machine, Outbox, Reject, Scope};
use crate::matrix::assert_matrix;

const OUTCOMES: [Outcome; 5] = [
    Outcome::Completed,
    Outcome::Cancelled,
    Outcome::Failed,
    Outcome::Interrupted,
    Outcome::Superseded,
];

fn step(turn: &mut TurnJournal, input: Input) -> Result<Vec<Output>, Reject> {
    let mut out = Outbox::new();
    turn.step(Instant::ZERO, input, &mut out)?;
    Ok(out.drain().collect())
}

struct Everything;

impl Scope<TurnJournal> for Everything {
    fn inputs(&self, _turn: &TurnJournal) -> Vec<Input> {
        let ends = OUTCOMES.into_iter().map(Input::Ended);
        [Input::Submitted, Input::WorkerStarted].into_iter().chain(ends).collect()
    }
}

#[test]
fn the_laws_hold_in_every_state() {
    let report = laws(TurnJournal::new(), &Everything, size_of::<TurnJournal>()).unwrap();
    assert_eq!(report.states, 3 + OUTCOMES.len());
    assert_matrix!("journal_turn", &report.matrix);
}

#[test]
fn a_turn_closes_with_or_without_a_worker() {
    for worker in [false, true] {
        let mut turn = TurnJournal::new();
        step(&mut turn, Input::Submitted).unwrap();
        if worker {
            step(&mut turn, Input::WorkerStarted).unwrap();
        }
        assert!(turn.is_open());
        step(&mut turn, Input::Ended(Outcome::Cancelled)).unwrap();
        assert_eq!((turn.is_open(), turn.outcome()), (false, Some(Outcome::Cancelled)));
    }
}

#[test]
fn inputs_survive_their_json_form() {
    for input in Everything.inputs(&TurnJournal::new()) {
        let value = serde_json::to_value(input).unwrap();
        assert!(value["kind"].is_string(), "{value}");
        assert_eq!(serde_json::from_value::<Input>(value).unwrap(), input);
    }
}

fn inputs() -> impl Strategy<Value = Vec<Input>> {
    let end = prop::sample::select(&OUTCOMES[..]).prop_map(Input::Ended);
    prop::collection::vec(
        prop_oneof![Just(Input::Submitted), Just(Input::WorkerStarted), end],
        0..12,
    )
}

proptest! {
    /// TRN-01 [property]: whatever is fed, the accepted inputs are `submitted`, at most one
    /// `worker_started`, then at most one terminal.
    #[test]
    fn accepted_rows_keep_their_order(inputs in inputs()) {
        let mut turn = TurnJournal::new();
        let mut rows = String::new();
        for input in inputs {
            if step(&mut turn, input) == Ok(vec![]) {
                rows.push(match input {
                    Input::Submitted => 's',
                    Input::WorkerStarted => 'w',
                    Input::Ended(_) => 'e',
                });
            }
        }
        prop_assert!(["", "s", "sw", "se", "swe"].contains(&rows.as_str()), "{}", rows);
    }

    /// TRN-04 [property]: the first terminal stands; each other one is reported with both outcomes.
    #[test]
    fn the_first_terminal_stands(inputs in inputs()) {
        let mut turn = TurnJournal::Submitted;
        let mut first = None;
        for input in inputs {
            let before = turn;
            let result = step(&mut turn, input);
            match (first, input) {
                (None, Input::Ended(outcome)) => first = Some(outcome),
                (Some(stands), Input::Ended(refused)) => {
                    let expected = if stands == refused {
                        Err(Reject::Local("turn_ended"))
                    } else {
                        Ok(vec![Output::Collision { stands, refused }])
                    };
                    prop_assert_eq!(result, expected);
                    prop_assert_eq!(turn, before);
                }
                (None | Some(_), Input::Submitted | Input::WorkerStarted) => {}
            }
            prop_assert_eq!(turn.outcome(), first);
        }
    }
}
