//! A lost connection does nothing to the run, and a new one finds every word.

use serde_json::{Value, json};

use crate::runs::assert_settled;
use crate::support::client::{Client, LiveView};
use crate::support::process::Server;
use crate::support::stored::{self, Stored};

#[test]
fn after_a_lost_connection_the_text_is_the_same_byte_by_byte() {
    let server = Server::start();
    let mut first = Client::connect(&server);
    let session = first.new_session();
    let mut resumed = first.prompt(&session, "/slow");
    first.follow_until(&mut resumed, "some text", |view| view.text().len() > 60);
    first.pull_cable();

    // With the newest row it knows: the rest follows.
    let mut second = Client::connect(&server);
    let manifest = second.open_session(&session);
    let newest = manifest["running"][&resumed.run].as_u64().expect("an attachable run");
    assert!(newest >= resumed.seq, "{newest} is behind {}", resumed.seq);
    let known = resumed.seq;
    let state = second.get_stream(&session, &resumed.run, Some(known));
    assert!(state.data["deltas"].is_array() != state.data["items"].is_array());
    assert_eq!(state.data["replay"]["state"], "complete");
    resumed.apply(&state);

    // Knowing nothing: everything so far, then what comes.
    let mut third = Client::connect(&server);
    third.open_session(&session);
    let mut whole = LiveView::of(&resumed.run);
    let state = third.get_stream(&session, &whole.run, None);
    assert!(state.data["items"].is_array(), "{}", state.data);
    whole.apply(&state);

    let seen = whole.text().len().max(resumed.text().len());
    second.follow_until(&mut resumed, "more text", |view| view.text().len() > seen + 60);
    assert_eq!(second.stop(&session, &resumed.run)["outcome"], "accepted");
    assert_eq!(second.follow(&mut resumed), "cancelled");
    assert_eq!(third.follow(&mut whole), "cancelled");
    assert_eq!(resumed.text(), whole.text());
    assert_eq!(resumed.seq, whole.seq);
    assert_settled(&server, &mut second, &session, &resumed, "/slow");
    assert_settled(&server, &mut third, &session, &whole, "/slow");
}

#[test]
fn a_run_nobody_watches_goes_on_and_is_found_settled() {
    let server = Server::start();
    let mut first = Client::connect(&server);
    let session = first.new_session();
    let view = first.prompt(&session, "/fail");
    first.pull_cable();

    let mut second = Client::connect(&server);
    // Opened while it runs or after it: either way the end becomes known.
    let manifest = second.open_session(&session);
    if manifest["running"][&view.run].is_u64() {
        let mut late = LiveView::of(&view.run);
        let state = second.get_stream(&session, &view.run, None);
        late.apply(&state);
        assert_eq!(second.follow(&mut late), "failed");
    }
    let page = second.history_page(&session);
    assert_eq!(page["rows"][0]["body"], "/fail");
    assert_eq!(page["rows"][1]["status"], "failed");

    // Its live content can still be read, as its journal holds it; who knows the last row is sent none.
    let journal = Stored::open(server.state()).journal(&view.run);
    let state = second.get_stream(&session, &view.run, Some(1)).expect("stream_state");
    assert_eq!((&state["status"], &state["phase"]), (&json!("failed"), &Value::Null));
    assert_eq!(state["stream_seq"], journal.len());
    for item in state["items"].as_array().unwrap() {
        let item_id = item["item_id"].as_str().unwrap();
        assert_eq!(item["text"], stored::item_text(&journal, item_id));
    }
    assert_eq!(state["items"].as_array().unwrap().len(), stored::items(&journal).len());
    let last = journal.len() as u64;
    let state = second.get_stream(&session, &view.run, Some(last)).expect("stream_state");
    assert_eq!((&state["deltas"], &state["items"]), (&json!([]), &Value::Null));
}

#[test]
fn a_closed_session_is_silent_until_it_is_opened_again() {
    let server = Server::start();
    let mut client = Client::connect(&server);
    let session = client.new_session();
    let closed = client.ask("close_session", json!({"session_id": session}));
    assert_eq!(closed.expect("session_closed")["session_id"], *session);
    let mut view = client.prompt(&session, "/slow");
    let state = loop {
        let state = client.get_stream(&session, &view.run, None).expect("stream_state");
        if state["stream_seq"].as_u64() > Some(0) {
            break state;
        }
    };
    assert_eq!(state["status"], "running");
    assert!(client.arrived("stream_text").is_empty(), "a stream of a session that is not open");
    client.open_session(&session);
    let state = client.get_stream(&session, &view.run, None);
    view.apply(&state);
    client.stop(&session, &view.run);
    assert_eq!(client.follow(&mut view), "cancelled");
    assert_settled(&server, &mut client, &session, &view, "/slow");
}

#[test]
fn what_a_client_knows_of_another_store_is_not_believed() {
    let server = Server::start();
    let mut client = Client::open(&server);
    let welcome = client.hello();
    let session = client.new_session();
    let revision = client.open_session(&session)["session_revision"].clone();
    let mut open = |store: &Value, revision: &Value, schema: i64| {
        let fields = json!({
            "session_id": session, "generation": 7, "known_store_id": store,
            "known_session_revision": revision, "known_stream_seqs": {},
            "known_schema_version": schema,
        });
        let manifest = client.ask("open_session", fields).expect("session_manifest");
        assert_eq!(manifest["generation"], 7);
        manifest["recovery"].clone()
    };
    let (store, schema) = (&welcome["store_id"], welcome["schema_version"].as_i64().unwrap());
    assert_eq!(open(store, &revision, schema), Value::Null);
    let ahead = json!({"reason": "client_ahead"});
    assert_eq!(open(&json!("0123456789abcdef"), &revision, schema), ahead);
    assert_eq!(open(store, &json!(1_000), schema), ahead);
    assert_eq!(open(store, &revision, schema + 1), json!({"reason": "schema"}));
}
