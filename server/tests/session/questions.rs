//! A question is answered once, by whichever window is first, or ends with its run.

use serde_json::{Value, json};

use crate::runs::assert_settled;
use crate::support::client::{Client, LiveView};
use crate::support::process::{Server, Setup};
use crate::support::stored::Stored;

fn asked(client: &mut Client, session: &str) -> Value {
    let frame =
        client.wait_for("a question", |frame| frame.is("question_asked", "session_id", session));
    frame.data["question"].clone()
}

fn answer(session: &str, question: &Value, colour: &str) -> Value {
    json!({
        "session_id": session,
        "question_id": question["question_id"],
        "question_version": question["question_version"],
        "answer": {"options": [colour]},
    })
}

#[test]
fn an_answer_in_one_window_closes_the_question_in_the_other() {
    let server = Server::start();
    let mut first = Client::connect(&server);
    let session = first.new_session();
    let mut own = first.prompt(&session, "/ask");
    let question = asked(&mut first, &session);
    assert_eq!(question["run_id"], *own.run);
    assert_eq!(question["kind"], "question");
    assert_eq!(question["options"], json!(["Red", "Green", "Blue"]));

    // A window that comes late finds the question open.
    let mut second = Client::connect(&server);
    let manifest = second.open_session(&session);
    assert_eq!(manifest["open_questions"], json!([question]));
    let listed = second.ask("list_questions", json!({"session_id": session}));
    assert_eq!(listed.expect("questions_list")["questions"], json!([question]));
    let mut watched = LiveView::of(&own.run);
    let state = second.get_stream(&session, &own.run, None);
    watched.apply(&state);

    let resolved = second.ask("answer_question", answer(&session, &question, "Blue"));
    let resolved = resolved.expect("question_resolved");
    assert_eq!(resolved["outcome"], "answered");
    let closed = first.wait_for("the question closed", |frame| {
        frame.is("question_resolved", "question_id", question["question_id"].as_str().unwrap())
    });
    assert_eq!(closed.data["outcome"], "answered");
    assert_eq!(closed.data["request_id"], Value::Null);

    // The loser of a race is told so.
    let late = first.ask("answer_question", answer(&session, &question, "Red"));
    assert_eq!(late.expect("answer_refused")["code"], "gone");
    assert_eq!(first.follow(&mut own), "completed");
    assert_eq!(second.follow(&mut watched), "completed");
    assert!(own.text().contains("`Blue`"), "{}", own.text());
    let journal = Stored::open(server.state()).journal(&own.run);
    let noted = journal.iter().map(|row| &row.event).filter(|event| event.starts_with("question_"));
    assert_eq!(own.notes.iter().collect::<Vec<_>>(), noted.collect::<Vec<_>>());
    assert_eq!(own.notes.first().map(String::as_str), Some("question_asked"));
    assert_settled(&server, &mut first, &session, &own, "/ask");
    assert_settled(&server, &mut second, &session, &watched, "/ask");
    assert_eq!(first.open_session(&session)["open_questions"], json!([]));
}

#[test]
fn a_lost_connection_leaves_the_question_open_and_stop_closes_it() {
    let server = Server::start();
    let mut first = Client::connect(&server);
    let session = first.new_session();
    let view = first.prompt(&session, "/ask");
    let question = asked(&mut first, &session);
    first.pull_cable();

    let mut second = Client::connect(&server);
    let manifest = second.open_session(&session);
    assert_eq!(manifest["open_questions"], json!([question]));
    let mut late = LiveView::of(&view.run);
    let state = second.get_stream(&session, &view.run, None);
    late.apply(&state);
    assert_eq!(second.stop(&session, &view.run)["outcome"], "accepted");
    let closed = second.wait_for("the question closed", |frame| {
        frame.is("question_resolved", "question_id", question["question_id"].as_str().unwrap())
    });
    assert_eq!(closed.data["outcome"], "cancelled");
    assert_eq!(second.follow(&mut late), "cancelled");
    let gone = second.ask("answer_question", answer(&session, &question, "Red"));
    assert_eq!(gone.expect("answer_refused")["code"], "gone");
    second.wait_idle(&session, late.ended);
    let mut next = second.prompt(&session, "/fail");
    assert_eq!(second.follow(&mut next), "failed");
}

