//! Messages that wait: their order, holds, removals, bounds, and a server that is killed over them.

use std::time::Duration;

use serde_json::{Value, json};

use crate::support::client::{Client, Frame, LiveView};
use crate::support::process::Server;
use crate::support::seeded::Seeded;
use crate::support::stored::Stored;
use crate::support::tools;

/// QUEUE_CAP.
const ENTRIES_MAX: u64 = 64;

/// Kills of the long test.
const KILLS: usize = 20;

/// Kills of the short test.
const KILLS_SHORT: usize = 4;

/// Messages of one kill.
const MESSAGES: usize = 5;

/// A run that goes on until its question is answered.
fn blocked(client: &mut Client, session: &str) -> (LiveView, Value) {
    let view = client.prompt(session, "/ask");
    let asked =
        client.wait_for("a question", |frame| frame.is("question_asked", "session_id", session));
    (view, asked.data["question"].clone())
}

fn unblock(client: &mut Client, session: &str, question: &Value) {
    let answer = json!({
        "session_id": session,
        "question_id": question["question_id"],
        "question_version": question["question_version"],
        "answer": {"options": ["Red"]},
    });
    client.ask("answer_question", answer).expect("question_resolved");
}

fn queue(session: &str, text: &str) -> Value {
    json!({"session_id": session, "text": text, "when_busy": "queue"})
}

/// Puts a message behind the others; its id.
#[track_caller]
fn enqueue(client: &mut Client, session: &str, text: &str, position: u64) -> String {
    let ack = client.ask("send_message", queue(session, text)).expect("message_ack");
    assert_eq!((&ack["run_id"], &ack["entity_id"]), (&Value::Null, &Value::Null));
    assert_eq!(ack["queue_position"], position);
    assert_eq!(ack["pending_started_at"], Value::Null);
    ack["message_id"].as_str().unwrap().to_owned()
}

#[track_caller]
fn list(client: &mut Client, session: &str) -> Value {
    client.ask("list_queue", json!({"session_id": session})).expect("queue_list")
}

fn remove(client: &mut Client, session: &str, message: &str) -> Frame {
    client.ask("remove_queued", json!({"session_id": session, "message_id": message}))
}

fn resume(client: &mut Client, session: &str) -> Frame {
    client.ask("resume_queue", json!({"session_id": session}))
}

/// Waits until a list entry shows so many waiting and this hold.
#[track_caller]
fn wait_shown(client: &mut Client, session: &str, length: u64, held: Option<&str>) {
    client.wait_for(&format!("an entry with {length} waiting, held {held:?}"), |frame| {
        let item = &frame.data["item"];
        frame.is("session_item", "session_id", session)
            && item["queue_length"] == length
            && item["queue_held"] == json!(held)
    });
}

/// Waits until nothing runs and nothing waits.
#[track_caller]
fn wait_done(client: &mut Client, session: &str) {
    client.wait_for("a session that has done everything", |frame| {
        let item = &frame.data["item"];
        frame.is("session_item", "session_id", session)
            && item["status"] == "idle"
            && item["queue_length"] == 0
            && item["message_count"].as_u64() > Some(0)
    });
}

fn prompts(server: &Server, session: &str) -> Vec<String> {
    let rows = Stored::open(server.state()).messages(session);
    let users = rows.into_iter().filter(|row| row.role == "user");
    users.map(|row| row.body.unwrap()).collect()
}

fn entry_ids(listed: &Value) -> Vec<&str> {
    let entries = listed["entries"].as_array().unwrap().iter();
    entries.map(|entry| entry["message_id"].as_str().unwrap()).collect()
}

/// STR-21 [e2e]: every window of a session is shown what waits, what holds it and what runs.
#[test]
fn messages_of_two_windows_wait_in_order_and_become_one_turn_each() {
    let server = Server::start();
    let mut first = Client::connect(&server);
    let session = first.new_session();
    let mut second = Client::connect(&server);
    second.open_session(&session);
    let (mut view, question) = blocked(&mut first, &session);
    let one = enqueue(&mut second, &session, "/fail one", 1);
    let long = format!("/fail {}", "ä".repeat(600));
    let two = enqueue(&mut first, &session, &long, 2);
    for client in [&mut first, &mut second] {
        wait_shown(client, &session, 2, None);
        let listed = list(client, &session);
        assert_eq!(entry_ids(&listed), [&*one, &*two]);
        assert_eq!(listed["held"], Value::Null);
        let entries = listed["entries"].as_array().unwrap();
        assert_eq!((&entries[0]["position"], &entries[1]["position"]), (&json!(1), &json!(2)));
        assert_eq!(entries[0]["summary"], "/fail one");
        assert_eq!(entries[1]["summary"].as_str().unwrap().chars().count(), 512);
        assert_eq!(entries[0]["attachments"], json!([]));
        let mut late = Client::connect(&server);
        let manifest = late.open_session(&session);
        assert_eq!(manifest["queue"], json!({"length": 2, "held": null}));
    }
    unblock(&mut first, &session, &question);
    assert_eq!(first.follow(&mut view), "completed");
    for client in [&mut first, &mut second] {
        wait_done(client, &session);
    }
    assert_eq!(prompts(&server, &session), ["/ask", "/fail one", &long]);
    let rows = Stored::open(server.state()).messages(&session);
    let ids: Vec<&str> =
        rows.iter().filter(|row| row.role == "user").map(|row| &*row.message_id).collect();
    assert_eq!(ids[1..], [&*one, &*two]);
    let told = second.arrived("run_status");
    let runs = Stored::open(server.state()).settlements(&session);
    for (run, _) in &runs[1..] {
        assert!(told.iter().any(|frame| frame.data["run_id"] == **run), "{run} in {told:?}");
    }
}

