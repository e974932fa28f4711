//! Sessions in lists, history in pages, and how many are open at once.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::support::client::Client;
use crate::support::process::Server;
use crate::support::stored::Stored;

/// SESSIONS_OPEN_MAX.
const SESSIONS_OPEN_MAX: usize = 8;

/// PAGE_GROUPS_MAX.
const PAGE_GROUPS_MAX: usize = 50;

#[test]
fn pages_of_a_list_hold_every_session_once() {
    let server = Server::start();
    let mut client = Client::connect(&server);
    let mut made = BTreeSet::new();
    for number in 0..7 {
        let fields = json!({"title": format!("Session {number} ÄÖ")});
        let created = client.ask("create_session", fields).expect("session_created");
        made.insert(created["session_id"].as_str().unwrap().to_owned());
    }
    let (mut listed, mut cursor, mut activities) = (Vec::new(), Value::Null, Vec::new());
    loop {
        let page = client.ask("list_sessions", json!({"limit": 3, "cursor": cursor}));
        let page = page.expect("sessions_list");
        let sessions = page["sessions"].as_array().unwrap();
        assert!((1..=3).contains(&sessions.len()), "{page}");
        for session in sessions {
            listed.push(session["session_id"].as_str().unwrap().to_owned());
            activities.push(session["activity_at"].as_u64().unwrap());
        }
        cursor = page["next_cursor"].clone();
        if cursor.is_null() {
            break;
        }
    }
    assert_eq!(listed.len(), 7);
    assert_eq!(listed.into_iter().collect::<BTreeSet<_>>(), made);
    assert!(activities.is_sorted_by(|newer, older| newer >= older), "{activities:?}");

    let found = client.ask("list_sessions", json!({"query": "session 4 äö"}));
    let found = found.expect("sessions_list");
    assert_eq!(found["sessions"].as_array().unwrap().len(), 1);
    assert_eq!(found["sessions"][0]["title"], "Session 4 ÄÖ");
    let altered = client.ask("list_sessions", json!({"cursor": "l1.1.2.3"}));
    assert_eq!(altered.expect("operation_error")["code"], "cursor_unavailable");
}

#[test]
fn a_ninth_open_session_is_refused() {
    let server = Server::start();
    let mut client = Client::connect(&server);
    let sessions: Vec<String> = (0..=SESSIONS_OPEN_MAX).map(|_| client.create_session()).collect();
    for session in &sessions[..SESSIONS_OPEN_MAX] {
        client.open_session(session);
    }
    let fields = |session: &str| json!({"session_id": session, "generation": 1});
    let ninth = &sessions[SESSIONS_OPEN_MAX];
    let refused = client.ask("open_session", fields(ninth)).expect("operation_error");
    assert_eq!(refused["code"], "limit_reached");
    // One that is open may be opened again, and a closed one makes room.
    client.open_session(&sessions[0]);
    client.ask("close_session", json!({"session_id": sessions[0]})).expect("session_closed");
    client.open_session(ninth);
    // The limit is the connection's.
    Client::connect(&server).open_session(&sessions[0]);
}

#[test]
fn pages_of_history_hold_every_row_once() {
    let server = Server::start();
    let mut client = Client::connect(&server);
    let session = client.new_session();
    for _ in 0..=PAGE_GROUPS_MAX / 2 {
        let mut view = client.prompt(&session, "/fail");
        assert_eq!(client.follow(&mut view), "failed");
    }
    let stored: Vec<String> = Stored::open(server.state())
        .messages(&session)
        .into_iter()
        .map(|row| row.message_id)
        .collect();
    assert!(stored.len() > PAGE_GROUPS_MAX, "{} rows", stored.len());
    let mut page = client.history_page(&session);
    let mut rows: Vec<String> = Vec::new();
    loop {
        let ids = page["rows"].as_array().unwrap().iter();
        let ids: Vec<String> =
            ids.map(|row| row["message_id"].as_str().unwrap().to_owned()).collect();
        assert!(ids.len() <= PAGE_GROUPS_MAX, "{} rows", ids.len());
        rows.splice(0..0, ids);
        if page["before"].is_null() {
            break;
        }
        let older = json!({
            "session_id": session, "generation": 1,
            "before": page["before"], "snapshot": page["snapshot"],
        });
        page = client.ask("load_history", older).expect("history_page");
    }
    assert_eq!(page["start"], 0);
    assert_eq!(rows, stored);
}
