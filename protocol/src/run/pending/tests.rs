use super::{Input, Pending};
use crate::ids::{MessageId, RunId};
use crate::instant::Instant;
use crate::laws::laws;
use crate::machine::{Machine, Outbox, Reject, Scope};
use crate::matrix::assert_matrix;

struct TwoRuns;

fn saved(n: u64) -> Input {
    Input::Saved {
        turn_id: MessageId::new(n),
        run_id: RunId::new(n),
        pending_started_at: Instant::ZERO,
    }
}

fn cleared(n: u64) -> Input {
    Input::Cleared { run_id: RunId::new(n) }
}

impl Scope<Pending> for TwoRuns {
    fn inputs(&self, _pending: &Pending) -> Vec<Input> {
        vec![saved(1), saved(2), cleared(1), cleared(2)]
    }
}

#[test]
fn the_laws_hold() {
    let report = laws(Pending::None, &TwoRuns, 64).unwrap();
    assert_eq!(report.states, 3);
    assert_matrix!("run_pending", &report.matrix);
}

#[test]
fn clearing_compares_with_the_exact_run() {
    let mut pending = Pending::None;
    let mut out = Outbox::new();
    pending.step(Instant::ZERO, saved(2), &mut out).unwrap();
    let before = pending;
    let refused = pending.step(Instant::ZERO, cleared(1), &mut out);
    assert_eq!(refused, Err(Reject::Local("another_turn")));
    assert_eq!(pending, before);
    pending.step(Instant::ZERO, cleared(2), &mut out).unwrap();
    assert_eq!(pending, Pending::None);
}
