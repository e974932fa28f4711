//! Busy sessions and Stop.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::runs::assert_settled;
use crate::support::client::{Client, LiveView};
use crate::support::process::Server;
use crate::support::stored::Stored;

/// STOP_FREE.
const STOP_FREE: Duration = Duration::from_secs(12);

#[track_caller]
fn running(client: &mut Client, session: &str, prompt: &str) -> LiveView {
    let mut view = client.prompt(session, prompt);
    client.follow_until(&mut view, "a few words", |view| view.text().len() > 20);
    view
}

#[test]
fn a_busy_session_refuses_and_names_run_and_phase() {
    let server = Server::start();
    let mut client = Client::connect(&server);
    let session = client.new_session();
    let mut view = running(&mut client, &session, "/slow");
    let mut other = Client::connect(&server);
    for client in [&mut client, &mut other] {
        let refused = client.try_prompt(&session, "me too").expect("message_refused");
        assert_eq!(refused["action"], "send_message");
        assert_eq!(refused["session_id"], *session);
        assert_eq!(refused["code"], "session_busy");
        assert_eq!(refused["run_id"], *view.run);
        assert_eq!(refused["phase"], "running");
        assert_eq!(refused["attachable"], true);
    }
    assert_eq!(client.stop(&session, &view.run)["outcome"], "accepted");
    assert_eq!(client.follow(&mut view), "cancelled");
    let bodies: Vec<_> = Stored::open(server.state()).messages(&session);
    assert!(bodies.iter().all(|row| row.body.as_deref() != Some("me too")), "{bodies:?}");
}

#[test]
fn a_stopped_run_ends_once_and_keeps_what_was_shown() {
    let server = Server::start();
    let mut client = Client::connect(&server);
    let session = client.new_session();
    let mut view = running(&mut client, &session, "/slow");
    let stopped = client.stop(&session, &view.run);
    assert_eq!(stopped["session_id"], *session);
    assert_eq!(stopped["run_id"], *view.run);
    assert_eq!((&stopped["outcome"], &stopped["code"]), (&json!("accepted"), &Value::Null));
    assert_eq!(client.follow(&mut view), "cancelled");
    assert!(view.phases.iter().any(|phase| phase == "cancelling"), "{:?}", view.phases);
    assert_eq!(view.terminal.as_ref().unwrap()["error"], Value::Null);
    assert!(view.text().starts_with("Line 1 of 100"), "{}", view.text());
    assert_settled(&server, &mut client, &session, &view, "/slow");
    let page = client.history_page(&session);
    let rows = page["rows"].as_array().unwrap();
    let roles: Vec<_> = rows.iter().map(|row| row["role"].as_str().unwrap()).collect();
    assert_eq!(roles, ["user", "assistant", "system"]);
    assert_eq!(rows[2]["extra"]["marker"], "cancelled");

    // Stopping it again, and once more after another run, changes nothing.
    client.wait_idle(&session, view.ended);
    let before = client.open_session(&session)["session_revision"].clone();
    let again = client.stop(&session, &view.run);
    assert_eq!(
        (&again["outcome"], &again["status"]),
        (&json!("already_ended"), &json!("cancelled"))
    );
    let unknown = client.stop(&session, "run_0000000000000001");
    assert_eq!((&unknown["outcome"], &unknown["status"]), (&json!("unknown"), &Value::Null));
    assert_eq!(client.open_session(&session)["session_revision"], before);

    let mut next = client.prompt(&session, "/tool");
    assert_eq!(client.follow(&mut next), "completed");
    assert_eq!(client.stop(&session, &view.run)["outcome"], "already_ended");
    let late: Vec<_> = client.arrived("stream_terminal");
    assert!(late.is_empty(), "a second terminal: {late:?}");
    let settlements = Stored::open(server.state()).settlements(&session);
    assert_eq!(
        settlements,
        [(view.run.clone(), "cancelled".to_owned()), (next.run.clone(), "completed".to_owned()),]
    );
}

#[test]
fn a_run_stopped_at_once_keeps_its_prompt() {
    let server = Server::start();
    let mut client = Client::connect(&server);
    let session = client.new_session();
    // Sent behind each other: the Stop names a run that has shown nothing yet.
    let mut view = client.prompt(&session, "never mind");
    assert_eq!(client.stop(&session, &view.run)["outcome"], "accepted");
    assert_eq!(client.follow(&mut view), "cancelled");
    client.wait_idle(&session, view.ended);
    let rows = Stored::open(server.state()).messages(&session);
    assert_eq!(rows.first().unwrap().body.as_deref(), Some("never mind"));
    assert_eq!(rows.last().unwrap().marker.as_deref(), Some("cancelled"));
    assert_eq!(rows.iter().filter(|row| row.role == "user").count(), 1);
    assert_eq!(rows.iter().filter(|row| row.marker.is_some()).count(), 1);
    let mut next = running(&mut client, &session, "/slow");
    client.stop(&session, &next.run);
    assert_eq!(client.follow(&mut next), "cancelled");
}

/// STOP-20 [e2e], REG-15 [e2e]: an agent that ignores Stop is ended by force, nothing of it is sent
/// afterwards, and its session admits the next message within 12 s of the Stop.
#[test]
fn a_wedged_run_is_ended_by_force_within_twelve_seconds() {
    let server = Server::start();
    let mut client = Client::connect(&server);
    let session = client.new_session();
    let mut view = client.prompt(&session, "/wedge");
    let sentence = "I am ended by force. ";
    client.follow_until(&mut view, "the last word", |view| view.text().ends_with(sentence));
    let asked = Instant::now();
    assert_eq!(client.stop(&session, &view.run)["outcome"], "accepted");
    assert_eq!(client.follow(&mut view), "cancelled");
    client.wait_idle(&session, view.ended);
    let mut next = client.prompt(&session, "/fail");
    let free = asked.elapsed();
    assert!(free <= STOP_FREE, "free after {free:?}");
    assert_eq!(client.follow(&mut next), "failed");
    let late = client.arrived("stream_text");
    assert!(late.iter().all(|frame| frame.data["entity_id"] != *view.run), "{late:?}");
    let rows = Stored::open(server.state()).messages(&session);
    assert_eq!(rows[1].body.as_deref(), Some(view.text().as_str()));
}
