//! Stop against everything else.

use super::world::{AGENT, RUN, World, committed, persisted, returned, start, stop, text};
use crate::ids::{AskId, RunId};
use crate::instant::Duration;
use crate::journal::row::{Outcome, Reason};
use crate::machine::Machine;
use crate::run::Phase;
use crate::run::cache::Notice;
use crate::run::limits::{STOP_KILL_AFTER, STOP_TERM_AFTER, UNSETTLED_RETRY, UNWIND};
use crate::run::lineage::{Input, KnownRun, Output};
use crate::run::settlement::Verdict;
use crate::run::stop::{Answer, StopSignal};
use crate::session::record::Marker;
use crate::wire::structures::SessionStatus;

fn answers(outputs: &[Output]) -> Vec<Answer> {
    outputs
        .iter()
        .filter_map(|output| match output {
            Output::StopAnswered { answer, .. } => Some(*answer),
            _ => None,
        })
        .collect()
}

fn signals(log: &[Output]) -> Vec<StopSignal> {
    log.iter()
        .filter_map(|output| match output {
            Output::Signal { signal, .. } => Some(*signal),
            _ => None,
        })
        .collect()
}

fn settles(log: &[Output]) -> Vec<Verdict> {
    log.iter()
        .filter_map(|output| match output {
            Output::Settle { verdict, .. } => Some(*verdict),
            _ => None,
        })
        .collect()
}

#[test]
fn stop_of_an_invoked_run_interrupts_once_and_is_answered_when_settled() {
    let mut world = World::new();
    world.invoke(1);
    let stopped = world.feed(stop(1, 2));
    assert_eq!(answers(&stopped), []);
    assert_eq!(settles(&stopped), [Verdict::cancelled()]);
    assert_eq!(world.session.status(world.now), SessionStatus::Stopping);
    assert!(!world.session.may_attach(RUN) && world.session.may_stop(RUN));
    assert_eq!(answers(&world.feed(stop(1, 3))), [Answer::Accepted], "a second Stop adds nothing");
    let settled = world.commit(1);
    assert_eq!(answers(&settled), [Answer::Accepted]);
    assert!(world.session.may_start(world.now).is_err(), "the row stays until the worker unwinds");
    world.feed(returned(1));
    assert!(world.feed(Input::WorkerExited { run_id: RUN }).contains(&Output::BecameIdle));
    assert_eq!(signals(&world.log), [StopSignal::Interrupt]);
    assert_eq!(world.ended(), [Outcome::Cancelled]);
    let late = Input::Stop {
        ask: AskId::new(4),
        run_id: RUN,
        known: KnownRun::Ended { outcome: Outcome::Cancelled },
    };
    assert_eq!(answers(&world.feed(late)), [Answer::AlreadyEnded { status: Outcome::Cancelled }]);
}

#[test]
fn a_run_the_session_never_had_is_unknown() {
    assert_eq!(answers(&World::new().feed(stop(5, 1))), [Answer::Unknown]);
}

#[test]
fn stop_while_the_settlement_is_being_saved_follows_the_save() {
    let mut world = World::new();
    world.invoke(1);
    world.feed(returned(1));
    assert_eq!(world.feed(stop(1, 2)), []);
    assert_eq!(answers(&world.commit(1)), [Answer::AlreadyEnded { status: Outcome::Completed }]);
    assert_eq!(world.ended(), [Outcome::Completed]);

    let mut world = World::new();
    world.invoke(1);
    world.feed(returned(1));
    world.feed(stop(1, 2));
    let failed = world.feed(Input::CommitFailed { run_id: RUN });
    assert_eq!(
        settles(&failed),
        [Verdict::cancelled()],
        "the claim lapsed and the Stop is accepted"
    );
    assert_eq!(answers(&world.commit(1)), [Answer::Accepted]);
    assert_eq!(world.ended(), [Outcome::Cancelled]);
}

#[test]
fn stop_before_the_worker_begins_constructs_no_agent() {
    let mut world = World::new();
    world.launch(1);
    world.feed(stop(1, 2));
    let began = world.feed(Input::WorkerBegan { run_id: RUN });
    assert_eq!(began, [Output::ExitWorker { run_id: RUN }]);
    world.commit(1);
    world.feed(Input::WorkerExited { run_id: RUN });
    assert_eq!(world.ended(), [Outcome::Cancelled]);
    assert!(
        world
            .log
            .iter()
            .all(|o| !matches!(o, Output::Construct { .. } | Output::StartWorker { .. }))
    );
}

