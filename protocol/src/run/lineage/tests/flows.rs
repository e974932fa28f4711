//! From a start to its settlement.

use super::world::{
    FINE, QUESTION, RUN, World, committed, found, persisted, question_row, returned, start, text,
};
use crate::ids::{AgentId, AskId, MessageId, Revision, RunId, Seq};
use crate::instant::{Duration, Instant};
use crate::journal::row::{Outcome, Reason};
use crate::machine::{Machine, Reject, TimerKind};
use crate::run::Phase;
use crate::run::admission::{KeyFact, StartFacts};
use crate::run::limits::{AGENT_SILENCE_MAX, UNSETTLED_RETRY};
use crate::run::lineage::{Input, Output, Start, StartAnswer};
use crate::run::questions::Resolution;
use crate::run::recovery::Found;
use crate::session::record::Marker;
use crate::wire::codes::Code;
use crate::wire::structures::SessionStatus;

fn refusal(outputs: &[Output]) -> Option<(Code, Option<RunId>, Option<Phase>)> {
    outputs.iter().find_map(|output| match output {
        Output::StartAnswered { answer: StartAnswer::Refused(r), .. } => {
            Some((r.code, r.run_id, r.phase))
        }
        _ => None,
    })
}

#[test]
fn a_start_is_acknowledged_only_after_it_is_durable_and_launched() {
    let mut world = World::new();
    let reserved = world.feed(start(1));
    assert!(
        matches!(reserved[..], [Output::Admit { expected, .. }] if expected == Revision::new(1))
    );
    let admitted = world.feed(committed(1, 2));
    assert!(admitted.contains(&Output::Launch { run_id: RUN }));
    assert!(!admitted.iter().any(|o| matches!(o, Output::StartAnswered { .. })));
    let launched = world.feed(Input::Launched { run_id: RUN });
    let started = StartAnswer::Started {
        run_id: RUN,
        turn_id: MessageId::new(1),
        pending_started_at: Instant::ZERO,
        revision: Revision::new(2),
    };
    assert_eq!(launched, [Output::StartAnswered { ask: AskId::new(1), answer: started }]);
}

#[test]
fn a_completed_run_is_settled_after_its_last_row_and_leaves_the_session_free() {
    let mut world = World::new();
    world.invoke(1);
    world.feed(Input::Produced { run_id: RUN, row: text(1) });
    assert!(!world.feed(returned(1)).iter().any(|o| matches!(o, Output::Settle { .. })));
    let answered = world.feed(persisted(1, 1, 1));
    assert!(matches!(answered[0], Output::Published { first_seq, .. } if first_seq == Seq::new(1)));
    assert!(matches!(answered[1], Output::Settle { .. }), "{answered:?}");
    let settled = world.commit(1);
    assert_eq!(world.ended(), [Outcome::Completed]);
    assert!(
        settled.contains(&Output::BecameIdle) && settled.contains(&Output::Forget { run_id: RUN })
    );
    assert_eq!(world.session.status(world.now), SessionStatus::Idle);
    assert_eq!(world.session.cached_agent(), Some(AgentId::new(1)), "kept for the next turn");
}

#[test]
fn a_settlement_answered_with_another_number_is_turned_away() {
    let mut world = World::new();
    world.invoke(1);
    world.feed(Input::Produced { run_id: RUN, row: text(1) });
    world.feed(returned(1));
    world.feed(persisted(1, 1, 1));
    let answer = |seq| Input::Committed {
        run_id: RUN,
        revision: Revision::new(3),
        terminal_seq: Some(Seq::new(seq)),
    };
    for wrong in [1, 3] {
        let refused = world.try_feed(answer(wrong));
        assert_eq!(refused, Err(Reject::Local("terminal_seq_not_next")));
    }
    world.feed(answer(2));
    assert_eq!(world.ended(), [Outcome::Completed]);
}

#[test]
fn the_next_turn_borrows_the_cached_agent() {
    let mut world = World::new();
    world.invoke(1);
    world.feed(returned(1));
    world.commit(1);
    world.invoke(2);
    let constructed = world.log.iter().filter(|o| matches!(o, Output::Construct { .. })).count();
    assert_eq!(constructed, 1);
}

