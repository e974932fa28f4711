use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::ids::{AskId, QuestionId};
use crate::instant::{Duration, Instant};
use crate::laws::laws;
use crate::machine::{Machine, Outbox, Reject, Scope, TimerKind};
use crate::matrix::assert_matrix;

const NOW: Instant = Instant::from_millis(1_000);
const ASK: AskId = AskId::new(7);

fn step_at(questions: &mut Questions, now: Instant, input: Input) -> Result<Vec<Output>, Reject> {
    let mut out = Outbox::new();
    questions.step(now, input, &mut out)?;
    Ok(out.drain().collect())
}

fn step(questions: &mut Questions, input: Input) -> Vec<Output> {
    step_at(questions, NOW, input).unwrap()
}

fn ticked(questions: &mut Questions, now: Instant) -> Vec<Output> {
    let mut out = Outbox::new();
    questions.tick(now, &mut out);
    out.drain().collect()
}

fn asked(id: u64) -> Input {
    Input::Asked { question_id: QuestionId::new(id), approval: id.is_multiple_of(2) }
}

fn answered(id: u64) -> Input {
    Input::Answered { ask: ASK, question_id: QuestionId::new(id), version: QUESTION_VERSION }
}

fn with_open(ids: impl IntoIterator<Item = u64>) -> Questions {
    let mut questions = <Questions>::new();
    for id in ids {
        step(&mut questions, asked(id));
    }
    questions
}

fn resolved(ids: &[u64], outcome: Resolution, ask: Option<AskId>) -> Output {
    let questions = ids.iter().copied().map(QuestionId::new).collect();
    Output::Resolved { questions, outcome, ask }
}

fn refused(id: u64) -> Output {
    Output::AnswerRefused { ask: ASK, question_id: QuestionId::new(id) }
}

fn open_ids(questions: &Questions) -> Vec<u64> {
    questions.open().map(|question| question.question_id.number()).collect()
}

struct Small;

impl Scope<Questions> for Small {
    fn inputs(&self, _questions: &Questions) -> Vec<Input> {
        let wrong = Input::Answered { ask: ASK, question_id: QuestionId::new(1), version: 2 };
        let mut inputs = vec![wrong];
        inputs.extend([1, 2, 3].map(asked));
        inputs.extend([1, 2].map(answered));
        inputs.extend(
            [
                Resolution::Answered,
                Resolution::Expired,
                Resolution::Cancelled,
                Resolution::Interrupted,
            ]
            .map(|outcome| Input::ResolveAll { outcome }),
        );
        inputs
    }
}

#[test]
fn the_laws_hold_in_every_state_of_a_small_scope() {
    // One expiry for all keeps the scope finite: time moves to it and stays.
    let start = <Questions>::with_timeout(Duration::from_micros(u64::MAX));
    let report = laws(start, &Small, Questions::WEIGHT_MAX).unwrap();
    assert_eq!(
        report.state_names.keys().copied().collect::<Vec<_>>(),
        ["closed", "none_open", "waiting"]
    );
    assert_matrix!("run_questions", &report.matrix);
}

/// ASK-01 [unit]: a question is opened with its own id and version and an expiry 120 s after it was
/// asked, carries whether it is an approval, and is answered by its id alone.
#[test]
fn a_question_is_opened_and_answered_by_its_id() {
    let mut questions = <Questions>::new();
    let expires_at = NOW.plus(Duration::from_secs(120));
    for id in [1, 2] {
        let question_id = QuestionId::new(id);
        let out = step(&mut questions, asked(id));
        assert_eq!(out, [Output::Opened { question_id, version: QUESTION_VERSION, expires_at }]);
    }
    assert_eq!(questions.open().map(|q| q.approval).collect::<Vec<_>>(), [false, true]);
    let out = step(&mut questions, answered(1));
    assert_eq!(out, [resolved(&[1], Resolution::Answered, Some(ASK))]);
    assert_eq!(open_ids(&questions), [2]);
    assert!(questions.is_waiting());
}

/// ASK-02 [unit]: an answer to a question that was never open, was answered, or is named in another
/// version is refused and changes nothing.
#[test]
fn an_answer_to_a_question_that_is_not_open_changes_nothing() {
    let mut questions = with_open([1, 2]);
    step(&mut questions, answered(1));
    let before = questions.clone();
    assert_eq!(step(&mut questions, answered(9)), [refused(9)]);
    assert_eq!(step(&mut questions, answered(1)), [refused(1)]);
    let other = Input::Answered { ask: ASK, question_id: QuestionId::new(2), version: 2 };
    assert_eq!(step(&mut questions, other), [refused(2)]);
    assert_eq!(questions, before);
}

