//! `GET /v1/status`: what the server says of its runs and connections.

use std::time::Duration;

use rusqlite::Connection;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::polling::poll;
use crate::raw_http::{Answer, get};
use crate::support::client::Client;
use crate::support::process::{Server, Setup};

const PATIENCE: Duration = Duration::from_secs(30);

fn asked(server: &Server, token: &str) -> Answer {
    get(server.address, "/v1/status", &[("authorization", &format!("Bearer {token}"))])
}

fn status(server: &Server, token: &str) -> Value {
    let answer = asked(server, token);
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert_eq!(answer.header("content-type"), Some("application/json"));
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    serde_json::from_str(answer.text()).unwrap()
}

fn run_of<'a>(status: &'a Value, run: &str) -> Option<&'a Value> {
    status["runs"].as_array().unwrap().iter().find(|report| report["run_id"] == run)
}

#[track_caller]
fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    poll(what, PATIENCE, || is_so().then_some(()));
}

/// OBS-02 [e2e]: of each run its phase, last number and time, of each of one's connections what waits for it, and of
/// all connections a count and the greatest of each.
#[test]
fn the_status_shows_each_run_and_how_far_each_connection_is_behind() {
    let server = Server::start();
    let token = server.token.clone();
    let mut client = Client::connect(&server);
    let session = client.new_session();
    let idle = status(&server, &token);
    assert_eq!((&idle["state"], &idle["runs"]), (&json!("open"), &json!([])));
    assert_eq!(idle["connections"].as_array().map(Vec::len), Some(1), "{idle}");
    assert_eq!(idle["lag"]["connections"], 1);

    let mut view = client.prompt(&session, "/slow");
    client.follow_until(&mut view, "text", |view| view.seq > 3);
    let running = status(&server, &token);
    let run = run_of(&running, &view.run).unwrap_or_else(|| panic!("{running}"));
    assert_eq!((&run["session_id"], &run["phase"]), (&json!(session), &json!("running")));
    assert!(run["last_seq"].as_u64() >= Some(view.seq), "{run}");
    let (now, since, last) =
        (running["server_time"].as_u64(), run["since"].as_u64(), run["last_event_at"].as_u64());
    assert!(since > Some(1_700_000_000_000) && since <= last && last <= now, "{running}");
    assert_eq!(run["replay"], json!({"state": "complete", "reason": null}));
    assert_eq!((&run["unsettled"], &run["wedged"]), (&json!(false), &json!(false)));
    client.stop(&session, &view.run);
    assert_eq!(client.follow(&mut view), "cancelled");
    wait_until("the run is gone", || run_of(&status(&server, &token), &view.run).is_none());
}

/// OBS-02 [e2e]: a row that is not stored is seen as a degraded replay, and a journal that cannot be trusted with its reason.
#[test]
fn a_degraded_replay_and_a_quarantined_journal_are_seen() {
    let server = Server::start();
    let token = server.token.clone();
    let mut client = Client::connect(&server);
    let session = client.new_session();
    let mut view = client.prompt(&session, "/slow");
    client.follow_until(&mut view, "text", |view| !view.text().is_empty());
    let store = Connection::open(server.state().join("sessions.db")).unwrap();
    store
        .execute_batch(
            "CREATE TRIGGER refuse BEFORE INSERT ON journal BEGIN SELECT RAISE(ABORT, 'no'); END",
        )
        .unwrap();
    wait_until("it is degraded", || {
        let seen = status(&server, &token);
        run_of(&seen, &view.run).is_some_and(|run| run["replay"]["state"] == "degraded")
    });
    store.execute_batch("DROP TRIGGER refuse").unwrap();
    client.stop(&session, &view.run);
    client.wait_for("its end", |frame| frame.is("stream_terminal", "entity_id", &view.run));

    let mut whole = client.prompt(&session, "/fail");
    assert_eq!(client.follow(&mut whole), "failed");
    assert_eq!(run_of(&status(&server, &token), &whole.run), None);
    let sql = "UPDATE journal SET event = 'nonsense' WHERE seq = 1 AND run_id =
        (SELECT run_id FROM runs ORDER BY started_at DESC LIMIT 1)";
    assert_eq!(store.execute(sql, []).unwrap(), 1);
    let stream = client.get_stream(&session, &whole.run, None).data;
    assert_eq!(stream["replay"]["state"], "quarantined");
    let seen = status(&server, &token);
    let run = run_of(&seen, &whole.run).unwrap_or_else(|| panic!("{seen}"));
    assert_eq!((&run["phase"], &run["replay"]), (&Value::Null, &stream["replay"]));
    assert!(run["replay"]["reason"].as_str().unwrap().contains("row 1"), "{run}");
}

#[test]
fn each_principal_is_told_of_its_own_and_the_operator_of_all() {
    let principal = |name: &str, role: &str, token: &str| {
        let sha256: String =
            Sha256::digest(token).iter().map(|byte| format!("{byte:02x}")).collect();
        format!("[[principal]]\nname = '{name}'\nrole = '{role}'\ntoken_sha256 = '{sha256}'\n")
    };
    let config = principal("ada", "owner", "ta") + &principal("bob", "owner", "tb");
    let mut server = Setup::fresh().config(&config).flags(&["--token", "to"]).start();
    server.token = "ta".to_owned();
    let mut client = Client::connect(&server);
    let session = client.new_session();
    let view = client.prompt(&session, "/wedge");
    for (token, runs, connections) in [("ta", 1, 1), ("tb", 0, 0), ("to", 1, 0)] {
        let seen = status(&server, token);
        let count = |field: &str| seen[field].as_array().map(Vec::len);
        assert_eq!(
            (count("runs"), count("connections")),
            (Some(runs), Some(connections)),
            "{token}"
        );
        assert_eq!(seen["lag"]["connections"], 1, "{token}");
    }
    assert_eq!(asked(&server, "wrong").status, 401);
    client.stop(&session, &view.run);
}
