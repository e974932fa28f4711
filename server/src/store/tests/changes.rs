//! Changes of a session, and what its runs used.

use proptest::prelude::*;
use runwarden_protocol::session::record::Role;
use runwarden_protocol::session::usage::states_context;
use runwarden_runtime::ports::change::{Change, Choice, FieldsChange, SessionChange};
use runwarden_runtime::ports::store::{KeyEffect, KeyScope, ListSessions};

use super::*;

fn change(expected: u64, what: Change) -> Commit {
    Commit::Change(SessionChange {
        session_id: SESSION,
        expected: Revision::new(expected),
        at: at(7),
        key: None,
        what,
    })
}

fn fields(fields: FieldsChange) -> Change {
    Change::Fields(fields)
}

fn chosen(agent: &str, model: Option<&str>) -> FieldsChange {
    let choice = Choice { agent: agent.to_owned(), model: model.map(str::to_owned) };
    FieldsChange { choice: Some(choice), ..FieldsChange::default() }
}

#[test]
fn a_change_touches_what_it_names_and_raises_the_revision_once() {
    let fixture = Fixture::with_session();
    let before = fixture.head(SESSION);
    let title = FieldsChange { title: Some("Über".to_owned()), ..FieldsChange::default() };
    let done = fixture.commit(change(1, fields(title))).unwrap();
    assert_eq!((done.revision, done.head.activity_at), (Revision::new(2), at(1)));
    let named = fixture.head(SESSION);
    let expected = SessionHead { title: "Über".to_owned(), revision: Revision::new(2), ..before };
    assert_eq!(named, expected);
    let archive = FieldsChange { archived: Some(true), ..FieldsChange::default() };
    fixture.commit(change(2, fields(archive))).unwrap();
    let list = |archived| ListSessions {
        principal: OWNER,
        query: Some("über".to_owned()),
        archived,
        after: None,
        limit: 10,
    };
    let listed = |archived| block_on(fixture.store.sessions(list(archived))).unwrap().len();
    assert_eq!((listed(false), listed(true)), (0, 1));
    let stale = fixture.commit(change(2, fields(chosen("other", None))));
    assert_eq!(stale, Err(StoreFailure::Conflict { current: Revision::new(3) }));
    let fixture = fixture.kill();
    assert_eq!(fixture.head(SESSION).title, "Über");
}

#[test]
fn a_key_names_a_change_and_is_remembered_with_its_revision() {
    let fixture = Fixture::with_session();
    let keyed = SessionChange {
        session_id: SESSION,
        expected: Revision::new(1),
        at: at(7),
        key: key("k", 9),
        what: fields(chosen("other", Some("large"))),
    };
    fixture.commit(Commit::Change(keyed.clone())).unwrap();
    let scope = KeyScope::Session(SESSION);
    let known = block_on(fixture.store.key(scope, "k".to_owned(), at(8))).unwrap().unwrap();
    let expected = (9, KeyEffect::Change, Revision::new(2));
    assert_eq!((known.fingerprint, known.effect, known.revision), expected);
    let again = SessionChange { expected: Revision::new(2), ..keyed };
    let refused = fixture.commit(Commit::Change(again));
    assert!(matches!(refused, Err(StoreFailure::Conflict { .. })), "{refused:?}");
    assert_eq!(fixture.head(SESSION).revision, Revision::new(2));
}

/// AGT-05 [unit], LIST-8 [unit]: agent and model of a run stand in its row as they were at its start; a later
/// choice changes no earlier row, also after a restart.
#[test]
fn a_row_keeps_the_agent_and_model_of_its_run() {
    let fixture = Fixture::with_session();
    let run = |number: u64, expected: u64, agent: &str, model: Option<&str>| {
        let admission = Admission {
            agent: agent.to_owned(),
            model: model.map(str::to_owned),
            ..admission(SESSION, expected, number)
        };
        fixture.commit(Commit::Admit(admission)).unwrap();
        fixture.append(append(number, vec![text(1, "words")])).unwrap();
        fixture.commit(settle(expected + 1, number, Outcome::Completed)).unwrap();
    };
    run(5, 1, "first", Some("small"));
    fixture.commit(change(3, fields(chosen("second", None)))).unwrap();
    run(6, 4, "second", None);
    fixture.commit(change(6, fields(chosen("third", Some("huge"))))).unwrap();
    let fixture = fixture.kill();
    let rows = fixture.rows(SESSION).rows;
    let answers = rows.iter().filter(|row| row.role == Role::Assistant);
    let shown: Vec<_> = answers.map(|row| (row.agent.as_deref(), row.model.as_deref())).collect();
    assert_eq!(shown, [(Some("first"), Some("small")), (Some("second"), None)]);
    let head = fixture.head(SESSION);
    assert_eq!((head.agent.as_str(), head.model.as_deref()), ("third", Some("huge")));
}

