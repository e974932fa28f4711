//! A session that is rotated inside a run.

use super::world::{FINE, RUN, World, committed, returned, start, stop};
use crate::ids::{AskId, MessageId, Revision, RunId, SessionId};
use crate::instant::Instant;
use crate::laws::laws;
use crate::machine::{Reject, Scope};
use crate::run::admission::{StartFacts, StartRefusal};
use crate::run::guards::Rules;
use crate::run::lineage::{Input, Lineage, Output, Start, StartAnswer};
use crate::wire::actions::WhenBusy;
use crate::wire::codes::Code;

const PARENT: SessionId = SessionId::new(1);
const NEXT: SessionId = SessionId::new(2);
const ASKED: Input = Input::RotationAsked { run_id: RUN, continuation: NEXT };
const REFUSED: Output = Output::RotationRefused { run_id: RUN };

fn rotated(revision: u64) -> Input {
    Input::RotationCommitted { revision: Revision::new(revision) }
}

fn queued(n: u64) -> Input {
    let facts = StartFacts { when_busy: WhenBusy::Queue, ..FINE };
    let (ask, run_id, turn_id) = (AskId::new(n), RunId::new(n), MessageId::new(n));
    Input::Start(Start { ask, run_id, turn_id, facts })
}

fn is_rotation(output: &Output) -> bool {
    matches!(output, Output::Rotate { .. })
}

/// One commit, and one step behind it, moves everything; the entries keep their order and are held.
#[test]
fn a_rotation_moves_everything_in_one_step() {
    let mut world = World::new();
    world.invoke(1);
    for (n, revision) in [(2, 3), (3, 4)] {
        world.feed(queued(n));
        world.feed(Input::QueueCommitted { revision: Revision::new(revision) });
    }
    let expected = Revision::new(4);
    let rotate =
        Output::Rotate { run_id: RUN, from: PARENT, continuation: NEXT, expected, at: world.now };
    assert_eq!(world.feed(ASKED), [rotate]);
    assert_eq!(world.session.session_id(), PARENT);
    world.feed(queued(4));
    let done = world.feed(rotated(5));
    let moved = Output::SessionRotated {
        run_id: RUN,
        from: PARENT,
        continuation: NEXT,
        revision: Revision::new(5),
    };
    assert!(done.contains(&moved), "{done:?}");
    let refused = StartAnswer::Refused(StartRefusal::of(Code::SessionRotated));
    let told = Output::StartAnswered { ask: AskId::new(4), answer: refused };
    assert!(done.contains(&told), "a message that waits was sent to the parent: {done:?}");
    let session = &world.session;
    assert_eq!((session.session_id(), session.parent()), (NEXT, Some(PARENT)));
    assert_eq!(session.owner(), Some(RUN));
    assert_eq!(session.row().map(|row| row.run_id), Some(RUN));
    assert_eq!(session.queue().entries(), [2, 3].map(MessageId::new));
    assert_eq!(session.queue().held(), Some(Code::SessionRotated));
    world.feed(returned(1));
    let ended = world.commit(1);
    assert!(ended.contains(&Output::BecameIdle), "{ended:?}");
    assert!(!ended.iter().any(|output| matches!(output, Output::StartHead { .. })));
    world.feed(Input::ResumeQueue { ask: AskId::new(9) });
    let resumed = world.feed(Input::QueueCommitted { revision: Revision::new(7) });
    assert!(resumed.contains(&Output::StartHead { turn_id: MessageId::new(2) }), "{resumed:?}");
    assert_eq!(world.session.queue().held(), None);
}

#[test]
fn a_rotation_that_is_not_written_changes_nothing() {
    let mut world = World::new();
    world.invoke(1);
    assert!(world.feed(ASKED).iter().any(is_rotation));
    assert_eq!(world.feed(ASKED), vec![REFUSED], "one at a time");
    assert_eq!(world.feed(Input::RotationFailed), [REFUSED]);
    assert_eq!((world.session.session_id(), world.session.parent()), (PARENT, None));
    assert!(world.feed(ASKED).iter().any(is_rotation), "the agent may ask again");
}

#[test]
fn a_stopped_run_is_not_rotated_any_more() {
    let mut world = World::new();
    world.invoke(1);
    world.feed(queued(2));
    assert_eq!(world.feed(ASKED), [], "a commit is unanswered");
    let stopped = world.feed(stop(1, 9));
    assert!(stopped.contains(&REFUSED), "{stopped:?}");
    assert_eq!(world.feed(ASKED), [REFUSED]);
}

#[test]
fn a_stop_beside_the_commit_settles_in_the_continuation() {
    let mut world = World::new();
    world.invoke(1);
    world.feed(ASKED);
    let stopped = world.feed(stop(1, 9));
    assert!(!stopped.iter().any(|output| matches!(output, Output::Settle { .. })), "{stopped:?}");
    let done = world.feed(rotated(3));
    assert!(done.iter().any(|output| matches!(output, Output::Settle { .. })), "{done:?}");
    assert_eq!(world.session.session_id(), NEXT);
}

#[test]
fn a_continuation_is_a_new_session() {
    let mut world = World::new();
    world.invoke(1);
    let itself = Input::RotationAsked { run_id: RUN, continuation: PARENT };
    assert_eq!(world.try_feed(itself), Err(Reject::Local("continuation_not_new")));
    let unknown = Input::RotationAsked { run_id: RunId::new(7), continuation: NEXT };
    assert_eq!(world.try_feed(unknown), Err(Reject::Local("no_such_run")));
}

/// One invoked run and its rotation, in every order.
struct Beside;

impl Scope<Lineage> for Beside {
    fn inputs(&self, lineage: &Lineage<Rules>) -> Vec<Input> {
        let run_id = RUN;
        let mut inputs =
            vec![ASKED, Input::RotationFailed, returned(1), Input::WorkerExited { run_id }];
        inputs.push(Input::CommitFailed { run_id });
        if lineage.runs.first().is_some_and(|entry| !entry.token_set) {
            inputs.push(stop(1, 2));
        }
        let revision = lineage.revision().get();
        if revision < 4 {
            inputs.extend([start(2), committed(1, revision + 1), rotated(revision + 1)]);
        }
        inputs
    }

    fn horizon(&self) -> Instant {
        Instant::from_millis(31_000)
    }
}

#[test]
fn the_laws_hold_for_a_rotation_beside_a_stop() {
    let mut world = World::new();
    world.invoke(1);
    let report = laws(world.session, &Beside, 64 * 1024).unwrap();
    assert!(report.states > 50, "{report:?}");
}
