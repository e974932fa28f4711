use proptest::prelude::*;

use super::{CHANGES_WAITING_MAX, Change, ChangeKind, Changes, Input, Obstacle, Output};
use crate::ids::{AskId, Revision};
use crate::instant::Instant;
use crate::laws::laws;
use crate::machine::{Machine, Outbox, Reject, Scope};
use crate::matrix::assert_matrix;
use crate::run::guards::Rules;

type Ruled = Changes<Rules>;

const AT: Revision = Revision::new(7);

fn step(changes: &mut Ruled, input: Input) -> Result<Vec<Output>, Reject> {
    let mut out = Outbox::new();
    changes.step(Instant::ZERO, input, &mut out)?;
    Ok(out.drain().collect())
}

fn change(ask: u64, kind: ChangeKind) -> Change {
    Change { ask: AskId::new(ask), kind }
}

fn asked(ask: u64, kind: ChangeKind, may_start: bool) -> Input {
    Input::Asked { change: change(ask, kind), may_start, revision: AT }
}

struct Three;

impl Scope<Ruled> for Three {
    fn inputs(&self, _changes: &Ruled) -> Vec<Input> {
        let kinds = [
            ChangeKind::Description,
            ChangeKind::Agent,
            ChangeKind::Rewrite { expected: AT },
            ChangeKind::Rewrite { expected: Revision::new(6) },
            ChangeKind::Usage,
        ];
        let mut inputs = vec![Input::Withdrawn];
        for may_start in [true, false] {
            inputs.push(Input::MayIssue { may_start, revision: AT });
            inputs.extend((1..).zip(kinds).map(|(ask, kind)| asked(ask, kind, may_start)));
        }
        for ask in [1, 2, 3, 5].map(AskId::new) {
            inputs.extend([Input::Committed { ask }, Input::Failed { ask }]);
        }
        inputs
    }
}

#[test]
fn the_laws_hold() {
    let report = laws(Ruled::default(), &Three, Ruled::WEIGHT_MAX).unwrap();
    assert_eq!(report.state_names.len(), 4, "{report:?}");
    assert_matrix!("run_changes", &report.matrix);
}

/// ACT-19 [unit]: a change of agent or model is refused while no turn may start, when it is asked for and
/// again when its turn comes; a change of anything else is not.
#[test]
fn an_agent_is_changed_only_while_a_turn_may_start() {
    let mut changes = Ruled::default();
    let busy = |ask| Output::Refused { ask: AskId::new(ask), obstacle: Obstacle::Busy };
    assert_eq!(step(&mut changes, asked(1, ChangeKind::Agent, false)), Ok(vec![busy(1)]));
    assert_eq!(step(&mut changes, asked(2, ChangeKind::Agent, true)), Ok(vec![]));
    assert_eq!(step(&mut changes, asked(3, ChangeKind::Description, false)), Ok(vec![]));
    let issued = step(&mut changes, Input::MayIssue { may_start: false, revision: AT });
    assert_eq!(issued, Ok(vec![busy(2), Output::Issue { ask: AskId::new(3) }]));
    let done = step(&mut changes, Input::Committed { ask: AskId::new(3) });
    assert_eq!(done, Ok(vec![Output::Done(change(3, ChangeKind::Description))]));
    assert!(changes.is_idle());
}

#[test]
fn a_change_beyond_the_bound_is_refused_and_what_a_run_used_is_not() {
    let mut changes = Ruled::default();
    let max = CHANGES_WAITING_MAX as u64;
    for ask in 1..=max {
        assert_eq!(step(&mut changes, asked(ask, ChangeKind::Description, true)), Ok(vec![]));
    }
    let full = |ask| Ok(vec![Output::Refused { ask: AskId::new(ask), obstacle: Obstacle::Full }]);
    assert_eq!(step(&mut changes, asked(max + 1, ChangeKind::Agent, true)), full(max + 1));
    let all = Ruled::WAITING_MAX as u64;
    for ask in max + 1..=all {
        assert_eq!(step(&mut changes, asked(ask, ChangeKind::Usage, true)), Ok(vec![]));
    }
    assert_eq!(step(&mut changes, asked(all + 1, ChangeKind::Usage, true)), full(all + 1));
    assert_eq!(changes.weight(), Ruled::WEIGHT_MAX);
    step(&mut changes, Input::MayIssue { may_start: true, revision: AT }).unwrap();
    assert_eq!(step(&mut changes, asked(all + 1, ChangeKind::Usage, true)), Ok(vec![]));
}