#[test]
fn stop_during_the_admission_waits_for_its_answer() {
    let mut world = World::new();
    world.feed(start(1));
    assert_eq!(world.feed(stop(1, 2)), []);
    world.feed(committed(1, 2));
    let launched = world.feed(Input::Launched { run_id: RUN });
    assert!(matches!(launched[0], Output::StartAnswered { .. }), "the turn was accepted first");
    assert_eq!(settles(&launched), [Verdict::cancelled()]);
    assert_eq!(answers(&world.commit(1)), [Answer::Accepted]);
}

#[test]
fn stop_between_registration_and_invocation_retires_the_agent_and_interrupts_nothing() {
    let mut world = World::new();
    world.launch(1);
    world.feed(Input::WorkerBegan { run_id: RUN });
    world.feed(Input::AgentConstructed { run_id: RUN, agent: AGENT });
    world.feed(Input::RegistrationAsked { run_id: RUN });
    world.feed(stop(1, 2));
    let refused = world.feed(Input::InvocationAsked { run_id: RUN, agent: AGENT });
    assert_eq!(
        refused,
        [
            Output::TellCache { notice: Notice::Retired },
            Output::Close { agent: AGENT },
            Output::ExitWorker { run_id: RUN }
        ]
    );
    assert_eq!(world.session.cached_agent(), None);
    assert_eq!(signals(&world.log), []);
}

#[test]
fn a_batch_in_flight_is_shown_before_the_cancelled_terminal_and_later_output_is_dropped() {
    let mut world = World::new();
    world.invoke(1);
    world.feed(Input::Produced { run_id: RUN, row: text(1) });
    world.feed(Input::Produced { run_id: RUN, row: text(2) });
    let stopped = world.feed(stop(1, 2));
    assert_eq!(settles(&stopped), [], "the batch in flight is answered first");
    let late = world.feed(Input::Produced { run_id: RUN, row: text(3) });
    assert_eq!(late, [Output::Discard { payloads: vec![text(3).payload.id] }]);
    let answered = world.feed(persisted(1, 1, 1));
    assert!(matches!(answered[0], Output::Published { ref rows, .. } if rows == &[text(1)]));
    assert_eq!(settles(&answered), [Verdict::cancelled()]);
    assert!(world.log.contains(&Output::Discard { payloads: vec![text(2).payload.id] }));
}

#[test]
fn a_failed_batch_at_stop_is_neither_shown_nor_waited_for() {
    let mut world = World::new();
    world.invoke(1);
    world.feed(Input::Produced { run_id: RUN, row: text(1) });
    world.feed(stop(1, 2));
    let failed = world.feed(Input::AppendFailed { run_id: RUN });
    assert!(failed.iter().all(|o| !matches!(o, Output::PublishedDegraded { .. })), "{failed:?}");
    assert_eq!(settles(&failed), [Verdict::cancelled()]);
}

#[test]
fn a_wedged_agent_is_pressed_and_its_row_is_reclaimed_in_the_end() {
    let mut world = World::new();
    world.invoke(1);
    world.feed(stop(1, 2));
    world.commit(1);
    world.pass(STOP_TERM_AFTER);
    world.pass(STOP_KILL_AFTER);
    assert_eq!(
        signals(&world.log),
        [StopSignal::Interrupt, StopSignal::Terminate, StopSignal::Kill]
    );
    let waited = STOP_TERM_AFTER.as_micros() + STOP_KILL_AFTER.as_micros();
    world.pass(Duration::from_micros(UNWIND.as_micros() - waited - 1));
    assert!(world.session.may_start(world.now).is_err());
    world.pass(Duration::from_micros(1));
    assert!(world.log.contains(&Output::BecameIdle));
    world.invoke(2);
    let late = world.feed(Input::Produced { run_id: RUN, row: text(9) });
    assert_eq!(late, [Output::Discard { payloads: vec![text(9).payload.id] }]);
    world.feed(Input::WorkerExited { run_id: RUN });
    assert!(world.session.may_attach(RunId::new(2)), "the successor is untouched");
}

