//! Tables 5.5.1 and 5.5.2, and the bounds of the answer.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::wire::frames::{Frame, StreamNote};
use crate::wire::structures::{
    NumberedFrame, Question, QuestionKind, Replay, ReplayState, ReturnedSteer, RunOutcome,
    StreamResume, Terminal,
};

const STORE: &str = "00000000000000aa";

fn known(revision: i64, seqs: &[(&str, i64)]) -> KnownState {
    KnownState {
        store_id: STORE.to_owned(),
        session_revision: revision,
        stream_seqs: seqs.iter().map(|(id, seq)| ((*id).to_owned(), *seq)).collect(),
        schema_version: SCHEMA_VERSION,
    }
}

fn given(revision: u64, commits: Option<usize>) -> Given<'static> {
    Given { store_id: STORE, revision: Revision::new(revision), commits }
}

fn running(last: u64, is_covered: bool) -> Entity {
    Entity::Running { last_seq: Seq::new(last), is_covered }
}

fn ended(last: u64) -> Entity {
    Entity::Ended { last_seq: Seq::new(last) }
}

fn reason(plan: &Plan) -> Option<RecoveryReason> {
    match plan {
        Plan::Manifest(reason) => *reason,
        Plan::Resume { .. } => panic!("{plan:?}"),
    }
}

/// SES-17 [unit], SES-18 [unit]: what cannot be resumed gets a manifest with the first reason of the table that applies.
#[test]
fn what_cannot_be_resumed_says_why() {
    use RecoveryReason::{ClientAhead, Evicted, Restart, Schema};
    let good = known(5, &[("run_a", 3)]);
    assert_eq!(reason(&plan(None, given(9, None), &[], &[])), None);
    let other_store = KnownState { store_id: "x".to_owned(), schema_version: 0, ..good.clone() };
    let other_schema = KnownState { schema_version: 0, session_revision: 99, ..good.clone() };
    let cases = [
        (other_store, given(9, Some(4)), running(3, true), ClientAhead),
        (other_schema, given(9, Some(4)), running(3, true), Schema),
        (known(10, &[("run_a", 3)]), given(9, None), running(3, true), ClientAhead),
        (good.clone(), given(9, None), running(2, true), ClientAhead),
        (good.clone(), given(9, Some(4)), ended(2), ClientAhead),
        (good.clone(), given(9, None), Entity::Unknown, Evicted),
        (good.clone(), given(9, Some(4)), Entity::Unknown, Restart),
    ];
    for (known, given, entity, expected) in cases {
        let plan = plan(Some(&known), given, &[entity], &[]);
        assert_eq!(reason(&plan), Some(expected), "{known:?} {given:?} {entity:?}");
    }
}

/// Every line of table 5.5.2; what is missing counts commits and the deltas that are sent.
#[test]
fn each_entity_goes_on_by_its_line() {
    use ResumeMode::{Deltas, Fetch, Terminal};
    let seqs = [("a", 4), ("b", 4), ("c", 4), ("d", 4), ("e", 0)];
    let named =
        [running(4, false), running(9, true), running(9, false), ended(9), running(1, true)];
    let live: Vec<(String, Seq)> = [("a", 4), ("b", 9), ("c", 9), ("e", 1), ("f", 7)]
        .map(|(id, seq)| (id.to_owned(), Seq::new(seq)))
        .into();
    let plan = plan(Some(&known(5, &seqs)), given(9, Some(4)), &named, &live);
    let Plan::Resume { missing, streams } = plan else { panic!() };
    let told: Vec<_> = streams
        .iter()
        .map(|s| (s.entity_id.as_str(), s.mode, s.from_seq.get(), s.last_seq.get()))
        .collect();
    let expected = [
        ("b", Deltas, 4, 9),
        ("c", Fetch, 4, 9),
        ("d", Terminal, 4, 9),
        ("e", Deltas, 0, 1),
        ("f", Fetch, 0, 7),
    ];
    assert_eq!(told, expected);
    assert_eq!(missing, 4 + 5 + 1);
}

/// 64 missing deltas have 262,144 bytes, 65 have 524,288.
#[test]
fn the_budget_follows_what_is_missing() {
    for (missing, bytes) in [(0, 262_144), (63, 262_144), (64, 262_144), (65, 524_288)] {
        assert_eq!(bytes_max(missing), bytes, "{missing}");
    }
}

fn resume() -> SessionResume {
    SessionResume {
        request_id: Some("r".repeat(128)),
        session_id: "ses_0000000000000001".to_owned(),
        generation: 1,
        from_revision: 1,
        session_revision: 2,
        ops: vec![],
        streams: vec![],
        open_error_ids: vec![],
        open_questions: vec![],
    }
}

fn question(n: usize, prompt: usize) -> Question {
    Question {
        question_id: format!("que_{n:016x}"),
        run_id: None,
        kind: QuestionKind::Question,
        question_version: 1,
        prompt: "p".repeat(prompt),
        marker: None,
        options: vec![],
        multi: false,
        allow_custom: true,
        expires_at: 0,
    }
}