#[test]
fn usage_of_a_run_that_is_not_settled_or_not_here_is_refused() {
    let fixture = Fixture::with_session();
    fixture.commit(admit(1, 5)).unwrap();
    let usage = Usage { input: Some(1), ..Usage::UNKNOWN };
    for run in [5, 6] {
        let refused = fixture.commit(change(2, Change::Usage { run_id: RunId::new(run), usage }));
        assert!(matches!(refused, Err(StoreFailure::Missing(_))), "{refused:?}");
    }
    assert_eq!(fixture.head(SESSION).revision, Revision::new(2));
}

#[derive(Clone, Debug)]
enum Step {
    Run(Usage),
    Learned(prop::sample::Index, Usage),
    Kill,
}

fn any_usage() -> impl Strategy<Value = Usage> {
    let value = || prop::option::of(0..1_000_u64);
    let values = (value(), value(), value(), value(), value(), value());
    values.prop_map(|(input, output, cached, cost, context_used, context_max)| Usage {
        input,
        output,
        cached,
        cost,
        context_used,
        context_max,
    })
}

fn any_step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => any_usage().prop_map(Step::Run),
        3 => (any::<prop::sample::Index>(), any_usage())
            .prop_map(|(run, usage)| Step::Learned(run, usage)),
        1 => Just(Step::Kill),
    ]
}

fn counted(runs: &[Usage]) -> Usage {
    let sum = |of: fn(&Usage) -> Option<u64>| runs.iter().filter_map(of).reduce(|a, b| a + b);
    let newest = runs.iter().rev().find(|run| states_context(**run));
    Usage {
        input: sum(|run| run.input),
        output: sum(|run| run.output),
        cached: sum(|run| run.cached),
        cost: sum(|run| run.cost),
        ..newest.copied().unwrap_or_default()
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 16, failure_persistence: None, ..ProptestConfig::default() })]

    /// USE-01 [unit], USE-02 [property]: with any mixture of settlements, of usage learned afterwards and of kills,
    /// every run, its row and the session hold what a plain count of the newest values says.
    #[test]
    fn stored_usage_agrees_with_a_plain_count(steps in prop::collection::vec(any_step(), 1..16)) {
        let mut fixture = Fixture::with_session();
        let (mut runs, mut revision): (Vec<Usage>, u64) = (Vec::new(), 1);
        for step in steps {
            match step {
                Step::Run(usage) => {
                    let run = runs.len() as u64 + 1;
                    fixture.commit(admit(revision, run)).unwrap();
                    fixture.append(append(run, vec![text(1, "words")])).unwrap();
                    let settled =
                        Settlement { usage, ..settlement(revision + 1, run, Outcome::Completed) };
                    fixture.commit(Commit::Settle(settled)).unwrap();
                    runs.push(usage);
                    revision += 2;
                }
                Step::Learned(run, later) if !runs.is_empty() => {
                    let run = run.index(runs.len());
                    runs[run] = runs[run].learned(later);
                    let (run_id, usage) = (RunId::new(run as u64 + 1), runs[run]);
                    fixture.commit(change(revision, Change::Usage { run_id, usage })).unwrap();
                    revision += 1;
                }
                Step::Learned(..) => {}
                Step::Kill => fixture = fixture.kill(),
            }
        }
        let rows = fixture.rows(SESSION).rows;
        for (run, usage) in (1..).zip(&runs) {
            let facts = block_on(fixture.store.run(RunId::new(run))).unwrap().unwrap();
            prop_assert_eq!(facts.usage, *usage);
            let mut answers = rows.iter().filter(|row| row.run_id == RunId::new(run) && row.role == Role::Assistant);
            prop_assert_eq!(answers.next().unwrap().usage, Some(*usage));
        }
        prop_assert_eq!(fixture.head(SESSION).usage, counted(&runs));
    }
}
