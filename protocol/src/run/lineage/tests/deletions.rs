//! The deletion of a session: beside a run, a start, a settlement, and what waits.

use super::world::{FINE, RUN, World, committed, persisted, returned, session, start, stop, text};
use crate::ids::{AgentId, AskId, MessageId, Revision, RunId, Seq};
use crate::instant::Instant;
use crate::journal::row::{Outcome, Reason};
use crate::laws::laws;
use crate::machine::{Reject, Scope};
use crate::run::admission::{StartFacts, StartRefusal};
use crate::run::changes::{Change, ChangeKind};
use crate::run::deletion::DeletedRun;
use crate::run::lineage::{
    ChangeAnswer, DeletionAnswer, Input, Lineage, Output, QueueAnswer, Start, StartAnswer,
};
use crate::run::settlement::Verdict;
use crate::run::stop::StopSignal;
use crate::wire::actions::WhenBusy;
use crate::wire::codes::Code;

const ASK: AskId = AskId::new(70);

fn delete() -> Input {
    Input::Delete { ask: ASK }
}

fn deleted(revision: u64, terminal_seq: Option<u64>) -> Input {
    let terminal_seq = terminal_seq.map(Seq::new);
    Input::DeletionCommitted { revision: Revision::new(revision), terminal_seq }
}

fn answered(revision: u64) -> Output {
    let answer = DeletionAnswer::Deleted { revision: Revision::new(revision) };
    Output::DeletionAnswered { ask: ASK, answer }
}

/// The deletion that was issued: the run it ends, if it was.
fn issued(outputs: &[Output]) -> Option<Option<DeletedRun>> {
    outputs.iter().find_map(|output| match output {
        Output::Delete { ask, run, .. } => {
            assert_eq!(*ask, ASK);
            Some(*run)
        }
        _ => None,
    })
}

fn stopped_for_deletion() -> DeletedRun {
    let verdict = Verdict::of_server(Reason::Deleted);
    DeletedRun { run_id: RUN, turn_id: MessageId::new(1), verdict, steers: 0 }
}

fn place(outputs: &[Output], is_it: impl Fn(&Output) -> bool) -> usize {
    outputs.iter().position(is_it).unwrap_or_else(|| panic!("{outputs:?}"))
}

#[test]
fn a_deletion_stops_the_run_and_ends_it_in_its_own_commit() {
    let mut world = World::new();
    world.invoke(1);
    world.feed(Input::Produced { run_id: RUN, row: text(1) });
    let asked = world.feed(delete());
    let agent = AgentId::new(1);
    let interrupt = Output::Signal { run_id: RUN, agent, signal: StopSignal::Interrupt };
    assert!(asked.contains(&interrupt), "{asked:?}");
    assert_eq!(issued(&asked), None, "the batch is unanswered (STOP-22)");
    let answer = world.feed(persisted(1, 1, 1));
    assert_eq!(issued(&answer), Some(Some(stopped_for_deletion())));
    assert!(!answer.iter().any(|output| matches!(output, Output::Settle { .. })));
    let done = world.feed(deleted(3, Some(2)));
    let end = place(&done, |output| {
        matches!(
            output,
            Output::RunEnded { outcome: Outcome::Cancelled, reason: Some(Reason::Deleted), .. }
        )
    });
    assert!(end < place(&done, |output| *output == answered(3)), "{done:?}");
    assert!(world.session.is_deleted() && !world.session.is_over());
    for input in [start(2), stop(1, 9), delete(), Input::QueueTriggered] {
        assert_eq!(world.try_feed(input), Err(Reject::Local("session_deleted")));
    }
    let late = world.feed(Input::Produced { run_id: RUN, row: text(2) });
    assert!(matches!(late[..], [Output::Discard { .. }]), "{late:?}");
    world.feed(returned(1));
    let over = world.feed(Input::WorkerExited { run_id: RUN });
    assert!(over.contains(&Output::Close { agent }), "{over:?}");
    assert!(world.session.is_over());
    assert_eq!(world.ended(), [Outcome::Cancelled]);
}

