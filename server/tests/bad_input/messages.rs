//! Messages that are no action, or one above a limit.

use async_tungstenite::tungstenite::Message;
use serde_json::{Value, json};

use crate::support::client::{Client, Frame};
use crate::support::process::Server;
use crate::support::stored::Stored;

const ACTION_BYTES_MAX: usize = 1_048_576;
const MESSAGE_BYTES_MAX: usize = 262_144;

fn next_error(client: &mut Client) -> Value {
    client.wait_for("operation_error", |frame: &Frame| frame.kind == "operation_error").data
}

/// A ping that is exactly this long.
fn ping_of(bytes: usize) -> String {
    let bare = json!({"action": "ping", "padding": ""}).to_string();
    json!({"action": "ping", "padding": "x".repeat(bytes - bare.len())}).to_string()
}

#[test]
fn what_is_no_action_is_refused_while_a_run_streams_on() {
    let server = Server::start();
    let mut client = Client::connect(&server);
    let session = client.new_session();
    let mut view = client.prompt(&session, "/slow");
    for text in ["", "{", "not JSON", "[]", "\"ping\"", "null", "7", "{\"action\":\"ping\"}}"] {
        client.send_text(text);
        let error = next_error(&mut client);
        assert_eq!(error["code"], "invalid_request", "{text}");
        assert_eq!((&error["scope"], &error["severity"]), (&json!("system"), &json!("warning")));
        for field in ["request_id", "action", "session_id", "operation_id"] {
            assert!(error[field].is_null(), "{field} for {text}");
        }
    }
    for text in ["{}", r#"{"action":7}"#, r#"{"action":null,"request_id":"x"}"#] {
        client.send_text(text);
        assert_eq!(next_error(&mut client)["code"], "invalid_request", "{text}");
    }
    // None of these is stored, and the run did not notice.
    let list = client.ask("list_user_errors", json!({})).expect("user_errors_list");
    assert_eq!(list["errors"], json!([]));
    let length = view.text().len();
    client.follow_until(&mut view, "more text", |view| view.text().len() > length);
    assert_eq!(client.stop(&session, &view.run)["outcome"], "accepted");
    assert_eq!(client.follow(&mut view), "cancelled");
    let rows = Stored::open(server.state()).messages(&session);
    assert_eq!(rows[1].body.as_deref(), Some(view.text().as_str()));
}

#[test]
fn an_unknown_action_is_recorded_and_the_connection_stays() {
    let server = Server::start();
    let mut client = Client::connect(&server);
    // No action, and one of the protocol that this version does not serve.
    for action in ["make_coffee", "get_graph"] {
        let error = client.ask(action, json!({})).expect("operation_error");
        assert_eq!((&error["code"], &error["action"]), (&json!("unknown_action"), &json!(action)));
        assert_eq!(error["severity"], "error");
        let list = client.ask("list_user_errors", json!({})).expect("user_errors_list");
        assert_eq!(list["errors"][0], error);
    }
    // What cannot be echoed is not.
    client.send_text(&json!({"action": "a".repeat(129), "request_id": "\u{7}"}).to_string());
    let error = next_error(&mut client);
    assert_eq!(error["code"], "unknown_action");
    assert_eq!((&error["action"], &error["request_id"]), (&Value::Null, &Value::Null));
    client.new_session();
}

#[test]
fn a_ping_is_answered_bare_and_as_an_action() {
    let server = Server::start();
    let mut client = Client::connect(&server);
    for text in ["ping", r#"{"action":"ping","later_field":[1]}"#, &ping_of(ACTION_BYTES_MAX)] {
        client.send_text(text);
        client.wait_for("pong", |frame| frame.kind == "pong");
    }
}

#[test]
fn an_action_above_its_bound_closes_with_1009() {
    let server = Server::start();
    let mut client = Client::connect(&server);
    let session = client.new_session();
    client.send_text(&ping_of(ACTION_BYTES_MAX + 1));
    assert_eq!(client.closed(), (1009, "message_too_large".to_owned()));
    assert_eq!(Client::connect(&server).open_session(&session)["session_id"], *session);
}

#[test]
fn a_binary_message_closes_with_1003() {
    let server = Server::start();
    let mut client = Client::connect(&server);
    let session = client.new_session();
    client.send_message(Message::binary(br#"{"action":"ping"}"#.to_vec()));
    assert_eq!(client.closed(), (1003, "unsupported_message".to_owned()));
    assert_eq!(Client::connect(&server).open_session(&session)["session_id"], *session);
}

#[test]
fn a_text_above_its_bound_names_the_limit_and_one_at_it_is_accepted() {
    let server = Server::start();
    let mut client = Client::connect(&server);
    let session = client.new_session();
    // Two bytes per character: the bound counts bytes.
    let largest = "ä".repeat(MESSAGE_BYTES_MAX / 2);
    let refused = client.try_prompt(&session, &format!("{largest}x")).expect("message_refused");
    assert_eq!(refused["code"], "invalid_request");
    assert_eq!(refused["limit"], json!({"name": "message_bytes_max", "max": MESSAGE_BYTES_MAX}));
    assert!(client.history_page(&session)["rows"].as_array().unwrap().is_empty());

    let mut view = client.prompt(&session, &largest);
    assert_eq!(client.stop(&session, &view.run)["outcome"], "accepted");
    assert_eq!(client.follow(&mut view), "cancelled");
    let rows = Stored::open(server.state()).messages(&session);
    assert_eq!(rows[0].body.as_deref(), Some(largest.as_str()));

    let title = |chars| json!({"title": "Ö".repeat(chars)});
    let refused = client.ask("create_session", title(257)).expect("message_refused");
    assert_eq!(refused["limit"], json!({"name": "title_chars_max", "max": 256}));
    client.ask("create_session", title(256)).expect("session_created");
}

#[test]
fn no_common_protocol_ends_the_connection() {
    let server = Server::start();
    let mut client = Client::open(&server);
    let fields = json!({"protocol_min": 2, "protocol_max": 9, "features": []});
    let error = client.ask("hello", fields).expect("operation_error");
    assert_eq!(error["code"], "protocol_unsupported");
    assert_eq!(client.closed(), (1002, "protocol_unsupported".to_owned()));
    // Without a hello a connection works all the same.
    Client::open(&server).new_session();
}