fn journal_of_questions(server: &Server, run: &str) -> Vec<(String, Value)> {
    let rows = Stored::open(server.state()).journal(run).into_iter();
    rows.filter(|row| row.event.starts_with("question_"))
        .map(|row| (row.event, serde_json::from_str(&row.body).unwrap()))
        .collect()
}

/// ASK_TIMEOUT of the test below; long enough for a window to open meanwhile.
const ASK_TIMEOUT_MS: u64 = 4_000;

#[test]
fn a_question_that_nobody_answers_expires_in_every_window_and_its_run_goes_on() {
    let limits = format!("[limits]\nask_timeout = {ASK_TIMEOUT_MS}\n");
    let server = Setup::fresh().config(&limits).start();
    let mut first = Client::connect(&server);
    let session = first.new_session();
    let mut view = first.prompt(&session, "/ask");
    let question = asked(&mut first, &session);
    let expires_at = question["expires_at"].as_u64().unwrap();
    // A reload finds it open, with the same time.
    first.pull_cable();
    let mut first = Client::connect(&server);
    assert_eq!(first.open_session(&session)["open_questions"], json!([question]));
    let state = first.get_stream(&session, &view.run, None);
    view.apply(&state);
    let mut second = Client::connect(&server);
    second.open_session(&session);
    for client in [&mut first, &mut second] {
        let closed = client.wait_for("the question closed", |frame| {
            frame.is("question_resolved", "question_id", question["question_id"].as_str().unwrap())
        });
        assert_eq!(closed.data["outcome"], "expired");
    }
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    assert!(u64::try_from(now.as_millis()).unwrap() >= expires_at);
    let late = second.ask("answer_question", answer(&session, &question, "Red"));
    assert_eq!(late.expect("answer_refused")["code"], "gone");
    assert_eq!(first.follow(&mut view), "completed");
    assert!(view.text().contains("Nobody answered"), "{}", view.text());
    let journal = journal_of_questions(&server, &view.run);
    assert_eq!(journal.len(), 2, "{journal:?}");
    assert_eq!(journal[1].0, "question_resolved");
    assert_eq!(journal[1].1, json!({"outcome": "expired", "answer": null}));
}

#[test]
fn an_answer_that_is_not_offered_is_refused_and_the_question_stays_open() {
    let server = Server::start();
    let mut client = Client::connect(&server);
    let session = client.new_session();
    let mut view = client.prompt(&session, "/ask");
    let question = asked(&mut client, &session);
    let with = |given: Value| {
        let mut fields = answer(&session, &question, "Red");
        fields["answer"] = given;
        fields
    };
    for wrong in [
        json!({}),
        json!({"choice": "Mauve"}),
        json!({"options": ["Red", "Blue"]}),
        json!({"allow": true}),
    ] {
        let refused = client.ask("answer_question", with(wrong.clone())).expect("answer_refused");
        assert_eq!(refused["code"], "invalid_request", "{wrong}");
    }
    let listed = client.ask("list_questions", json!({"session_id": session}));
    assert_eq!(listed.expect("questions_list")["questions"], json!([question]));
    let resolved = client.ask("answer_question", with(json!({"choice": "Green"})));
    assert_eq!(resolved.expect("question_resolved")["outcome"], "answered");
    assert_eq!(client.follow(&mut view), "completed");
    assert!(view.text().contains("`Green`"), "{}", view.text());
    let journal = journal_of_questions(&server, &view.run);
    assert_eq!(journal[1].1, json!({"outcome": "answered", "answer": {"choice": "Green"}}));
    assert_eq!(view.notes, ["question_asked", "question_resolved"]);
}
