use super::{
    DELETIONS_WAITING_MAX, Deletion, Input, Output, TOMBSTONE_TIME, tombstones_kept_since,
};
use crate::ids::AskId;
use crate::instant::{Duration, Instant};
use crate::laws::laws;
use crate::machine::{Machine, Outbox, Reject, Scope};
use crate::matrix::assert_matrix;
use crate::run::limits::UNWIND;

struct TwoAsk;

impl Scope<Deletion> for TwoAsk {
    fn inputs(&self, _deletion: &Deletion) -> Vec<Input> {
        let asked = [1, 2].map(|ask| Input::Asked { ask: AskId::new(ask) });
        asked.into_iter().chain([Input::MayCommit, Input::Committed, Input::Failed]).collect()
    }
}

fn step(deletion: &mut Deletion, input: Input) -> Result<Vec<Output>, Reject> {
    let mut out = Outbox::new();
    deletion.step(Instant::ZERO, input, &mut out)?;
    Ok(out.drain().collect())
}

#[test]
fn the_laws_hold() {
    let report = laws(Deletion::default(), &TwoAsk, Deletion::WEIGHT_MAX).unwrap();
    assert_matrix!("run_deletion", &report.matrix);
}

#[test]
fn the_first_one_deletes_and_the_others_find_nothing() {
    let asks = [1, 2, 3].map(AskId::new);
    for (answer, expected) in [
        (
            Input::Committed,
            [
                Output::Deleted { ask: asks[0] },
                Output::Unknown { ask: asks[1] },
                Output::Unknown { ask: asks[2] },
            ],
        ),
        (Input::Failed, asks.map(|ask| Output::Failed { ask })),
    ] {
        let mut deletion = Deletion::default();
        assert_eq!(step(&mut deletion, Input::Asked { ask: asks[0] }), Ok(vec![]));
        assert_eq!(step(&mut deletion, Input::Asked { ask: asks[1] }), Ok(vec![]));
        let commit = vec![Output::Commit { ask: asks[0] }];
        assert_eq!(step(&mut deletion, Input::MayCommit), Ok(commit));
        assert_eq!(step(&mut deletion, Input::Asked { ask: asks[2] }), Ok(vec![]));
        assert_eq!(step(&mut deletion, answer), Ok(expected.to_vec()));
        assert_eq!(deletion.is_deleted(), answer == Input::Committed);
        assert_eq!(
            step(&mut deletion, Input::Asked { ask: asks[2] }).is_err(),
            deletion.is_deleted()
        );
    }
}

#[test]
fn so_many_wait_and_one_more_is_refused() {
    let mut deletion = Deletion::default();
    for ask in 0..=DELETIONS_WAITING_MAX as u64 {
        assert_eq!(step(&mut deletion, Input::Asked { ask: AskId::new(ask) }), Ok(vec![]));
    }
    let ask = AskId::new(1 + DELETIONS_WAITING_MAX as u64);
    assert_eq!(step(&mut deletion, Input::Asked { ask }), Ok(vec![Output::Full { ask }]));
}

#[test]
fn a_tombstone_outlives_the_row_by_a_day() {
    let at = Instant::from_millis(1_000_000_000);
    let end = at.plus(UNWIND).plus(TOMBSTONE_TIME);
    let before = Instant::from_micros(end.as_micros() - 1);
    assert!(tombstones_kept_since(before, UNWIND) < at);
    assert_eq!(tombstones_kept_since(end, UNWIND), at);
    assert_eq!(tombstones_kept_since(Instant::ZERO, Duration::from_secs(1)), Instant::ZERO);
}