#[test]
fn a_stop_holds_the_queue_over_a_restart_until_it_is_resumed() {
    let server = Server::start();
    let mut client = Client::connect(&server);
    let session = client.new_session();
    let (mut view, _) = blocked(&mut client, &session);
    enqueue(&mut client, &session, "/fail one", 1);
    let refused = resume(&mut client, &session).expect("message_refused");
    assert_eq!((&refused["code"], &refused["run_id"]), (&json!("session_busy"), &json!(view.run)));
    assert_eq!(client.stop(&session, &view.run)["outcome"], "accepted");
    assert_eq!(client.follow(&mut view), "cancelled");
    client.wait_idle(&session, view.ended);
    assert_eq!(list(&mut client, &session)["held"], "stopped_by_user");
    // A message that does not ask for it goes behind what waits all the same.
    let ack = client.try_prompt(&session, "/fail two").expect("message_ack");
    assert_eq!((&ack["run_id"], &ack["queue_position"]), (&Value::Null, &json!(2)));

    let server = server.restart();
    let mut client = Client::connect(&server);
    let manifest = client.open_session(&session);
    assert_eq!(manifest["queue"], json!({"length": 2, "held": "stopped_by_user"}));
    assert_eq!(manifest["status"], "idle");
    assert_eq!(prompts(&server, &session), ["/ask"]);

    let key = json!({"session_id": session, "idempotency_key": "go"});
    let resumed = client.ask("resume_queue", key.clone()).expect("queue_resumed");
    assert_eq!(resumed["queue_length"], 2);
    wait_done(&mut client, &session);
    assert_eq!(prompts(&server, &session), ["/ask", "/fail one", "/fail two"]);
    // The same key tells the same again; without a hold nothing changes.
    let again = client.ask("resume_queue", key).expect("queue_resumed");
    assert_eq!(again["session_revision"], resumed["session_revision"]);
    let before = client.open_session(&session)["session_revision"].clone();
    let idle = resume(&mut client, &session).expect("queue_resumed");
    assert_eq!((&idle["queue_length"], &idle["session_revision"]), (&json!(0), &before));
}

#[test]
fn an_entry_is_taken_out_once_and_the_last_one_ends_the_hold() {
    let server = Server::start();
    let mut client = Client::connect(&server);
    let session = client.new_session();
    let (mut view, _) = blocked(&mut client, &session);
    let one = enqueue(&mut client, &session, "ä \"one\"", 1);
    let two = enqueue(&mut client, &session, "two", 2);
    let keyed = json!({"session_id": session, "message_id": one, "idempotency_key": "out"});
    let removed = client.ask("remove_queued", keyed.clone()).expect("queue_removed");
    assert_eq!((&removed["message_id"], &removed["text"]), (&json!(one), &json!("ä \"one\"")));
    wait_shown(&mut client, &session, 1, None);
    let other = json!({"session_id": session, "message_id": two, "idempotency_key": "out"});
    let conflict = client.ask("remove_queued", other.clone()).expect("message_refused");
    assert_eq!(conflict["code"], "idempotency_conflict");
    for message in [&*one, "msg_0000000000000001", "nothing"] {
        let gone = remove(&mut client, &session, message).expect("message_refused");
        assert_eq!((&gone["action"], &gone["code"]), (&json!("remove_queued"), &json!("gone")));
    }
    client.stop(&session, &view.run);
    assert_eq!(client.follow(&mut view), "cancelled");
    wait_shown(&mut client, &session, 1, Some("stopped_by_user"));

    let server = server.restart();
    let mut client = Client::connect(&server);
    client.open_session(&session);
    let again = client.ask("remove_queued", keyed).expect("queue_removed");
    assert_eq!(again["text"], removed["text"]);
    assert_eq!(again["session_revision"], removed["session_revision"]);
    let conflict = client.ask("remove_queued", other).expect("message_refused");
    assert_eq!(conflict["code"], "idempotency_conflict");
    remove(&mut client, &session, &two).expect("queue_removed");
    wait_shown(&mut client, &session, 0, None);
    let mut next = client.prompt(&session, "/fail");
    assert_eq!(client.follow(&mut next), "failed");
    assert_eq!(prompts(&server, &session), ["/ask", "/fail"]);
}

