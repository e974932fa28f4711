//! Changes of a session between and beside its runs.

use super::world::{FINE, RUN, World, committed, returned, session, start, stop};
use crate::ids::{AgentId, AskId, MessageId, Revision, RunId};
use crate::instant::Instant;
use crate::journal::row::{Outcome, Reason};
use crate::laws::laws;
use crate::machine::Scope;
use crate::run::Phase;
use crate::run::admission::{StartFacts, StartRefusal};
use crate::run::changes::{Change, ChangeKind};
use crate::run::lineage::{ChangeAnswer, Input, Lineage, Output, Start, StartAnswer};
use crate::wire::codes::Code;

const ASK: AskId = AskId::new(50);

fn change(kind: ChangeKind) -> Input {
    Input::Change(Change { ask: ASK, kind })
}

fn done(revision: u64) -> Input {
    Input::ChangeCommitted { ask: ASK, revision: Revision::new(revision) }
}

fn answer(answer: ChangeAnswer) -> Output {
    Output::ChangeAnswered { ask: ASK, answer }
}

fn issued(expected: u64) -> Output {
    Output::Change { ask: ASK, expected: Revision::new(expected), at: Instant::ZERO }
}

/// ACT-19 [unit], ACT-23 [unit]: while a run has its row, a change of agent or model is `session_busy` with that run
/// in every phase, and nothing is committed; a title is changed all the same.
#[test]
fn agent_and_model_stay_while_a_run_has_its_row() {
    let mut world = World::new();
    world.invoke(1);
    let refusal = StartRefusal {
        run_id: Some(RUN),
        phase: Some(Phase::Running),
        attachable: Some(true),
        ..StartRefusal::of(Code::SessionBusy)
    };
    let busy = vec![answer(ChangeAnswer::Refused(refusal))];
    assert_eq!(world.feed(change(ChangeKind::Agent)), busy);
    assert_eq!(world.feed(change(ChangeKind::Description)), [issued(2)]);
    let revision = Revision::new(3);
    let changed = world.feed(done(3));
    assert_eq!(
        changed,
        [answer(ChangeAnswer::Committed { revision }), Output::SessionChanged { revision }]
    );
    world.feed(stop(1, 9));
    let refusal =
        StartRefusal { phase: Some(Phase::Cancelling), attachable: Some(false), ..refusal };
    let busy = vec![answer(ChangeAnswer::Refused(refusal))];
    assert_eq!(world.feed(change(ChangeKind::Agent)), busy);
}

#[test]
fn another_agent_retires_the_cached_one_with_one_close() {
    let mut world = World::new();
    world.invoke(1);
    world.feed(returned(1));
    world.commit(1);
    assert_eq!(world.session.cached_agent(), Some(AgentId::new(1)));
    world.feed(change(ChangeKind::Description));
    world.feed(done(4));
    assert_eq!(world.session.cached_agent(), Some(AgentId::new(1)));
    assert_eq!(world.feed(change(ChangeKind::Agent)), [issued(4)]);
    let changed = world.feed(done(5));
    assert!(changed.contains(&Output::Close { agent: AgentId::new(1) }), "{changed:?}");
    assert_eq!(world.session.cached_agent(), None);
    world.invoke(2);
    assert_eq!(world.session.cached_agent(), Some(AgentId::new(2)));
}

