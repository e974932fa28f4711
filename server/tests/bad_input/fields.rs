//! Fields outside their type or range, and names of things that are not there.

use serde_json::{Value, json};

use crate::support::client::{Client, Frame};
use crate::support::process::Server;

/// The code of any refusal.
#[track_caller]
fn refusal(frame: &Frame) -> &str {
    let kinds = ["operation_error", "message_refused", "stop_result", "answer_refused"];
    assert!(kinds.contains(&frame.kind.as_str()), "{}: {}", frame.kind, frame.data);
    frame.data["code"].as_str().unwrap_or_else(|| panic!("no code: {}", frame.data))
}

/// The fields of every served action but `ping`, right ones.
fn right(session: &str) -> Vec<(&'static str, Value)> {
    vec![
        ("hello", json!({"protocol_min": 1, "protocol_max": 1, "features": []})),
        ("list_sessions", json!({"query": "q", "archived": false, "cursor": null, "limit": 5})),
        ("create_session", json!({"title": "t", "idempotency_key": "k"})),
        ("open_session", json!({"session_id": session, "generation": 1})),
        ("close_session", json!({"session_id": session})),
        ("load_history", json!({"session_id": session, "generation": 1, "latest": true})),
        ("get_stream", json!({"session_id": session, "entity_id": "run_0000000000000001"})),
        ("send_message", json!({"session_id": session, "text": "t", "idempotency_key": "k"})),
        ("stop_run", json!({"session_id": session, "run_id": "run_0000000000000001"})),
        ("list_questions", json!({"session_id": session})),
        (
            "answer_question",
            json!({
                "session_id": session, "question_id": "que_0000000000000001",
                "question_version": 1, "answer": {},
            }),
        ),
        ("list_user_errors", json!({"limit": 5})),
        ("acknowledge_user_error", json!({"error_id": "err_00000000000000000000000000000000"})),
        ("get_request_result", json!({"target_request_id": "r1"})),
    ]
}

/// Values that no field of this name takes.
fn wrong(field: &str) -> Vec<Value> {
    match field {
        "protocol_min" | "protocol_max" | "generation" | "question_version" => {
            vec![json!("1"), json!(1.5), json!(1_u64 << 53), json!(null), json!([1])]
        }
        "features" => vec![json!("fragments"), json!([1]), json!(vec!["f"; 17]), json!(null)],
        "limit" => vec![json!(0), json!(101), json!("5"), json!(1.5)],
        "archived" | "latest" => vec![json!("true"), json!(1), json!({})],
        "answer" => vec![json!("yes"), json!([]), json!(null)],
        "cursor" => vec![json!(7), json!("x".repeat(97)), json!("ü")],
        "idempotency_key" => vec![json!(7), json!(""), json!("k".repeat(129))],
        "query" | "title" => vec![json!(7), json!("t".repeat(257)), json!(["t"])],
        "text" => vec![json!(7), json!(null), json!({"text": "t"})],
        _ => vec![json!(7), json!(""), json!("x".repeat(129)), json!("a\u{7}b"), json!(null)],
    }
}

#[test]
fn a_wrong_field_is_refused_whatever_the_action() {
    let server = Server::start();
    let mut client = Client::connect(&server);
    let session = client.new_session();
    let revision = client.open_session(&session)["session_revision"].clone();
    let mut sent = 0;
    for (action, fields) in right(&session) {
        for field in fields.as_object().unwrap().keys() {
            for value in wrong(field) {
                let mut fields = fields.clone();
                fields[field] = value;
                sent += 1;
                let frame = client.ask(action, fields.clone());
                assert_eq!(refusal(&frame), "invalid_request", "{action} {fields}");
            }
        }
    }
    assert!(sent > 100, "{sent}");
    assert_eq!(client.open_session(&session)["session_revision"], revision);
    let listed = client.ask("list_sessions", json!({})).expect("sessions_list");
    assert_eq!(listed["sessions"].as_array().unwrap().len(), 1);
    let errors = client.ask("list_user_errors", json!({})).expect("user_errors_list");
    assert_eq!(errors["errors"], json!([]));
}

#[test]
fn a_request_id_is_needed_where_an_effect_has_to_be_found_again() {
    let server = Server::start();
    let mut client = Client::connect(&server);
    for request_id in [json!(null), json!(7), json!(""), json!("x".repeat(129))] {
        let message = json!({"action": "create_session", "request_id": request_id});
        client.send_text(&message.to_string());
        let refused = client.wait_for("a refusal", |frame| frame.kind == "message_refused");
        assert_eq!(refused.data["code"], "invalid_request", "{request_id}");
        assert_eq!(refused.data["request_id"], Value::Null);
    }
    // Where it is optional an unsafe one counts as none.
    client.send_text(r#"{"action":"list_sessions","request_id":""}"#);
    let list = client.wait_for("a list", |frame| frame.kind == "sessions_list");
    assert_eq!((&list.data["request_id"], &list.data["sessions"]), (&Value::Null, &json!([])));
}

#[test]
fn what_is_not_there_is_named() {
    let server = Server::start();
    let mut client = Client::connect(&server);
    let session = client.new_session();
    for unknown in ["ses_0000000000000001", "no id at all"] {
        for (action, mut fields) in right(unknown) {
            if fields["session_id"].is_string() && action != "close_session" {
                fields["session_id"] = json!(unknown);
                let frame = client.ask(action, fields);
                assert_eq!(refusal(&frame), "session_unknown", "{action} {unknown}");
            }
        }
    }
    for run in ["run_0000000000000001", "no id at all"] {
        assert_eq!(client.stop(&session, run)["outcome"], "unknown", "{run}");
        let frame = client.get_stream(&session, run, None);
        assert_eq!(refusal(&frame), "cursor_unavailable", "{run}");
    }
    for question in ["que_0000000000000001", "no id at all"] {
        let frame = client.ask(
            "answer_question",
            json!({
                "session_id": session, "question_id": question, "question_version": 1, "answer": {},
            }),
        );
        assert_eq!(refusal(&frame), "gone", "{question}");
    }
    for cursor in ["p1.1.1.1.1", "nothing"] {
        let fields = json!({"session_id": session, "generation": 1, "before": cursor});
        assert_eq!(refusal(&client.ask("load_history", fields)), "cursor_unavailable", "{cursor}");
    }
    let mut view = client.prompt(&session, "/fail");
    assert_eq!(client.follow(&mut view), "failed");

    // A run of another session is unknown in this one.
    let other = client.new_session();
    assert_eq!(client.stop(&other, &view.run)["outcome"], "unknown");
    assert_eq!(refusal(&client.get_stream(&other, &view.run, None)), "cursor_unavailable");
}