/// RATE-2 [unit], LIM-04 [unit]: the 16th open question is shown, the 17th is refused to its agent and shown to
/// nobody; a resolved one makes room again.
#[test]
fn the_seventeenth_open_question_is_refused_to_the_agent() {
    let mut questions = with_open(1..=15);
    assert!(matches!(step(&mut questions, asked(16))[..], [Output::Opened { .. }]));
    let before = questions.clone();
    let refusal = Output::RefusedToAgent { question_id: QuestionId::new(17) };
    assert_eq!(step(&mut questions, asked(17)), [refusal]);
    assert_eq!(questions, before);
    assert_eq!(questions.weight(), Questions::WEIGHT_MAX);
    step(&mut questions, answered(3));
    assert!(matches!(step(&mut questions, asked(17))[..], [Output::Opened { .. }]));
}

// ASK-03
#[test]
fn a_question_expires_exactly_at_its_time() {
    let mut questions = with_open([1, 2]);
    let due = NOW.plus(ASK_TIMEOUT);
    let early = Instant::from_micros(due.as_micros() - 1);
    assert_eq!(questions.deadline(), Some((due, TimerKind::QuestionExpiry)));
    assert_eq!(ticked(&mut questions, early), []);
    let mut in_time = questions.clone();
    let out = step_at(&mut in_time, early, answered(1)).unwrap();
    assert_eq!(out, [resolved(&[1], Resolution::Answered, Some(ASK))]);
    assert_eq!(ticked(&mut questions, due), [resolved(&[1, 2], Resolution::Expired, None)]);
    assert_eq!(questions.deadline(), None);
}

#[test]
fn an_answer_at_the_expiry_is_late_even_before_the_tick() {
    let mut questions = with_open([1]);
    let out = step_at(&mut questions, NOW.plus(ASK_TIMEOUT), answered(1)).unwrap();
    assert_eq!(out, [resolved(&[1], Resolution::Expired, None), refused(1)]);
    assert!(!questions.is_waiting());
}

// ASK-04, ASK-05
#[test]
fn the_end_of_the_run_resolves_everything_in_one_output_and_nothing_opens_after_it() {
    for outcome in [Resolution::Cancelled, Resolution::Interrupted] {
        let mut questions = with_open([1, 2, 3]);
        let out = step(&mut questions, Input::ResolveAll { outcome });
        assert_eq!(out, [resolved(&[1, 2, 3], outcome, None)]);
        let refusal = Output::RefusedToAgent { question_id: QuestionId::new(4) };
        assert_eq!(step(&mut questions, asked(4)), [refusal]);
        assert_eq!(step(&mut questions, answered(1)), [refused(1)]);
        let again = Input::ResolveAll { outcome: Resolution::Interrupted };
        assert_eq!(step(&mut questions, again), []);
    }
}

#[test]
fn what_no_table_lists_is_turned_away() {
    let mut questions = with_open([1]);
    let before = questions.clone();
    let again = step_at(&mut questions, NOW, asked(1));
    assert_eq!(again, Err(Reject::Local("question_already_open")));
    for outcome in [Resolution::Answered, Resolution::Expired] {
        let result = step_at(&mut questions, NOW, Input::ResolveAll { outcome });
        assert_eq!(result, Err(Reject::Local("not_an_end_of_the_run")));
    }
    assert_eq!(questions, before);
}

#[test]
fn inputs_survive_their_json_form() {
    for input in Small.inputs(&<Questions>::new()) {
        let value = serde_json::to_value(input).unwrap();
        assert!(value["kind"].is_string(), "{value}");
        assert_eq!(serde_json::from_value::<Input>(value).unwrap(), input);
    }
}

proptest! {
    #[test]
    fn every_question_is_resolved_exactly_once(
        acts in prop::collection::vec((0..4_u8, 0..24_u64, 0..60_u64), 0..80),
    ) {
        let mut questions = <Questions>::new();
        let (mut now, mut next, mut open) = (NOW, 0, BTreeMap::<u64, Instant>::new());
        for (act, id, secs) in acts {
            now = now.plus(Duration::from_secs(secs));
            let (before, input) = match act {
                0 | 1 => (open.clone(), Some(asked({ next += 1; next }))),
                2 => (open.clone(), Some(answered(id))),
                _ => (open.clone(), None),
            };
            let outputs = match input {
                Some(input) => step_at(&mut questions, now, input).unwrap(),
                None => ticked(&mut questions, now),
            };
            for output in outputs {
                match output {
                    Output::Opened { question_id, expires_at, .. } => {
                        prop_assert!(open.len() < QUESTIONS_MAX);
                        open.insert(question_id.number(), expires_at);
                    }
                    Output::RefusedToAgent { .. } => prop_assert_eq!(open.len(), QUESTIONS_MAX),
                    Output::Resolved { questions, outcome, .. } => for question in questions {
                        let expires_at = open.remove(&question.number());
                        let late = expires_at.map(|at| at <= now);
                        prop_assert_eq!(late, Some(outcome == Resolution::Expired));
                    },
                    Output::AnswerRefused { question_id, .. } => {
                        let at = before.get(&question_id.number());
                        prop_assert!(at.is_none_or(|at| *at <= now));
                    }
                }
            }
            prop_assert!(open.values().all(|at| *at > now));
            prop_assert_eq!(open_ids(&questions), open.keys().copied().collect::<Vec<_>>());
        }
    }
}