fn stream(n: usize, deltas: usize, returned: usize) -> StreamResume {
    let note = || {
        NumberedFrame::StreamNote(StreamNote {
            session_id: String::new(),
            entity_id: String::new(),
            base_seq: 0,
            stream_seq: 1,
            names: vec!["n".repeat(3_400)],
        })
    };
    let terminal = (returned > 0).then(|| Terminal {
        status: RunOutcome::Completed,
        reason: None,
        complete: true,
        committed_in: None,
        returned_steers: (0..returned)
            .map(|n| ReturnedSteer {
                steer_id: format!("steer_{n:016x}"),
                text: "s".repeat(32_768),
            })
            .collect(),
        usage: None,
        row: None,
        error: None,
    });
    StreamResume {
        entity_id: format!("run_{n:016x}"),
        mode: ResumeMode::Deltas,
        replay: Replay { state: ReplayState::Complete, reason: None },
        from_seq: 0,
        stream_seq: Some(1),
        deltas: (0..deltas).map(|_| note()).collect(),
        terminal,
    }
}

fn bytes(resume: &SessionResume) -> usize {
    Frame::SessionResume(Box::new(resume.clone())).to_text().len()
}

#[test]
fn the_answer_is_counted_as_it_is_sent() {
    let resume = resume();
    let exact = bytes(&resume);
    assert!(fits(&resume, exact) && !fits(&resume, exact - 1));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    /// SES-21 [property], SES-22 [property]: with at most 64 deltas the answer fits its 262,144 bytes whatever else it lists,
    /// and what had to give way are prompts and words, not deltas; beyond it fits its budget or says that it does not.
    #[test]
    fn a_guaranteed_resume_fits(
        deltas in 0usize..160,
        questions in prop::collection::vec(0usize..8_192, 0..110),
        terminals in prop::collection::vec(0usize..17, 0..4),
        errors in 0usize..130,
    ) {
        let mut resume = resume();
        resume.streams.push(stream(0, deltas, 0));
        resume.streams.extend(terminals.iter().enumerate().map(|(n, steers)| stream(n, 0, *steers)));
        resume.open_questions = questions.iter().enumerate().map(|(n, p)| question(n, *p)).collect();
        resume.open_error_ids = (0..errors).map(|n| format!("err_{n:032x}")).collect();
        let budget = bytes_max(deltas);
        let did_fit = fit(&mut resume, budget);
        prop_assert_eq!(did_fit, bytes(&resume) <= budget);
        prop_assert!(did_fit || deltas > 64);
        prop_assert_eq!(resume.streams[0].deltas.len(), deltas);
        prop_assert!(resume.open_error_ids.len() <= 100 && resume.open_questions.len() <= 100);
        let ids: Vec<_> = resume.streams.iter().map(|stream| stream.entity_id.clone()).collect();
        prop_assert_eq!(ids.len(), terminals.len() + 1);
        let _: BTreeMap<_, _> = ids.into_iter().map(|id| (id, ())).collect();
    }

    /// SES-19 [property], SES-20 [property]: the plan resumes exactly when everything the client names is known and
    /// covered, and then each named entity that moved or ended, and each other live one, has one entry.
    #[test]
    fn the_plan_follows_the_tables(
        seqs in prop::collection::btree_map("[a-e]", (0i64..6, 0u64..6, 0u8..4), 0..5),
        revision in 0i64..6,
        current in 0u64..6,
        covered: bool,
    ) {
        let entities: Vec<Entity> = seqs.values().map(|(_, last, kind)| match kind {
            0 => running(*last, true),
            1 => running(*last, false),
            2 => ended(*last),
            _ => Entity::Unknown,
        }).collect();
        let pairs: Vec<(&str, i64)> = seqs.iter().map(|(id, (seq, ..))| (id.as_str(), *seq)).collect();
        let live = vec![("z".to_owned(), Seq::new(3))];
        let missing_commits = (current as i64) - revision;
        let commits = covered.then_some(missing_commits.max(0) as usize);
        let known = known(revision, &pairs);
        let is_known = seqs.values().all(|(seq, last, kind)| *kind < 3 && *seq <= *last as i64);
        match plan(Some(&known), given(current, commits), &entities, &live) {
            Plan::Manifest(reason) => {
                prop_assert!(reason.is_some());
                prop_assert!(!(covered && is_known && missing_commits >= 0));
            }
            Plan::Resume { missing, streams } => {
                prop_assert!(covered && is_known && missing_commits >= 0);
                let mut rows = 0;
                for (id, (seq, last, kind)) in &seqs {
                    let told = streams.iter().filter(|stream| stream.entity_id == *id);
                    let modes: Vec<_> = told.map(|stream| stream.mode).collect();
                    let moved = *seq < *last as i64;
                    let expected = match kind {
                        0 if moved => vec![ResumeMode::Deltas],
                        1 if moved => vec![ResumeMode::Fetch],
                        2 => vec![ResumeMode::Terminal],
                        _ => vec![],
                    };
                    rows += if *kind == 0 { last - *seq as u64 } else { 0 };
                    prop_assert_eq!(modes, expected);
                }
                prop_assert_eq!(missing as u64, missing_commits as u64 + rows);
                prop_assert_eq!(streams.last().map(|s| (s.entity_id.as_str(), s.mode)), Some(("z", ResumeMode::Fetch)));
            }
        }
    }
}
