//! The send queue in its session.

use super::world::{FINE, RUN, World, returned, start, stop};
use crate::ids::{AskId, MessageId, Revision, RunId};
use crate::instant::Duration;
use crate::journal::row::{Outcome, Reason};
use crate::run::admission::{SlotFact, StartFacts};
use crate::run::limits::UNSETTLED_RETRY;
use crate::run::lineage::{Input, Output, QueueAnswer, Start, StartAnswer};
use crate::run::queue::{Change, State};
use crate::wire::actions::WhenBusy;
use crate::wire::codes::Code;

const PATIENT: StartFacts = StartFacts { when_busy: WhenBusy::Queue, ..FINE };

fn send(n: u64, facts: StartFacts) -> Input {
    let (ask, run_id, turn_id) = (AskId::new(n), RunId::new(n), MessageId::new(n));
    Input::Start(Start { ask, run_id, turn_id, facts })
}

fn queued(n: u64) -> Input {
    send(n, PATIENT)
}

fn turn(n: u64) -> MessageId {
    MessageId::new(n)
}

/// The start of entry `entry` as run `n`.
fn head(n: u64, entry: u64) -> Input {
    let facts = StartFacts { is_head: true, ..FINE };
    Input::Start(Start { ask: AskId::new(n), run_id: RunId::new(n), turn_id: turn(entry), facts })
}

fn remove(ask: u64, entry: u64) -> Input {
    Input::RemoveQueued { ask: AskId::new(ask), turn_id: turn(entry) }
}

fn resume(ask: u64) -> Input {
    Input::ResumeQueue { ask: AskId::new(ask) }
}

fn answer_of(outputs: &[Output], ask: u64) -> Option<StartAnswer> {
    outputs.iter().find_map(|output| match output {
        Output::StartAnswered { ask: asked, answer } if *asked == AskId::new(ask) => Some(*answer),
        _ => None,
    })
}

fn queue_answer(outputs: &[Output], ask: u64) -> Option<QueueAnswer> {
    outputs.iter().find_map(|output| match output {
        Output::QueueAnswered { ask: asked, answer } if *asked == AskId::new(ask) => Some(*answer),
        _ => None,
    })
}

fn heads(outputs: &[Output]) -> Vec<MessageId> {
    let started = outputs.iter().filter_map(|output| match output {
        Output::StartHead { turn_id } => Some(*turn_id),
        _ => None,
    });
    started.collect()
}

impl World {
    /// Answers the outstanding change of the queue.
    fn write_queue(&mut self) -> Vec<Output> {
        let revision = Revision::new(self.session.revision().get() + 1);
        self.feed(Input::QueueCommitted { revision })
    }

    /// Puts entries into the queue of a session whose run 1 is invoked.
    fn with_entries(entries: impl IntoIterator<Item = u64>) -> Self {
        let mut world = Self::new();
        world.invoke(1);
        for entry in entries {
            world.feed(queued(entry));
            world.write_queue();
        }
        world
    }

    /// Completes run `n`.
    fn complete(&mut self, n: u64) -> Vec<Output> {
        self.feed(returned(n));
        self.commit(n)
    }
}

/// ACT-21 [unit]: a message that becomes an entry is answered with its place, counted from 1, and only when the
/// entry is stable; none of it starts while the run goes on.
#[test]
fn a_message_to_a_busy_session_waits_and_is_told_its_place() {
    let mut world = World::new();
    world.invoke(1);
    for (n, position) in [(11, 1), (12, 2)] {
        let asked = world.feed(queued(n));
        let change = Change::Append { ask: AskId::new(n), run_id: RunId::new(n), turn_id: turn(n) };
        assert!(asked.iter().any(
            |output| matches!(output, Output::ChangeQueue { change: c, held: None, .. } if *c == change)
        ));
        assert!(asked.contains(&Output::ReleaseSlot { run_id: RunId::new(n) }));
        assert_eq!(answer_of(&asked, n), None);
        let written = world.write_queue();
        let revision = world.session.revision();
        let queued = StartAnswer::Queued { turn_id: turn(n), position, revision };
        assert_eq!(answer_of(&written, n), Some(queued));
        assert_eq!(heads(&written), []);
    }
    let refused = world.feed(start(13));
    assert!(matches!(answer_of(&refused, 13),
        Some(StartAnswer::Refused(refusal)) if refusal.code == Code::SessionBusy));
}

/// The message that waited in line has its turn from the idle transition; nothing of that is left for the message
/// queued behind it, which the next idle transition starts (STR-12). Found by a search.
#[test]
fn a_trigger_that_found_nothing_waiting_is_over_when_a_turn_begins() {
    let mut world = World::new();
    world.invoke(1);
    world.feed(returned(1));
    world.feed(queued(11));
    world.commit(1);
    world.commit(11);
    world.feed(queued(12));
    world.feed(Input::Launched { run_id: RunId::new(11) });
    assert_eq!(heads(&world.write_queue()), []);
}

