//! Rewriting a conversation: each operation, in two windows, at a stale revision, beside a run, and over a kill.

use std::time::Duration;

use serde_json::{Value, json};

use crate::support::client::{Client, Frame, LiveView};
use crate::support::process::Server;
use crate::support::seeded::Seeded;
use crate::support::stored::{Message, Stored};
use crate::support::tools;

/// Kills of the long test.
const KILLS: usize = 20;

/// Kills of the short test.
const KILLS_SHORT: usize = 4;

fn rewrite(
    client: &mut Client,
    session: &str,
    op: &str,
    message: Option<&str>,
    text: Option<&str>,
) -> Frame {
    let revision = client.history_page(session)["session_revision"].clone();
    let fields = json!({
        "session_id": session, "op": op, "message_id": message, "text": text,
        "expected_revision": revision,
    });
    client.ask("rewrite", fields)
}

fn messages(server: &Server, session: &str) -> Vec<Message> {
    Stored::open(server.state()).messages(session)
}

fn prompts(server: &Server, session: &str) -> Vec<String> {
    let users = messages(server, session).into_iter().filter(|row| row.role == "user");
    users.map(|row| row.body.unwrap()).collect()
}

/// Sends a message and waits until the session is idle behind it.
fn turn(client: &mut Client, session: &str, text: &str) -> String {
    let mut view = client.prompt(session, text);
    let status = client.follow(&mut view);
    client.wait_idle(session, view.ended);
    status
}

/// Waits for the end of the turn that a rewrite began.
fn ends(client: &mut Client, session: &str, ack: &Value) -> String {
    let mut view = LiveView::of(ack["run_id"].as_str().unwrap());
    let status = client.follow(&mut view);
    client.wait_idle(session, view.ended);
    status
}

fn page(client: &mut Client, session: &str) -> Value {
    client.history_page(session)["rows"].clone()
}

#[test]
fn every_operation_changes_the_same_rows_for_both_windows() {
    let server = Server::start();
    let mut first = Client::connect(&server);
    let session = first.new_session();
    let mut second = Client::connect(&server);
    second.open_session(&session);
    for text in ["one", "two", "three"] {
        assert_eq!(turn(&mut first, &session, text), "completed");
    }
    let rows = messages(&server, &session);
    let edited =
        rewrite(&mut first, &session, "edit", Some(&rows[2].message_id), Some("two again"));
    let edited = edited.expect("message_ack");
    assert_eq!(ends(&mut first, &session, &edited), "completed");
    assert_eq!(prompts(&server, &session), ["one", "two again"]);
    let last = messages(&server, &session).pop().unwrap();
    let again = rewrite(&mut second, &session, "regenerate", Some(&last.message_id), None);
    let again = again.expect("message_ack");
    assert_eq!(ends(&mut second, &session, &again), "completed");
    assert_eq!(prompts(&server, &session), ["one", "two again"]);
    assert_eq!(turn(&mut first, &session, "/fail"), "failed");
    let last = messages(&server, &session).pop().unwrap();
    let retried = rewrite(&mut first, &session, "retry", Some(&last.message_id), None);
    let retried = retried.expect("message_ack");
    assert_eq!(ends(&mut first, &session, &retried), "failed");
    assert_eq!(prompts(&server, &session), ["one", "two again", "/fail"]);
    let undone = rewrite(&mut second, &session, "undo", None, None).expect("session_updated");
    for client in [&mut first, &mut second] {
        let item = client.wait_for("a list entry behind the undo", |frame| {
            frame.is("session_item", "session_id", &session)
                && frame.data["item"]["session_revision"] == undone["session_revision"]
        });
        assert_eq!(item.data["item"]["message_count"], 4);
        assert_eq!(item.data["item"]["transcript_generation"], 4);
        assert_eq!(item.data["item"]["transcript_generation_baseline"], 4);
    }
    assert_eq!(page(&mut first, &session), page(&mut second, &session));
    let rows = messages(&server, &session);
    rewrite(&mut first, &session, "truncate", Some(&rows[1].message_id), None)
        .expect("session_updated");
    assert_eq!(messages(&server, &session), rows[..2]);
    rewrite(&mut first, &session, "clear", None, None).expect("session_updated");
    assert_eq!(page(&mut second, &session), json!([]));
    let server = server.restart();
    let mut client = Client::connect(&server);
    client.open_session(&session);
    assert_eq!(page(&mut client, &session), json!([]));
    assert_eq!(turn(&mut client, &session, "afresh"), "completed");
    assert_eq!(prompts(&server, &session), ["afresh"]);
}