#[test]
fn without_a_run_nothing_is_stopped() {
    let mut world = World::new();
    world.invoke(1);
    world.feed(returned(1));
    world.commit(1);
    assert_eq!(issued(&world.feed(delete())), Some(None));
    let done = world.feed(deleted(4, None));
    assert!(done.contains(&answered(4)), "{done:?}");
    assert!(done.contains(&Output::Close { agent: AgentId::new(1) }), "{done:?}");
    assert!(world.session.is_over());
}

#[test]
fn a_settlement_that_is_being_saved_ends_the_run_before_the_deletion() {
    let mut world = World::new();
    world.invoke(1);
    world.feed(returned(1));
    assert_eq!(issued(&world.feed(delete())), None);
    let settled = world.commit(1);
    assert_eq!(issued(&settled), Some(None));
    assert_eq!(world.ended(), [Outcome::Completed]);
}

#[test]
fn a_settlement_that_is_not_saved_gives_way_to_the_deletion() {
    let mut world = World::new();
    world.invoke(1);
    world.feed(returned(1));
    world.feed(delete());
    let failed = world.feed(Input::CommitFailed { run_id: RUN });
    assert_eq!(issued(&failed), Some(Some(stopped_for_deletion())), "{failed:?}");
    assert!(failed.contains(&Output::ExitWorker { run_id: RUN }), "{failed:?}");
    world.feed(Input::WorkerExited { run_id: RUN });
    world.feed(deleted(3, Some(1)));
    assert!(world.session.is_over());
}

#[test]
fn a_deletion_that_is_not_written_leaves_the_session_with_a_stopped_run() {
    let mut world = World::new();
    world.invoke(1);
    assert!(issued(&world.feed(delete())).is_some());
    let failed = world.feed(Input::DeletionFailed);
    let answer = DeletionAnswer::Failed;
    assert!(failed.contains(&Output::DeletionAnswered { ask: ASK, answer }), "{failed:?}");
    let verdict = Verdict::of_server(Reason::Deleted);
    let settles =
        |output: &Output| matches!(output, Output::Settle { verdict: v, .. } if *v == verdict);
    assert!(failed.iter().any(settles), "{failed:?}");
    world.commit(1);
    world.feed(returned(1));
    world.feed(Input::WorkerExited { run_id: RUN });
    assert_eq!(world.ended(), [Outcome::Cancelled]);
    world.invoke(2);
    assert_eq!(issued(&world.feed(delete())).flatten().map(|run| run.run_id), Some(RunId::new(2)));
}

#[test]
fn a_stop_that_came_first_keeps_its_outcome() {
    let mut world = World::new();
    world.invoke(1);
    world.feed(Input::Produced { run_id: RUN, row: text(1) });
    world.feed(stop(1, 9));
    assert_eq!(issued(&world.feed(delete())), None);
    let run = issued(&world.feed(persisted(1, 1, 1))).flatten().expect("its run ends with it");
    assert_eq!(run.verdict, Verdict::cancelled());
    let done = world.feed(deleted(3, Some(2)));
    place(&done, |output| matches!(output, Output::StopAnswered { .. }));
}

#[test]
fn a_start_under_way_is_answered_and_then_ended() {
    let mut world = World::new();
    world.feed(start(1));
    assert_eq!(world.feed(delete()), []);
    world.feed(committed(1, 2));
    let launched = world.feed(Input::Launched { run_id: RUN });
    assert!(matches!(launched[0], Output::StartAnswered { .. }), "{launched:?}");
    assert_eq!(issued(&launched), Some(Some(stopped_for_deletion())));
}