#[test]
fn a_second_start_is_refused_with_run_and_phase_and_gives_its_slot_back() {
    let mut world = World::new();
    world.feed(start(1));
    let refused = world.feed(start(2));
    assert_eq!(refusal(&refused), Some((Code::SessionBusy, Some(RUN), Some(Phase::Starting))));
    assert_eq!(refused[0], Output::ReleaseSlot { run_id: RunId::new(2) });
    assert!(!world.session.holds(RunId::new(2)));
}

#[test]
fn a_repeated_key_is_answered_by_its_first_outcome() {
    let mut world = World::new();
    let facts = StartFacts { key: KeyFact::SameContent, ..FINE };
    let repeated = Start { ask: AskId::new(5), run_id: RUN, turn_id: MessageId::new(1), facts };
    let outputs = world.feed(Input::Start(repeated));
    let answer = StartAnswer::Repeated;
    assert_eq!(outputs[1], Output::StartAnswered { ask: AskId::new(5), answer });
}

#[test]
fn a_failed_admission_leaves_nothing_behind() {
    let mut world = World::new();
    world.feed(start(1));
    let failed = world.feed(Input::CommitFailed { run_id: RUN });
    assert_eq!(refusal(&failed), Some((Code::LaunchFailed, None, None)));
    assert!(failed.contains(&Output::Forget { run_id: RUN }));
    assert!(failed.contains(&Output::ReleaseSlot { run_id: RUN }));
    world.invoke(2);
}

#[test]
fn a_failed_launch_is_compensated_before_it_is_answered() {
    let mut world = World::new();
    world.feed(start(1));
    world.feed(committed(1, 2));
    let failed = world.feed(Input::LaunchFailed { run_id: RUN });
    assert!(matches!(failed[..], [Output::Compensate { .. }]));
    let compensated = world.commit(1);
    assert_eq!(refusal(&compensated), Some((Code::LaunchFailed, None, None)));
    assert_eq!(world.session.status(world.now), SessionStatus::Idle);
}

#[test]
fn a_lost_worker_is_settled_failed() {
    let mut world = World::new();
    world.invoke(1);
    let lost = world.feed(Input::WorkerExited { run_id: RUN });
    let settle = lost.iter().find_map(|output| match output {
        Output::Settle { verdict, recovery, .. } => Some((*verdict, *recovery)),
        _ => None,
    });
    let (verdict, recovery) = settle.unwrap();
    assert!(recovery);
    assert_eq!((verdict.outcome, verdict.reason), (Outcome::Failed, Some(Reason::WorkerLost)));
    assert_eq!(refusal(&world.feed(start(2))).map(|r| r.0), Some(Code::LivenessUnreadable));
    world.commit(1);
    assert_eq!(world.ended(), [Outcome::Failed]);
    world.launch(3);
}

#[test]
fn a_run_found_at_start_is_interrupted_once_and_frees_the_session() {
    let mut world = World::new();
    let recover = Input::Recover(found(7));
    let outputs = world.feed(recover.clone());
    let settle = outputs.iter().any(|output| {
        matches!(output, Output::Settle { verdict, recovery: true, .. }
            if verdict.outcome == Outcome::Interrupted && verdict.marker == Some(Marker::Interrupted))
    });
    assert!(settle, "{outputs:?}");
    assert_eq!(world.try_feed(recover), Err(Reject::Local("not_at_start")));
    world.commit(1);
    assert_eq!(world.ended(), [Outcome::Interrupted]);
    world.launch(2);
}

#[test]
fn a_terminal_that_recovery_finds_is_the_end_and_its_number_stands() {
    let mut world = World::new();
    let terminal = Some(Outcome::Completed);
    world.feed(Input::Recover(Found { terminal, ..found(7) }));
    let (run_id, revision) = (RUN, world.session.revision().plus(1));
    world.feed(Input::Committed { run_id, revision, terminal_seq: Some(Seq::new(5)) });
    assert_eq!(world.ended(), [Outcome::Completed]);
    world.launch(2);
}

