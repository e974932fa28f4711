//! Deleting sessions: under a run, beside another window, twice, and over a kill.

use std::time::Duration;

use serde_json::{Value, json};

use crate::support::client::{Client, LiveView};
use crate::support::process::Server;
use crate::support::seeded::Seeded;
use crate::support::stored::Stored;
use crate::support::tools;

/// Kills of the long test.
const KILLS: usize = 20;

/// Kills of the short test.
const KILLS_SHORT: usize = 4;

fn deletion(session: &str, key: &str) -> Value {
    json!({"session_id": session, "idempotency_key": key})
}

/// Runs and rows that a deleted session left: none.
#[track_caller]
fn assert_gone(server: &Server, session: &str) {
    let stored = Stored::open(server.state());
    assert_eq!(stored.runs_of(session), 0);
    assert_eq!(stored.tables_of(session), Vec::<String>::new());
}

#[test]
fn a_session_is_deleted_under_its_run_and_for_every_window() {
    let server = Server::start();
    let mut first = Client::connect(&server);
    let session = first.new_session();
    let mut done = first.prompt(&session, "/fail one");
    first.follow(&mut done);
    first.wait_idle(&session, done.ended);
    let mut second = Client::connect(&server);
    second.open_session(&session);
    let mut watcher = Client::connect(&server);
    let mut own = first.prompt(&session, "/slow");
    let mut watched = LiveView::of(&own.run);
    second.follow_until(&mut watched, "text", |view| !view.text().is_empty());
    let deleted = first.ask("delete_session", deletion(&session, "gone")).expect("session_deleted");
    assert_eq!(deleted["session_id"], *session);
    for (client, view) in [(&mut first, &mut own), (&mut second, &mut watched)] {
        assert_eq!(client.follow(view), "cancelled");
        assert_eq!(view.terminal.as_ref().unwrap()["reason"], "deleted");
    }
    for client in [&mut second, &mut watcher] {
        let push = client.wait_for("a push of the deletion", |frame| {
            frame.is("session_deleted", "session_id", &session)
        });
        assert_eq!(push.data["request_id"], Value::Null);
        assert_eq!(push.data["session_revision"], deleted["session_revision"]);
        let closed = client
            .wait_for("the open error is closed", |frame| frame.kind == "operation_recovered");
        assert_eq!(closed.data["error_ids"].as_array().map(Vec::len), Some(1));
    }
    assert_gone(&server, &session);
    let again = second.ask("delete_session", deletion(&session, "gone")).expect("session_deleted");
    assert_eq!(again["session_revision"], deleted["session_revision"]);
    for (action, fields) in [
        ("delete_session", json!({"session_id": session})),
        ("send_message", json!({"session_id": session, "text": "late"})),
        ("stop_run", json!({"session_id": session, "run_id": own.run})),
        ("open_session", json!({"session_id": session, "generation": 3})),
        ("update_session", json!({"session_id": session, "title": "late"})),
        ("list_queue", json!({"session_id": session})),
    ] {
        let refused = second.ask(action, fields);
        assert_eq!(refused.data["code"], "session_unknown", "{action}: {refused:?}");
    }
    let listed = second.ask("list_sessions", json!({})).expect("sessions_list");
    assert_eq!(listed["sessions"], json!([]));
    let errors = second.ask("list_user_errors", json!({})).expect("user_errors_list");
    assert_eq!(errors["errors"], json!([]));
    let server = server.restart();
    assert_gone(&server, &session);
    let mut client = Client::connect(&server);
    client.ask("delete_session", deletion(&session, "gone")).expect("session_deleted");
    let next = client.new_session();
    let mut view = client.prompt(&next, "a new one");
    assert_eq!(client.follow(&mut view), "completed");
}

/// A server that is killed while it deletes comes back with all of the session or with nothing of it, and what
/// it said to be deleted stays so.
#[test]
fn a_killed_server_deleted_all_or_nothing() {
    let kills = if tools::is_slow_run("20 kills instead of 4") { KILLS } else { KILLS_SHORT };
    let mut seeded = Seeded::announced("deletion");
    let mut server = Server::start();
    for kill in 0..kills {
        let mut client = Client::connect(&server);
        let session = client.new_session();
        let view = client.prompt(&session, "/slow");
        let key = format!("kill {kill}");
        client.send("delete_session", deletion(&session, &key));
        // The deletion is carried out while the kill comes.
        std::thread::sleep(Duration::from_micros(seeded.within(0..=8_000)));
        server.kill9();
        client.closed();
        let was_told = !client.arrived("session_deleted").is_empty();
        server = server.restart();
        let stored = Stored::open_checked(server.state());
        assert_eq!(stored.unsettled(), 0);
        let is_gone = stored.run(&view.run).is_none();
        assert_eq!(is_gone, stored.tables_of(&session).is_empty());
        assert!(is_gone || !was_told, "it was told as deleted");
        println!("kill {kill}: gone {is_gone}, told {was_told}");
        let mut client = Client::connect(&server);
        client.ask("delete_session", deletion(&session, &key)).expect("session_deleted");
        assert_gone(&server, &session);
    }
}