#[test]
fn whoever_waits_for_a_deletion_finds_no_session() {
    let mut world = World::new();
    world.feed(Input::Change(Change { ask: AskId::new(60), kind: ChangeKind::Description }));
    world.feed(delete());
    let other = AskId::new(71);
    world.feed(Input::Delete { ask: other });
    world.feed(start(2));
    let waiting = Change { ask: AskId::new(61), kind: ChangeKind::Description };
    world.feed(Input::Change(waiting));
    let (ask, turn_id) = (AskId::new(62), MessageId::new(5));
    world.feed(Input::RemoveQueued { ask, turn_id });
    let revision = Revision::new(2);
    let changed = world.feed(Input::ChangeCommitted { ask: AskId::new(60), revision });
    assert_eq!(issued(&changed), Some(None), "{changed:?}");
    let done = world.feed(deleted(3, None));
    let refusal = StartRefusal::of(Code::SessionUnknown);
    for answer in [
        Output::DeletionAnswered { ask: other, answer: DeletionAnswer::Refused(refusal) },
        Output::StartAnswered { ask: AskId::new(2), answer: StartAnswer::Refused(refusal) },
        Output::ReleaseSlot { run_id: RunId::new(2) },
        Output::ChangeAnswered { ask: AskId::new(61), answer: ChangeAnswer::Refused(refusal) },
        Output::QueueAnswered { ask, answer: QueueAnswer::Refused(refusal) },
    ] {
        assert!(done.contains(&answer), "{answer:?} in {done:?}");
    }
    assert!(world.session.is_over());
}

#[test]
fn nothing_of_the_queue_starts_between_the_stop_and_the_deletion() {
    let mut world = World::new();
    world.invoke(1);
    let facts = StartFacts { when_busy: WhenBusy::Queue, ..FINE };
    let (ask, turn_id) = (AskId::new(2), MessageId::new(2));
    world.feed(Input::Start(Start { ask, run_id: RunId::new(2), turn_id, facts }));
    world.feed(Input::QueueCommitted { revision: Revision::new(3) });
    world.feed(returned(1));
    world.feed(delete());
    let settled = world.commit(1);
    assert!(!settled.iter().any(|output| matches!(output, Output::StartHead { .. })));
    assert_eq!(issued(&settled), Some(None));
    // Had the start of the head been asked for before, it would be refused and keep its place.
    let failed = world.feed(Input::DeletionFailed);
    assert!(failed.contains(&Output::StartHead { turn_id }), "{failed:?}");
    world.feed(delete());
    let facts = StartFacts { is_head: true, ..FINE };
    let (ask, run_id) = (AskId::new(3), RunId::new(3));
    let refused = world.feed(Input::Start(Start { ask, run_id, turn_id, facts }));
    assert!(
        matches!(
            refused[0],
            Output::ReleaseSlot { .. }
                | Output::StartAnswered { answer: StartAnswer::Refused(_), .. }
        ),
        "{refused:?}"
    );
    assert_eq!(issued(&refused), Some(None));
    // Nothing else would trigger it: the session was idle before.
    let failed = world.feed(Input::DeletionFailed);
    assert!(failed.contains(&Output::StartHead { turn_id }), "{failed:?}");
}

/// One run and its deletion, in every order.
struct Beside;

impl Scope<Lineage> for Beside {
    fn inputs(&self, lineage: &Lineage) -> Vec<Input> {
        let run_id = RUN;
        let mut inputs = vec![
            delete(),
            Input::DeletionFailed,
            Input::EndByServer { run_id, reason: Reason::Shutdown },
            Input::CommitFailed { run_id },
            Input::Launched { run_id },
            Input::LaunchFailed { run_id },
            Input::WorkerExited { run_id },
        ];
        let revision = lineage.revision().get();
        if revision < 4 {
            inputs.extend([start(1), committed(1, revision + 1)]);
            inputs.extend([deleted(revision + 1, None), deleted(revision + 1, Some(1))]);
        }
        inputs
    }

    fn horizon(&self) -> Instant {
        Instant::from_millis(31_000)
    }
}

#[test]
fn the_laws_hold_for_a_deletion_beside_a_run() {
    let report = laws(session(), &Beside, 64 * 1024).unwrap();
    assert!(report.states > 50, "{report:?}");
    assert!(report.state_names.contains_key("deleted"), "{report:?}");
}
