//! A recovery that cannot be stored, on a real server.

use std::process::Command;
use std::time::Duration;

use rusqlite::Connection;
use serde_json::{Value, json};

use crate::polling::poll;
use crate::support::client::Client;
use crate::support::process::Server;
use crate::support::stored::Stored;

/// It is tried again every 30 s.
const RETRIED_WITHIN: Duration = Duration::from_secs(45);

fn doctor(server: &Server) -> Value {
    let output = Command::new(env!("CARGO_BIN_EXE_runwarden"))
        .args(["doctor", "--json", "--state"])
        .arg(server.state())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// RST-11 [e2e]: a server whose recovery of a session cannot be stored listens all the same; the session can be read
/// and takes no message, others do; once it can be stored, the session is settled by itself and goes on.
#[test]
fn a_session_whose_recovery_cannot_be_stored_stays_readable_and_keeps_no_server_from_listening() {
    let mut server = Server::start();
    let mut client = Client::connect(&server);
    let session = client.new_session();
    let mut view = client.prompt(&session, "/slow");
    client.follow_until(&mut view, "text", |view| !view.text().is_empty());
    server.kill9();
    let store = Connection::open(server.state().join("sessions.db")).unwrap();
    store
        .execute_batch(
            "CREATE TRIGGER refuse BEFORE UPDATE OF outcome ON runs BEGIN SELECT RAISE(ABORT, 'no'); END",
        )
        .unwrap();
    drop(store);

    let server = server.restart();
    let mut client = Client::connect(&server);
    let listed = client.ask("list_sessions", json!({})).expect("sessions_list");
    assert_eq!(listed["sessions"][0]["status"], "unsettled", "{listed}");
    let manifest = client.open_session(&session);
    assert_eq!(manifest["status"], "unsettled");
    assert!(client.history_page(&session)["rows"].is_array());
    let refused = client.try_prompt(&session, "not yet").expect("message_refused");
    assert_eq!(
        (&refused["code"], &refused["run_id"]),
        (&json!("liveness_unreadable"), &json!(null))
    );
    let other = client.new_session();
    client.prompt(&other, "/slow");
    let report = doctor(&server);
    let about = format!("run {}", view.run);
    let found = report["findings"].as_array().unwrap().iter().find(|found| found["about"] == about);
    assert_eq!(found.expect("a finding")["problem"], "its end cannot be stored", "{report}");

    let store = Connection::open(server.state().join("sessions.db")).unwrap();
    store.execute_batch("DROP TRIGGER refuse").unwrap();
    drop(store);
    let settled = poll("it is settled", RETRIED_WITHIN, || {
        Stored::open(server.state()).run(&view.run).filter(|run| run.outcome.is_some())
    });
    assert_eq!(settled.outcome.as_deref(), Some("interrupted"));
    assert_eq!(Stored::open(server.state()).recoveries_of(&view.run), 1);
    client.wait_for("its end", |frame| frame.is("stream_terminal", "entity_id", &view.run));
    let mut next = client.prompt(&session, "/fail");
    assert_eq!(client.follow(&mut next), "failed");
}
