//! Runs that are left without a row, and what is known of them.

use super::world::{FINE, RUN, World, found, session, start};
use crate::ids::{AskId, MessageId, RunId};
use crate::instant::Instant;
use crate::journal::row::Outcome;
use crate::machine::{Machine, Outbox, Reject};
use crate::run::admission::StartFacts;
use crate::run::limits::{PENDING_GRACE, SAVE_RETRIES, UNWIND};
use crate::run::lineage::{Input, Lineage, Output, RunLimits, Start, StartAnswer};
use crate::run::recovery::Found;
use crate::run::store_kind::StoreKind;
use crate::wire::codes::Code;

fn unread(n: u64) -> Input {
    let facts = StartFacts { liveness_unreadable: true, ..FINE };
    let (run_id, turn_id) = (RunId::new(n), MessageId::new(n));
    Input::Start(Start { ask: AskId::new(n), run_id, turn_id, facts })
}

fn code(outputs: &[Output]) -> Option<Code> {
    outputs.iter().find_map(|output| match output {
        Output::StartAnswered { answer: StartAnswer::Refused(refusal), .. } => Some(refusal.code),
        _ => None,
    })
}

fn settled_elsewhere(world: &World) -> Input {
    let revision = world.session.revision().plus(2);
    Input::SettledElsewhere { run_id: RUN, outcome: Outcome::Interrupted, revision }
}

/// A run that recovery found and could not settle.
fn orphan() -> World {
    let mut world = World::new();
    world.feed(Input::Recover(found(7)));
    for _ in 0..=SAVE_RETRIES {
        world.feed(Input::CommitFailed { run_id: RUN });
    }
    assert_eq!(world.session.orphans().collect::<Vec<_>>(), [RUN]);
    world
}

/// REC-07 [unit]: neither a row that may be reclaimed nor an orphan is touched by a start of which it could not be read
/// whether its run lives; the start is refused, and the next one that knows reclaims.
#[test]
fn nothing_is_reclaimed_or_swept_unread() {
    let mut world = World::new();
    world.invoke(1);
    world.feed(super::world::stop(1, 9));
    world.commit(1);
    world.now = world.now.plus(UNWIND).plus(UNWIND);
    let before = world.session.clone();
    assert!(world.session.may_start(world.now).is_ok());
    assert_eq!(code(&world.feed(unread(2))), Some(Code::LivenessUnreadable));
    assert_eq!(world.session, before, "the row stands");
    let admitted = world.feed(start(3));
    assert!(admitted.iter().any(|output| matches!(output, Output::Admit { .. })), "{admitted:?}");

    let mut world = orphan();
    let before = world.session.clone();
    assert_eq!(code(&world.feed(unread(2))), Some(Code::LivenessUnreadable));
    assert_eq!(world.session, before, "the orphan stands");
}

#[test]
fn an_orphan_that_is_settled_elsewhere_is_swept_and_nothing_else() {
    let mut world = orphan();
    assert!(world.session.must_look(world.now));
    let swept = world.feed(settled_elsewhere(&world));
    assert!(swept.contains(&Output::Forget { run_id: RUN }));
    assert_eq!(world.ended(), [Outcome::Interrupted]);
    assert_eq!((world.session.owner(), world.session.holds(RUN)), (None, false));
    assert!(!world.session.must_look(world.now));
    assert_eq!(world.try_feed(settled_elsewhere(&world)), Err(Reject::Local("no_such_run")));
    world.launch(2);
    let revision = world.session.revision();
    let other =
        Input::SettledElsewhere { run_id: RunId::new(2), outcome: Outcome::Interrupted, revision };
    assert!(world.try_feed(other).is_err(), "a run with a row is no orphan");
    assert!(world.session.holds(RunId::new(2)));
}

#[test]
fn the_settlement_of_another_process_answers_the_save_of_this_one() {
    let mut world = World::new();
    world.feed(Input::Recover(found(7)));
    let swept = world.feed(settled_elsewhere(&world));
    assert!(swept.contains(&Output::BecameIdle), "{swept:?}");
    assert_eq!(world.ended(), [Outcome::Interrupted]);
    world.launch(2);
}

/// What table A says to a start while another process has accepted a turn.
#[test]
fn a_turn_of_another_process_blocks_until_it_is_aged_and_recovered() {
    let limits = RunLimits { store: StoreKind::Shared, ..RunLimits::default() };
    let session: Lineage = Lineage { limits, ..session() };
    let mut world = World { session, now: Instant::ZERO, log: Vec::new() };
    let begun = Instant::from_millis(1_000);
    let found = Found { pending_started_at: Some(begun), ..found(3) };
    world.now = begun;
    assert_eq!(world.feed(Input::Recover(found.clone())), [], "it is left alone");
    world.now = Instant::from_micros(begun.plus(PENDING_GRACE).as_micros() - 1);
    assert_eq!(code(&world.feed(start(2))), Some(Code::SessionBusy));
    assert!(!world.session.must_look(world.now));
    world.now = begun.plus(PENDING_GRACE);
    assert!(world.session.must_look(world.now));
    assert_eq!(code(&world.feed(start(2))), Some(Code::LivenessUnreadable), "not before a look");
    let mut out = Outbox::new();
    world.session.step(world.now, Input::Recover(found), &mut out).unwrap();
    assert!(out.as_slice().iter().any(|output| matches!(output, Output::Settle { .. })));
    world.commit(1);
    world.launch(2);
}