#[test]
fn the_idle_transition_starts_the_head_and_each_entry_becomes_one_turn_in_order() {
    let mut world = World::with_entries([11, 12, 13]);
    let mut outputs = world.complete(1);
    for (n, entry) in [(2, 11), (3, 12), (4, 13)] {
        assert_eq!(heads(&outputs), [turn(entry)]);
        let reserved = world.feed(head(n, entry));
        assert!(reserved.iter().any(|output| matches!(output,
            Output::Admit { turn_id, is_head: true, .. } if *turn_id == turn(entry))));
        world.commit(n);
        assert!(!world.session.queue().entries().contains(&turn(entry)));
        world.feed(Input::Launched { run_id: RunId::new(n) });
        outputs = world.feed(Input::WorkerExited { run_id: RunId::new(n) });
        outputs.extend(world.commit(n));
    }
    assert_eq!(heads(&outputs), []);
    assert!(world.session.is_at_rest());
}

/// Also a message that does not ask to be queued goes behind what waits (ADM-17).
#[test]
fn nobody_overtakes_what_waits() {
    let mut world = World::with_entries([11]);
    world.feed(stop(1, 50));
    world.commit(1);
    world.feed(Input::WorkerExited { run_id: RUN });
    assert_eq!(world.session.queue().held(), Some(Code::StoppedByUser));
    assert!(world.session.may_start(world.now).is_ok());
    world.feed(start(12));
    let written = world.write_queue();
    assert!(matches!(answer_of(&written, 12), Some(StartAnswer::Queued { position: 2, .. })));
}

#[test]
fn an_entry_written_while_the_session_becomes_idle_is_started() {
    let mut world = World::new();
    world.invoke(1);
    world.feed(returned(1));
    world.feed(queued(11));
    assert_eq!(heads(&world.commit(1)), []);
    // The message waited for the settlement, found the session free and is started at once.
    assert!(world.log.iter().any(|output| matches!(output,
        Output::Admit { turn_id, is_head: false, .. } if *turn_id == turn(11))));

    let mut world = World::new();
    world.invoke(1);
    world.feed(queued(11));
    world.feed(returned(1));
    // The settlement waits for the entry, which then waits for the settlement.
    assert_eq!(heads(&world.write_queue()), []);
    assert_eq!(heads(&world.commit(1)), [turn(11)]);
}

#[test]
fn a_stop_holds_the_queue_in_its_settlement_until_somebody_resumes_it() {
    let mut world = World::with_entries([11, 12]);
    let accepted = world.feed(stop(1, 50));
    assert_eq!(world.session.queue().held(), Some(Code::StoppedByUser));
    assert!(
        accepted
            .iter()
            .any(|output| matches!(output, Output::Settle { hold: Some(Code::StoppedByUser), .. }))
    );
    assert!(matches!(queue_answer(&world.feed(resume(60)), 60),
        Some(QueueAnswer::Refused(refusal)) if refusal.code == Code::SessionBusy
            && refusal.run_id == Some(RUN)));
    let mut idle = world.commit(1);
    idle.extend(world.feed(Input::WorkerExited { run_id: RUN }));
    assert!(idle.contains(&Output::BecameIdle));
    assert_eq!(heads(&idle), []);
    assert_eq!(heads(&world.feed(Input::QueueTriggered)), []);
    world.pass(Duration::from_secs(3_600));
    assert_eq!(world.session.queue().held(), Some(Code::StoppedByUser));

    world.feed(resume(61));
    let resumed = world.write_queue();
    let revision = world.session.revision();
    assert_eq!(queue_answer(&resumed, 61), Some(QueueAnswer::Resumed { length: 2, revision }));
    assert_eq!(heads(&resumed), [turn(11)]);
}

#[test]
fn a_server_ending_holds_nothing_and_a_stopping_server_starts_nothing() {
    let mut world = World::with_entries([11]);
    world.feed(Input::ServerStopping);
    let ended = world.feed(Input::EndByServer { run_id: RUN, reason: Reason::Shutdown });
    assert!(ended.iter().any(|output| matches!(output, Output::Settle { hold: None, .. })));
    let mut idle = world.commit(1);
    idle.extend(world.feed(Input::WorkerExited { run_id: RUN }));
    assert!(idle.contains(&Output::BecameIdle));
    assert_eq!(heads(&idle), []);
    assert_eq!(world.session.queue().state(), State::Waiting);
}