#[test]
fn the_sixty_fifth_message_is_refused() {
    let server = Server::start();
    let mut client = Client::connect(&server);
    let session = client.new_session();
    let (view, _) = blocked(&mut client, &session);
    let mut last = String::new();
    for position in 1..=ENTRIES_MAX {
        last = enqueue(&mut client, &session, "one of many", position);
    }
    let refused = client.ask("send_message", queue(&session, "x")).expect("message_refused");
    assert_eq!(refused["code"], "queue_full");
    assert_eq!(list(&mut client, &session)["entries"].as_array().unwrap().len(), 64);
    remove(&mut client, &session, &last).expect("queue_removed");
    enqueue(&mut client, &session, "again", ENTRIES_MAX);
    client.stop(&session, &view.run);
    wait_shown(&mut client, &session, ENTRIES_MAX, Some("stopped_by_user"));
}

#[test]
fn a_repeated_message_waits_once() {
    let server = Server::start();
    let mut client = Client::connect(&server);
    let session = client.new_session();
    let (mut view, question) = blocked(&mut client, &session);
    let mut message = queue(&session, "/fail once");
    message["idempotency_key"] = json!("k");
    let first = client.ask("send_message", message.clone()).expect("message_ack");
    unblock(&mut client, &session, &question);
    assert_eq!(client.follow(&mut view), "completed");
    wait_done(&mut client, &session);
    let server = server.restart();
    let mut client = Client::connect(&server);
    client.open_session(&session);
    let mut again = client.ask("send_message", message).expect("message_ack");
    again["request_id"] = first["request_id"].clone();
    assert_eq!(again, first);
    assert_eq!(prompts(&server, &session), ["/ask", "/fail once"]);
}

#[test]
fn a_stopped_server_leaves_what_waits_for_its_next_start() {
    let mut server = Server::start();
    let mut client = Client::connect(&server);
    let session = client.new_session();
    let (mut view, _) = blocked(&mut client, &session);
    enqueue(&mut client, &session, "/fail one", 1);
    server.sigterm();
    assert_eq!(client.follow(&mut view), "interrupted");
    assert_eq!(server.wait().code, Some(0));
    assert_eq!(prompts(&server, &session), ["/ask"]);
    let server = server.restart();
    let mut client = Client::connect(&server);
    client.open_session(&session);
    while prompts(&server, &session).len() < 2 {
        wait_done(&mut client, &session);
    }
    assert_eq!(prompts(&server, &session), ["/ask", "/fail one"]);
}

/// Whenever the server is killed, each message becomes exactly one turn, in order, once the client has sent
/// again what it had no answer to.
#[test]
fn a_killed_server_repeats_and_loses_no_message_of_a_queue() {
    let kills = if tools::is_slow_run("20 kills instead of 4") { KILLS } else { KILLS_SHORT };
    let mut seeded = Seeded::announced("queue");
    let mut server = Server::start();
    for kill in 0..kills {
        let mut client = Client::connect(&server);
        let session = client.new_session();
        let texts: Vec<String> = (0..MESSAGES).map(|n| format!("/fail {kill}.{n}")).collect();
        let message = |n: usize| {
            let mut message = queue(&session, &texts[n]);
            message["idempotency_key"] = json!(format!("k{n}"));
            message
        };
        let asked: Vec<String> =
            (0..MESSAGES).map(|n| client.send("send_message", message(n))).collect();
        // The queue works the messages off while the kill comes.
        std::thread::sleep(Duration::from_micros(seeded.within(0..=1_500_000)));
        server.kill9();
        client.closed();
        let answered: Vec<bool> = asked
            .iter()
            .map(|id| {
                client.arrived("message_ack").iter().any(|ack| ack.data["request_id"] == **id)
            })
            .collect();
        server = server.restart();
        let mut client = Client::connect(&server);
        client.open_session(&session);
        for (n, is_answered) in answered.iter().enumerate() {
            if !is_answered {
                client.ask("send_message", message(n)).expect("message_ack");
            }
        }
        println!("kill {kill}: answered {answered:?}");
        while prompts(&server, &session).len() < MESSAGES {
            client.wait_for("a change of the session", |frame| {
                frame.is("session_item", "session_id", &session)
            });
        }
        assert_eq!(prompts(&server, &session), texts);
        let stored = Stored::open_checked(server.state());
        assert_eq!(stored.settlements(&session).len(), MESSAGES, "one terminal each");
    }
}
