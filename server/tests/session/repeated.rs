//! A repeated request has one effect, and what became of a request can be asked.

use serde_json::{Value, json};

use crate::support::client::Client;
use crate::support::process::Server;
use crate::support::stored::Stored;

fn keyed(session: &str, text: &str, key: &str) -> Value {
    json!({"session_id": session, "text": text, "idempotency_key": key})
}

fn without_id(mut data: Value) -> Value {
    data.as_object_mut().unwrap().remove("request_id");
    data
}

#[test]
fn a_repeated_key_gets_the_same_reply_and_starts_one_turn() {
    let server = Server::start();
    let mut client = Client::connect(&server);
    let session = client.new_session();
    let ack = client.ask("send_message", keyed(&session, "/slow", "k1")).expect("message_ack");
    let run = ack["run_id"].as_str().unwrap().to_owned();

    // While it runs, from another connection, and after it has ended.
    let mut other = Client::connect(&server);
    let again = other.ask("send_message", keyed(&session, "/slow", "k1")).expect("message_ack");
    assert_eq!(without_id(again), without_id(ack.clone()));
    let changed = client.ask("send_message", keyed(&session, "/tool", "k1"));
    assert_eq!(changed.expect("message_refused")["code"], "idempotency_conflict");
    assert_eq!(client.stop(&session, &run)["outcome"], "accepted");
    let ended = client.wait_for("the end", |frame| frame.is("stream_terminal", "entity_id", &run));
    client.wait_idle(&session, ended.arrival);
    let late = client.ask("send_message", keyed(&session, "/slow", "k1")).expect("message_ack");
    assert_eq!(without_id(late), without_id(ack.clone()));

    // Nor does a restart forget it.
    let server = server.restart();
    let mut client = Client::connect(&server);
    let kept = client.ask("send_message", keyed(&session, "/slow", "k1")).expect("message_ack");
    assert_eq!(without_id(kept), without_id(ack));
    let stored = Stored::open(server.state());
    assert_eq!(stored.settlements(&session), [(run, "cancelled".to_owned())]);
    let prompts = stored.messages(&session);
    assert_eq!(prompts.iter().filter(|row| row.role == "user").count(), 1);
}

#[test]
fn a_repeated_key_makes_one_session() {
    let server = Server::start();
    let mut client = Client::connect(&server);
    let fields = json!({"title": "once", "idempotency_key": "k1"});
    let first = client.ask("create_session", fields.clone()).expect("session_created");
    let again = client.ask("create_session", fields).expect("session_created");
    assert_eq!(without_id(again), without_id(first));
    let other = client.ask("create_session", json!({"title": "twice", "idempotency_key": "k1"}));
    assert_eq!(other.expect("message_refused")["code"], "idempotency_conflict");
    let listed = client.ask("list_sessions", json!({})).expect("sessions_list");
    assert_eq!(listed["sessions"].as_array().unwrap().len(), 1);
}

#[test]
fn the_result_of_a_request_is_found_from_another_connection() {
    let server = Server::start();
    let mut client = Client::connect(&server);
    let session = client.new_session();
    client.send_as("mine-1", "send_message", keyed(&session, "/slow", "k"));
    let ack = client.reply("mine-1").expect("message_ack");
    client.send_as("mine-2", "send_message", json!({"session_id": session, "text": "busy"}));
    let refused = client.reply("mine-2").expect("message_refused");

    let mut other = Client::connect(&server);
    let mut result = |target: &str| {
        let asked = other.ask("get_request_result", json!({"target_request_id": target}));
        asked.expect("request_result")
    };
    let done = result("mine-1");
    assert_eq!((&done["state"], &done["action"]), (&json!("done"), &json!("send_message")));
    assert_eq!(done["reply"], json!({"type": "message_ack", "data": ack}));
    assert_eq!(done["omitted"], false);
    let refusal = result("mine-2");
    assert_eq!(refusal["reply"], json!({"type": "message_refused", "data": refused}));
    let unknown = result("never sent");
    assert_eq!((&unknown["state"], &unknown["reply"]), (&json!("unknown"), &Value::Null));
    client.stop(&session, ack["run_id"].as_str().unwrap());
}