#[test]
fn a_refused_head_keeps_its_place_while_busy_and_else_holds() {
    let no_slot = SlotFact::Refused { retry_after_ms: 5 };
    for (facts, held) in [
        (StartFacts { slot: no_slot, ..FINE }, None),
        (StartFacts { agent_available: false, ..FINE }, Some(Code::BackendUnavailable)),
    ] {
        let mut world = World::with_entries([11, 12]);
        assert_eq!(heads(&world.complete(1)), [turn(11)]);
        let facts = StartFacts { is_head: true, ..facts };
        let (ask, run_id) = (AskId::new(2), RunId::new(2));
        world.feed(Input::Start(Start { ask, run_id, turn_id: turn(11), facts }));
        assert_eq!(world.session.queue().entries(), [turn(11), turn(12)]);
        assert_eq!(world.session.queue().held(), held);
        if held.is_some() {
            assert!(world.log.iter().any(|output| matches!(
                output,
                Output::ChangeQueue { change: Change::Hold, held: Some(_), .. }
            )));
            world.write_queue();
        }
        let tried = heads(&world.feed(Input::QueueTriggered));
        assert_eq!(tried.is_empty(), held.is_some());
    }
}

#[test]
fn a_failed_admission_or_launch_keeps_the_head_and_holds() {
    for is_admitted in [false, true] {
        let mut world = World::with_entries([11]);
        world.complete(1);
        world.feed(head(2, 11));
        let run_id = RunId::new(2);
        if is_admitted {
            world.commit(2);
            let failed = world.feed(Input::LaunchFailed { run_id });
            assert!(failed.iter().any(|output| matches!(
                output,
                Output::Compensate { requeue: Some(Code::LaunchFailed), .. }
            )));
            world.commit(2);
        } else {
            let failed = world.feed(Input::CommitFailed { run_id });
            assert!(
                failed.iter().any(|output| matches!(
                    output,
                    Output::ChangeQueue { change: Change::Hold, .. }
                ))
            );
            world.write_queue();
        }
        assert_eq!(world.session.queue().entries(), [turn(11)]);
        assert_eq!(world.session.queue().held(), Some(Code::LaunchFailed));
        assert_eq!(world.session.queue().unsaved_hold(), None);
        assert!(world.session.may_start(world.now).is_ok());
    }
}

#[test]
fn removals_wait_for_a_start_under_way_and_find_the_entry_gone_once_accepted() {
    let mut world = World::with_entries([11, 12]);
    world.feed(remove(70, 12));
    let removed = world.write_queue();
    let revision = world.session.revision();
    let answer = QueueAnswer::Removed { turn_id: turn(12), revision };
    assert_eq!(queue_answer(&removed, 70), Some(answer));

    world.complete(1);
    assert_eq!(queue_answer(&world.feed(remove(71, 11)), 71), None);
    world.feed(head(2, 11));
    assert_eq!(queue_answer(&world.commit(2), 71), None);
    let launched = world.feed(Input::Launched { run_id: RunId::new(2) });
    assert_eq!(queue_answer(&launched, 71), Some(QueueAnswer::Gone));
    assert_eq!(world.ended(), [Outcome::Completed]);
}

#[test]
fn messages_behind_a_start_under_way_keep_their_order() {
    let mut world = World::with_entries([11]);
    world.complete(1);
    for n in [12, 13] {
        assert_eq!(world.feed(queued(n)), []);
    }
    world.feed(head(2, 11));
    world.commit(2);
    world.feed(Input::Launched { run_id: RunId::new(2) });
    world.write_queue();
    world.write_queue();
    assert_eq!(world.session.queue().entries(), [turn(12), turn(13)]);
}

#[test]
fn a_change_that_is_not_written_is_told_and_leaves_the_queue() {
    let mut world = World::with_entries([11]);
    world.feed(queued(12));
    let failed = world.feed(Input::QueueCommitFailed);
    assert_eq!(answer_of(&failed, 12), Some(StartAnswer::Unstored));
    world.feed(remove(70, 11));
    let failed = world.feed(Input::QueueCommitFailed);
    assert_eq!(queue_answer(&failed, 70), Some(QueueAnswer::Failed));
    assert_eq!(world.session.queue().entries(), [turn(11)]);
}

#[test]
fn too_many_waiting_changes_are_refused() {
    let mut world = World::with_entries([11]);
    world.complete(1);
    for n in 0..64 {
        assert_eq!(world.feed(remove(100 + n, 11)), []);
    }
    let refused = world.feed(remove(200, 11));
    assert!(matches!(queue_answer(&refused, 200),
        Some(QueueAnswer::Refused(refusal)) if refusal.code == Code::ServerBusy));
}

#[test]
fn an_unsettled_session_lets_entries_go_and_starts_none() {
    let mut world = World::with_entries([11, 12]);
    world.feed(Input::WorkerExited { run_id: RUN });
    for _ in 0..4 {
        world.feed(Input::CommitFailed { run_id: RUN });
    }
    world.feed(remove(70, 11));
    // The settlement is due again while the removal is written, and follows it.
    assert_eq!(world.pass(UNSETTLED_RETRY), []);
    let written = world.write_queue();
    assert!(matches!(queue_answer(&written, 70), Some(QueueAnswer::Removed { .. })));
    assert!(written.iter().any(|output| matches!(output, Output::Settle { .. })));
    assert_eq!(heads(&written), []);
    assert_eq!(heads(&world.commit(1)), [turn(12)]);
}
