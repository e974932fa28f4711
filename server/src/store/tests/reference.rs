//! Random histories against a plain model in memory.

use proptest::prelude::*;
use runwarden_protocol::ids::Seq;
use runwarden_protocol::session::record::Role;

use super::*;

#[derive(Clone, Debug)]
enum Step {
    Admit,
    StaleAdmit,
    Append(Vec<String>),
    StartWorker,
    Settle(bool),
    Kill,
}

#[derive(Default)]
struct Model {
    revision: u64,
    run: u64,
    open: Option<Vec<String>>,
    transcript: Vec<(Role, String)>,
}

fn any_step() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => Just(Step::Admit),
        1 => Just(Step::StaleAdmit),
        5 => prop::collection::vec("[a-c]{0,3}", 0..4).prop_map(Step::Append),
        2 => Just(Step::StartWorker),
        3 => any::<bool>().prop_map(Step::Settle),
        1 => Just(Step::Kill),
    ]
}

fn take(fixture: Fixture, model: &mut Model, step: Step) -> Fixture {
    match step {
        Step::Admit => {
            let admitted = fixture.commit(admit(model.revision, model.run + 1));
            assert_eq!(admitted.is_ok(), model.open.is_none());
            if model.open.is_none() {
                model.run += 1;
                model.revision += 1;
                model.open = Some(Vec::new());
            }
        }
        Step::StaleAdmit => {
            let refused = fixture.commit(admit(model.revision + 1, model.run + 1));
            let current = Revision::new(model.revision);
            assert_eq!(refused, Err(StoreFailure::Conflict { current }));
        }
        Step::Append(texts) => {
            let rows: Vec<NewRow> = texts.iter().map(|body| text(1, body)).collect();
            let appended = fixture.append(append(model.run, rows));
            match &mut model.open {
                Some(open) => {
                    let first_seq = Seq::new(open.len() as u64 + 1);
                    let count = u32::try_from(texts.len()).unwrap();
                    assert_eq!(appended, Ok(Persisted { first_seq, count }));
                    open.extend(texts);
                }
                None => assert!(appended.is_err()),
            }
        }
        Step::StartWorker => {
            let run_id = RunId::new(model.run);
            let start = Commit::StartWorker { session_id: SESSION, run_id, at: at(1) };
            assert_eq!(fixture.commit(start).is_ok(), model.open.is_some());
        }
        Step::Settle(completed) => {
            let outcome = if completed { Outcome::Completed } else { Outcome::Failed };
            let settled = fixture.commit(settle(model.revision, model.run, outcome));
            assert_eq!(settled.is_ok(), model.open.is_some());
            if let Some(rows) = model.open.take() {
                model.revision += 1;
                model.transcript.push((Role::User, format!("message of run {}", model.run)));
                if !rows.is_empty() {
                    model.transcript.push((Role::Assistant, rows.concat()));
                }
            }
        }
        Step::Kill => return fixture.kill(),
    }
    fixture
}

fn compare(fixture: &Fixture, model: &Model) {
    let page = fixture.rows(SESSION);
    let stored: Vec<(Role, String)> =
        page.rows.iter().map(|row| (row.role, row.body.clone().unwrap())).collect();
    assert_eq!(stored, model.transcript);
    assert_eq!(page.head.revision.get(), model.revision);
    assert_eq!(page.head.pending.is_some(), model.open.is_some());
    assert_eq!(page.head.message_count, model.transcript.len() as u64);
    let mut head = None;
    for row in &page.rows {
        assert_eq!(row.predecessor, head);
        head = Some(row.message_id);
    }
    assert_eq!(page.head.head_id, head);
    if let Some(rows) = &model.open {
        let journal = block_on(fixture.store.journal(RunId::new(model.run), Seq::ZERO)).unwrap();
        let bodies: Vec<&str> = journal.rows.iter().map(|row| row.body.as_str()).collect();
        assert_eq!(bodies, rows.iter().map(String::as_str).collect::<Vec<_>>());
    }
    compare_turns(fixture, model);
    let unsettled = block_on(fixture.store.unsettled()).unwrap();
    assert_eq!(unsettled.len(), usize::from(model.open.is_some()));
}

/// Each turn has `submitted`, then at most one `worker_started`, then one terminal once it is over.
fn compare_turns(fixture: &Fixture, model: &Model) {
    let raw = fixture.raw();
    let mut statement = raw
        .prepare(
            "SELECT group_concat(step, ' ' ORDER BY step), max(turn_journal.outcome), runs.outcome
             FROM turn_journal JOIN runs USING (turn_id) GROUP BY turn_id",
        )
        .unwrap();
    let turns = statement
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
        .unwrap()
        .collect::<rusqlite::Result<Vec<(String, Option<String>, Option<String>)>>>()
        .unwrap();
    assert_eq!(turns.len() as u64, model.run);
    let open = turns.iter().filter(|(steps, ..)| matches!(steps.as_str(), "0" | "0 1")).count();
    let over = turns.iter().filter(|(steps, ..)| matches!(steps.as_str(), "0 2" | "0 1 2")).count();
    assert_eq!((open, open + over), (usize::from(model.open.is_some()), turns.len()));
    assert!(turns.iter().all(|(_, of_turn, of_run)| of_turn == of_run));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    /// SES-2 [property], JRN-01 [property], TRN-01 [property]: whatever is asked and whenever the process is killed, each
    /// commit raises the revision by one, rows are numbered 1..n, and transcript and journal hold what was answered.
    #[test]
    fn the_store_agrees_with_a_plain_model(steps in prop::collection::vec(any_step(), 1..40)) {
        let mut model = Model { revision: 1, ..Model::default() };
        let mut fixture = Fixture::with_session();
        for step in steps {
            fixture = take(fixture, &mut model, step);
        }
        compare(&fixture, &model);
        compare(&fixture.kill(), &model);
    }
}
