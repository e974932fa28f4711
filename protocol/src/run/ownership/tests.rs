use super::{Input, Ownership};
use crate::ids::RunId;
use crate::instant::Instant;
use crate::laws::laws;
use crate::machine::{Machine, Outbox, Scope};
use crate::matrix::assert_matrix;
use crate::run::guards::Owner;
use proptest::prelude::*;

struct TwoRuns;

fn inputs() -> Vec<Input> {
    [1, 2]
        .into_iter()
        .flat_map(|n| {
            let run_id = RunId::new(n);
            [Input::Taken { run_id }, Input::Released { run_id }]
        })
        .collect()
}

impl Scope<Ownership> for TwoRuns {
    fn inputs(&self, _ownership: &Ownership) -> Vec<Input> {
        inputs()
    }
}

#[test]
fn the_laws_hold() {
    let report = laws(Ownership::default(), &TwoRuns, 64).unwrap();
    assert_eq!(report.states, 3);
    assert_matrix!("run_ownership", &report.matrix);
}

proptest! {
    /// OWN-01 [property]: whatever happens, at most one run owns, and only its own release ends that.
    #[test]
    fn at_most_one_run_owns(steps in prop::collection::vec(0..4_usize, 0..20)) {
        let mut ownership = Ownership::default();
        let mut out = Outbox::new();
        let mut expected: Option<RunId> = None;
        for step in steps {
            let input = inputs()[step];
            let accepted = ownership.step(Instant::ZERO, input, &mut out).is_ok();
            match input {
                Input::Taken { run_id } if expected.is_none() => expected = Some(run_id),
                Input::Released { run_id } if expected == Some(run_id) => expected = None,
                Input::Taken { .. } | Input::Released { .. } => prop_assert!(!accepted),
            }
            prop_assert_eq!(ownership.owner(), expected);
            let owners = [1, 2].into_iter()
                .filter(|n| ownership.seen_by(RunId::new(*n)) == Owner::ThisRun).count();
            prop_assert!(owners <= 1);
        }
    }
}