/// The agent that is kept knows what a rewrite removed: whether a turn begins behind it or not, the next turn is
/// told by another one what is left.
#[test]
fn a_rewrite_gives_up_the_kept_agent() {
    let mut world = World::new();
    world.invoke(1);
    world.feed(returned(1));
    world.commit(1);
    let agent = AgentId::new(1);
    let kind = ChangeKind::Rewrite { expected: Revision::new(2) };
    let stale = answer(ChangeAnswer::Refused(StartRefusal::of(Code::RegenerationStale)));
    assert_eq!(world.feed(change(kind)), [stale]);
    assert_eq!(world.session.cached_agent(), Some(agent));
    let kind = ChangeKind::Rewrite { expected: Revision::new(3) };
    assert_eq!(world.feed(change(kind)), [issued(3)]);
    assert!(world.feed(done(4)).contains(&Output::Close { agent }));
    world.invoke(2);
    world.feed(returned(2));
    world.commit(2);
    let agent = world.session.cached_agent().expect("the agent of the second turn");
    let revision = world.session.revision();
    let facts = StartFacts { rewrites: Some(revision), ..FINE };
    let (ask, run_id, turn_id) = (AskId::new(3), RunId::new(3), MessageId::new(3));
    world.feed(Input::Start(Start { ask, run_id, turn_id, facts }));
    assert_eq!(world.session.cached_agent(), Some(agent), "nothing is removed yet");
    let accepted = world.feed(committed(3, revision.get() + 1));
    assert!(accepted.contains(&Output::Close { agent }), "{accepted:?}");
    // A window that saw the same revision comes too late, also while the first one is being launched.
    let (ask, run_id, turn_id) = (AskId::new(4), RunId::new(4), MessageId::new(4));
    let late = world.feed(Input::Start(Start { ask, run_id, turn_id, facts }));
    let refusal = StartRefusal::of(Code::RegenerationStale);
    let refused = Output::StartAnswered { ask, answer: StartAnswer::Refused(refusal) };
    assert!(late.contains(&refused), "{late:?}");
}

#[test]
fn a_change_waits_for_the_admission_and_is_judged_again() {
    let mut world = World::new();
    world.feed(start(1));
    // It was asked for by a window that does not know of the run yet.
    let refused = world.feed(change(ChangeKind::Agent));
    assert!(matches!(refused[..], [Output::ChangeAnswered { .. }]), "{refused:?}");
    assert_eq!(world.feed(change(ChangeKind::Description)), []);
    assert!(!world.session.is_at_rest());
    let accepted = world.feed(committed(1, 2));
    assert!(!accepted.contains(&issued(2)), "the launch goes first: {accepted:?}");
    let launched = world.feed(Input::Launched { run_id: RUN });
    assert!(launched.contains(&issued(2)), "{launched:?}");
}

#[test]
fn a_settlement_waits_for_the_change_before_it_and_goes_first_then() {
    let mut world = World::new();
    world.invoke(1);
    world.feed(change(ChangeKind::Description));
    let settles = |outputs: &[Output]| {
        outputs.iter().any(|output| matches!(output, Output::Settle { run_id: RUN, .. }))
    };
    assert!(!settles(&world.feed(returned(1))));
    let other = AskId::new(51);
    let more = Input::Change(Change { ask: other, kind: ChangeKind::Description });
    assert_eq!(world.feed(more), []);
    let failed = world.feed(Input::ChangeFailed { ask: ASK });
    assert_eq!(failed[0], answer(ChangeAnswer::Failed));
    assert!(settles(&failed), "{failed:?}");
    assert!(!failed.iter().any(|output| matches!(output, Output::Change { .. })));
    let settled = world.commit(1);
    assert_eq!(world.ended(), [Outcome::Completed]);
    assert!(settled.iter().any(|o| matches!(o, Output::Change { ask, .. } if *ask == other)));
}

/// One run, and one change of each kind.
struct Beside;

impl Scope<Lineage> for Beside {
    fn inputs(&self, lineage: &Lineage) -> Vec<Input> {
        let run_id = RUN;
        let mut inputs = vec![
            change(ChangeKind::Agent),
            change(ChangeKind::Description),
            Input::ChangeFailed { ask: ASK },
            Input::EndByServer { run_id, reason: Reason::Shutdown },
            Input::CommitFailed { run_id },
            Input::Launched { run_id },
            Input::LaunchFailed { run_id },
            Input::WorkerExited { run_id },
        ];
        let revision = lineage.revision().get();
        if revision < 3 {
            inputs.extend([start(1), committed(1, revision + 1), done(revision + 1)]);
        }
        inputs
    }

    fn horizon(&self) -> Instant {
        Instant::from_millis(31_000)
    }
}

#[test]
fn the_laws_hold_for_changes_beside_a_run() {
    let report = laws(session(), &Beside, 64 * 1024).unwrap();
    assert!(report.states > 50, "{report:?}");
    assert!(report.state_names.contains_key("unsettled"), "{report:?}");
}