#[test]
fn a_start_reclaims_an_expired_row_in_its_own_step() {
    let mut world = World::new();
    world.invoke(1);
    world.feed(stop(1, 2));
    world.commit(1);
    world.now = world.now.plus(UNWIND);
    let started = world.feed(start(2));
    assert!(started.contains(&Output::ReleaseSlot { run_id: RUN }));
    assert!(started.iter().any(|o| matches!(o, Output::Admit { .. })));
}

#[test]
fn a_cancelled_settlement_that_fails_is_answered_and_tried_again() {
    let mut world = World::new();
    world.invoke(1);
    world.feed(stop(1, 2));
    let mut answered = Vec::new();
    for _ in 0..4 {
        answered = answers(&world.feed(Input::CommitFailed { run_id: RUN }));
    }
    assert_eq!(answered, [Answer::Accepted]);
    assert_eq!(world.session.status(world.now), SessionStatus::Unsettled);
    world.feed(returned(1));
    world.feed(Input::WorkerExited { run_id: RUN });
    world.pass(UNSETTLED_RETRY);
    world.commit(1);
    assert_eq!(world.ended(), [Outcome::Cancelled]);
    world.launch(2);
}

#[test]
fn the_server_ends_a_run_as_interrupted_with_its_reason() {
    let mut world = World::new();
    world.invoke(1);
    world.feed(Input::EndByServer { run_id: RUN, reason: Reason::Shutdown });
    let verdict = settles(&world.log)[0];
    assert_eq!(verdict.outcome, Outcome::Interrupted);
    assert_eq!(verdict.reason, Some(Reason::Shutdown));
    assert_eq!(verdict.marker, Some(Marker::Interrupted));
    assert_eq!(signals(&world.log), [StopSignal::Interrupt]);
    world.commit(1);
    world.feed(returned(1));
    world.feed(Input::WorkerExited { run_id: RUN });
    assert!(world.session.may_start(world.now).is_ok());
}

#[test]
fn phases_are_shown_in_order() {
    let mut world = World::new();
    world.invoke(1);
    world.feed(returned(1));
    world.commit(1);
    let phases: Vec<_> = world
        .log
        .iter()
        .filter_map(|output| match output {
            Output::PhaseChanged { phase, .. } => Some(*phase),
            _ => None,
        })
        .collect();
    assert_eq!(phases, [Phase::Starting, Phase::Running, Phase::Finalizing]);
    assert_eq!(world.session.deadline(), None);
}

#[test]
fn a_worker_that_returned_exits_when_the_stop_takes_its_settlement() {
    let exit = Output::ExitWorker { run_id: RUN };
    let mut held = World::new();
    held.invoke(1);
    held.feed(returned(1));
    assert!(!held.feed(stop(1, 2)).contains(&exit), "the settlement is unanswered");
    assert!(held.feed(Input::CommitFailed { run_id: RUN }).contains(&exit));

    let mut waiting = World::new();
    waiting.invoke(1);
    waiting.feed(Input::Produced { run_id: RUN, row: text(1) });
    waiting.feed(returned(1));
    assert!(waiting.feed(stop(1, 2)).contains(&exit));
    waiting.feed(Input::WorkerExited { run_id: RUN });
    waiting.feed(persisted(1, 1, 1));
    waiting.commit(1);
    assert_eq!(waiting.ended(), [Outcome::Cancelled]);
    assert_eq!(waiting.session.status(waiting.now), SessionStatus::Idle);
}

#[test]
fn a_stop_of_a_lost_run_is_answered_when_its_end_is_stable() {
    let mut world = World::new();
    world.invoke(1);
    world.feed(Input::WorkerExited { run_id: RUN });
    assert!(answers(&world.feed(stop(1, 2))).is_empty(), "recovery is not saved");
    let ended = Answer::AlreadyEnded { status: Outcome::Failed };
    assert_eq!(answers(&world.commit(1)), [ended]);

    let mut failing = World::new();
    failing.invoke(1);
    failing.feed(Input::WorkerExited { run_id: RUN });
    failing.feed(stop(1, 2));
    let mut told = Vec::new();
    for _ in 0..4 {
        told.extend(answers(&failing.feed(Input::CommitFailed { run_id: RUN })));
    }
    told.extend(answers(&failing.feed(stop(1, 3))));
    assert_eq!(told, [Answer::Refused, Answer::Refused]);
    failing.pass(UNSETTLED_RETRY);
    failing.commit(1);
    assert_eq!(failing.ended(), [Outcome::Failed]);
}
