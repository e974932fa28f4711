//! Limits of runs on a real server, and what a recovery records of itself.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::client::{Client, LiveView};
use crate::support::process::{Server, Setup};
use crate::support::stored::Stored;

fn server_with(limits: &str) -> Server {
    Setup::fresh().config(&format!("[limits]\n{limits}\n")).start()
}

/// Follows a run to an end by the server; why it ended.
fn ended_by_server(client: &mut Client, view: &mut LiveView) -> Value {
    assert_eq!(client.follow(view), "failed");
    view.terminal.as_ref().unwrap()["reason"].clone()
}

#[track_caller]
fn assert_takes_a_turn(client: &mut Client, session: &str, view: &LiveView) {
    client.wait_idle(session, view.ended);
    // Whatever becomes of it under the same limits, it is accepted.
    client.prompt(session, "next");
}

#[test]
fn a_run_is_ended_at_its_greatest_age_with_what_it_said() {
    let server = server_with("run_max = 1500");
    let mut client = Client::connect(&server);
    let session = client.new_session();
    let began = Instant::now();
    let mut view = client.prompt(&session, "/slow");
    assert_eq!(ended_by_server(&mut client, &mut view), "run_max");
    assert!(began.elapsed() >= Duration::from_millis(1_500));
    let answer = Stored::open(server.state()).messages(&session).remove(1);
    assert_eq!((answer.body.unwrap(), &*answer.status), (view.text(), "failed"));
    let shown = client.history_page(&session)["rows"][1]["extra"].clone();
    assert_eq!((&shown["reason"], &shown["run_id"]), (&json!("run_max"), &json!(view.run)));
    assert_takes_a_turn(&mut client, &session, &view);
}

#[test]
fn a_silent_agent_is_ended_and_one_that_waits_for_an_answer_is_not() {
    let server = server_with("agent_silence_max = 1500");
    let mut client = Client::connect(&server);
    let asking = client.new_session();
    let mut waits = client.prompt(&asking, "/ask");
    let asked = client.wait_for("a question", |frame| frame.kind == "question_asked");
    let session = client.new_session();
    let mut view = client.prompt(&session, "/wedge");
    assert_eq!(ended_by_server(&mut client, &mut view), "agent_silent");
    assert_takes_a_turn(&mut client, &session, &view);
    // By now the question has been open for longer.
    let question = &asked.data["question"];
    let answer = json!({
        "session_id": asking, "question_id": question["question_id"],
        "question_version": question["question_version"], "answer": {"options": ["Red"]},
    });
    client.ask("answer_question", answer).expect("question_resolved");
    assert_eq!(client.follow(&mut waits), "completed");
}

#[test]
fn beyond_the_runs_there_may_be_a_message_is_refused_or_waits() {
    let server = server_with("runs_max = 1");
    let mut client = Client::connect(&server);
    let first = client.new_session();
    let mut view = client.prompt(&first, "/slow");
    let second = client.new_session();
    let refused = client.try_prompt(&second, "refused").expect("message_refused");
    assert_eq!(refused["code"], "server_busy");
    assert!(refused["retry_after_ms"].as_u64() > Some(0), "{refused}");
    let queued = json!({"session_id": second, "text": "waits", "when_busy": "queue"});
    let ack = client.ask("send_message", queued).expect("message_ack");
    assert_eq!((&ack["run_id"], &ack["queue_position"]), (&Value::Null, &json!(1)));
    assert_eq!(client.stop(&first, &view.run)["outcome"], "accepted");
    assert_eq!(client.follow(&mut view), "cancelled");
    client.wait_for("the message that waited", |frame| {
        frame.is("session_item", "session_id", &second)
            && frame.data["item"]["status"] == "idle"
            && frame.data["item"]["message_count"] == 2
    });
    let prompts = Stored::open(server.state()).messages(&second);
    assert_eq!(prompts[0].body.as_deref(), Some("waits"));
}

#[test]
fn a_recovery_records_what_it_did_and_no_content() {
    let mut server = Server::start();
    let mut client = Client::connect(&server);
    let session = client.new_session();
    let mut view = client.prompt(&session, "/slow with some words of a person");
    client.follow_until(&mut view, "text", |view| !view.text().is_empty());
    server.kill9();
    let server = server.restart();
    let stored = Stored::open_checked(server.state());
    let recorded = stored.provenance_of(&view.run);
    let [record] = &recorded[..] else { panic!("{recorded:?}") };
    assert_eq!(record["reason"], "interrupted");
    assert_eq!((&record["source"], &record["target"]), (&json!("journal"), &json!("transcript")));
    assert_eq!((&record["rows_before"], &record["rows_after"]), (&json!(0), &json!(3)));
    assert!(record["at"].as_i64() > Some(0), "{record}");
    let text = record.to_string();
    let said = [view.text(), "words of a person".to_owned()];
    assert!(said.iter().all(|words| !text.contains(words.trim())), "{text}");
}