#[test]
fn a_superseded_run_is_settled_beside_the_record() {
    let mut world = World::new();
    let superseded_by = Some(RunId::new(2));
    world.feed(Input::Recover(Found { superseded_by, ..found(7) }));
    let turn_id = MessageId::new(2);
    let second = Found { run_id: RunId::new(2), turn_id, ..found(0) };
    let both = world.feed(Input::Recover(second));
    assert!(!both.iter().any(|output| matches!(output, Output::Settle { .. })), "one at a time");
    let revision = world.session.revision();
    let terminal_seq = Some(Seq::new(8));
    let next = world.feed(Input::Committed { run_id: RUN, revision, terminal_seq });
    assert!(next.iter().any(|output| matches!(output, Output::Settle { .. })), "{next:?}");
    assert_eq!(world.ended(), [Outcome::Superseded]);
    world.commit(2);
    assert_eq!(world.ended(), [Outcome::Superseded, Outcome::Interrupted]);
    world.launch(3);
}

#[test]
fn recovery_that_cannot_commit_leaves_the_session_unsettled_and_is_tried_again() {
    let mut world = World::new();
    world.invoke(1);
    world.feed(Input::WorkerExited { run_id: RUN });
    for _ in 0..4 {
        world.feed(Input::CommitFailed { run_id: RUN });
    }
    assert_eq!(world.session.status(world.now), SessionStatus::Unsettled);
    assert_eq!(refusal(&world.feed(start(2))).map(|r| r.0), Some(Code::LivenessUnreadable));
    let retry_at = world.now.plus(UNSETTLED_RETRY);
    assert_eq!(world.session.deadline(), Some((retry_at, TimerKind::UnsettledRetry)));
    assert!(world.pass(UNSETTLED_RETRY).iter().any(|o| matches!(o, Output::Settle { .. })));
    assert!(world.commit(1).contains(&Output::BecameIdle));
}

#[test]
fn a_question_waits_for_its_answer_and_closes_everywhere() {
    let mut world = World::new();
    world.invoke(1);
    world.feed(Input::QuestionAsked {
        run_id: RUN,
        question_id: QUESTION,
        approval: false,
        row: question_row(1),
    });
    world.feed(persisted(1, 1, 1));
    assert_eq!(world.session.status(world.now), SessionStatus::Waiting);
    let answer = Input::Answer { ask: AskId::new(9), question_id: QUESTION, version: 1 };
    let answered = world.feed(answer.clone());
    assert!(answered.contains(&Output::QuestionsResolved {
        run_id: RUN,
        questions: vec![QUESTION],
        outcome: Resolution::Answered,
        ask: Some(AskId::new(9)),
    }));
    let again = world.feed(answer);
    assert_eq!(again, [Output::AnswerRefused { ask: AskId::new(9), question_id: QUESTION }]);
}

#[test]
fn a_silent_agent_is_ended_at_the_limit_and_not_before() {
    let mut world = World::new();
    world.invoke(1);
    world.pass(Duration::from_micros(AGENT_SILENCE_MAX.as_micros() - 1));
    assert!(world.log.iter().all(|o| !matches!(o, Output::Signal { .. })));
    world.pass(Duration::from_micros(1));
    assert!(world.log.iter().any(|o| matches!(o, Output::Signal { .. })));
    world.commit(1);
    assert_eq!(world.ended(), [Outcome::Failed]);
}

#[test]
fn silence_does_not_count_while_a_question_is_open() {
    let mut world = World::new();
    world.invoke(1);
    world.pass(Duration::from_micros(AGENT_SILENCE_MAX.as_micros() - 1));
    world.feed(Input::QuestionAsked {
        run_id: RUN,
        question_id: QUESTION,
        approval: false,
        row: question_row(1),
    });
    world.pass(Duration::from_secs(1));
    assert_eq!(world.session.status(world.now), SessionStatus::Waiting);
}