#[test]
fn one_commit_is_unanswered_at_a_time() {
    let mut changes = Ruled::default();
    step(&mut changes, asked(1, ChangeKind::Agent, true)).unwrap();
    let again = step(&mut changes, asked(1, ChangeKind::Agent, true));
    assert_eq!(again, Err(Reject::Local("ask_reused")));
    step(&mut changes, Input::MayIssue { may_start: true, revision: AT }).unwrap();
    let more = step(&mut changes, Input::MayIssue { may_start: true, revision: AT });
    assert_eq!(more, Err(Reject::Local("commit_in_flight")));
    let foreign = step(&mut changes, Input::Committed { ask: AskId::new(2) });
    assert_eq!(foreign, Err(Reject::Local("change_not_issued")));
    let failed = step(&mut changes, Input::Failed { ask: AskId::new(1) });
    let refused = Output::Refused { ask: AskId::new(1), obstacle: Obstacle::Store };
    assert_eq!(failed, Ok(vec![refused]));
}

proptest! {
    /// LIFE-04 [property], ACT-20 [unit]: a rewrite is issued exactly at the revision its client saw, when it is
    /// asked for and when its turn comes, and never beside a run.
    #[test]
    fn a_rewrite_is_made_at_its_own_revision_only(
        expected in 0..4_u64, asked in 0..4_u64, issued in 0..4_u64,
        may_start: bool, may_start_then: bool,
    ) {
        let mut changes = Ruled::default();
        let kind = ChangeKind::Rewrite { expected: Revision::new(expected) };
        let input = |may_start, revision| {
            Input::Asked { change: change(1, kind), may_start, revision: Revision::new(revision) }
        };
        let refused = |obstacle| vec![Output::Refused { ask: AskId::new(1), obstacle }];
        let obstacle = |may_start: bool, revision| {
            if revision != expected { Some(Obstacle::Stale) }
            else if may_start { None } else { Some(Obstacle::Busy) }
        };
        let first = obstacle(may_start, asked).map(refused).unwrap_or_default();
        prop_assert_eq!(step(&mut changes, input(may_start, asked)), Ok(first.clone()));
        let turn = Input::MayIssue { may_start: may_start_then, revision: Revision::new(issued) };
        let then = match obstacle(may_start_then, issued) {
            _ if !first.is_empty() => vec![],
            Some(obstacle) => refused(obstacle),
            None => vec![Output::Issue { ask: AskId::new(1) }],
        };
        prop_assert_eq!(step(&mut changes, turn), Ok(then));
    }

    #[test]
    fn every_change_is_answered_once_and_commits_keep_their_order(
        acts in prop::collection::vec((0..4_u8, any::<bool>()), 0..60),
    ) {
        let (mut changes, mut next, mut answered, mut issued) = (Ruled::default(), 0, 0, Vec::new());
        for (act, may_start) in acts {
            let input = match (act, changes.in_flight) {
                (0 | 1, _) => {
                    next += 1;
                    let kinds = [
            ChangeKind::Description,
            ChangeKind::Agent,
            ChangeKind::Rewrite { expected: AT },
            ChangeKind::Rewrite { expected: Revision::new(6) },
            ChangeKind::Usage,
        ];
                    asked(next, kinds[next as usize % 3], may_start)
                }
                (2, Some(change)) => Input::Committed { ask: change.ask },
                (_, Some(change)) => Input::Failed { ask: change.ask },
                (_, None) => Input::MayIssue { may_start, revision: AT },
            };
            for output in step(&mut changes, input).unwrap() {
                match output {
                    Output::Issue { ask } => issued.push(ask),
                    Output::Done(_) | Output::Refused { .. } => answered += 1,
                }
            }
        }
        let open = changes.waiting.len() + usize::from(changes.in_flight.is_some());
        prop_assert_eq!(answered + open, usize::try_from(next).unwrap());
        prop_assert!(issued.is_sorted_by(|one, next| one < next));
    }
}