#[test]
fn a_rewrite_at_another_revision_or_beside_a_run_changes_nothing() {
    let server = Server::start();
    let mut client = Client::connect(&server);
    let session = client.new_session();
    turn(&mut client, &session, "one");
    turn(&mut client, &session, "two");
    let rows = messages(&server, &session);
    let fields = |op: &str, message: Value, expected: i64| {
        json!({
            "session_id": session, "op": op, "message_id": message,
            "text": (op == "edit").then_some("x"), "expected_revision": expected,
        })
    };
    let revision = client.history_page(&session)["session_revision"].as_i64().unwrap();
    let first = json!(rows[0].message_id);
    for expected in [-1, 0, revision - 1, revision + 1] {
        for (op, message) in
            [("undo", Value::Null), ("edit", first.clone()), ("clear", Value::Null)]
        {
            let refused =
                client.ask("rewrite", fields(op, message, expected)).expect("message_refused");
            assert_eq!(refused["code"], "regeneration_stale", "{op} at {expected}");
        }
    }
    for (op, message) in [
        ("edit", json!(rows[1].message_id)),
        ("edit", json!("msg_0000000000000001")),
        ("truncate", json!("no id at all")),
        ("retry", first.clone()),
    ] {
        let refused =
            client.ask("rewrite", fields(op, message, revision)).expect("message_refused");
        assert_eq!(refused["code"], "invalid_request", "{op}");
    }
    let mut view = client.prompt(&session, "/slow");
    let revision = client.history_page(&session)["session_revision"].as_i64().unwrap();
    for (op, message) in [("undo", Value::Null), ("edit", first.clone())] {
        let refused =
            client.ask("rewrite", fields(op, message, revision)).expect("message_refused");
        assert_eq!(
            (&refused["code"], &refused["run_id"]),
            (&json!("session_busy"), &json!(view.run))
        );
    }
    assert_eq!(messages(&server, &session), rows);
    client.stop(&session, &view.run);
    assert_eq!(client.follow(&mut view), "cancelled");
}

/// Whenever the server is killed beside an edit, the transcript is that before it or that behind it, and what was
/// acknowledged stays.
#[test]
fn a_killed_server_rewrote_all_or_nothing() {
    let kills = if tools::is_slow_run("20 kills instead of 4") { KILLS } else { KILLS_SHORT };
    let mut seeded = Seeded::announced("rewriting");
    let mut server = Server::start();
    for kill in 0..kills {
        let mut client = Client::connect(&server);
        let session = client.new_session();
        turn(&mut client, &session, "one");
        turn(&mut client, &session, "two");
        let rows = messages(&server, &session);
        let revision = client.history_page(&session)["session_revision"].clone();
        let edit = json!({
            "session_id": session, "op": "edit", "message_id": rows[0].message_id, "text": "edited",
            "expected_revision": revision, "idempotency_key": "k",
        });
        let id = client.send("rewrite", edit.clone());
        std::thread::sleep(Duration::from_micros(seeded.within(0..=8_000)));
        server.kill9();
        client.closed();
        let acks = client.arrived("message_ack");
        let was_told = acks.iter().any(|ack| ack.data["request_id"] == *id);
        server = server.restart();
        let found = prompts(&server, &session);
        println!("kill {kill}: {found:?}, told {was_told}");
        if found == ["one", "two"] {
            assert!(!was_told, "it was acknowledged");
            assert_eq!(messages(&server, &session), rows);
        } else {
            assert_eq!(found, ["edited"]);
        }
        let mut client = Client::connect(&server);
        client.open_session(&session);
        let again = client.ask("rewrite", edit).expect("message_ack");
        if found != ["edited"] {
            assert_eq!(ends(&mut client, &session, &again), "completed");
        }
        assert_eq!(prompts(&server, &session), ["edited"]);
    }
}
