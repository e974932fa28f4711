//! A failed run: one terminal that carries the error, stored until it is acknowledged.

use serde_json::{Value, json};

use crate::runs::assert_settled;
use crate::support::client::Client;
use crate::support::process::Server;

/// The fields of `ErrorData`.
const FIELDS: [&str; 12] = [
    "action",
    "code",
    "correlation_id",
    "error_id",
    "message",
    "occurred_at",
    "operation_id",
    "request_id",
    "retryable",
    "scope",
    "session_id",
    "severity",
];

fn listed(client: &mut Client) -> Vec<Value> {
    let list = client.ask("list_user_errors", json!({})).expect("user_errors_list");
    list["errors"].as_array().unwrap().clone()
}

#[test]
fn a_failed_run_carries_its_error_and_keeps_it_until_acknowledged() {
    let server = Server::start();
    let mut client = Client::connect(&server);
    let mut other = Client::connect(&server);
    let session = client.new_session();
    let mut view = client.prompt(&session, "/fail");
    assert_eq!(client.follow(&mut view), "failed");
    assert_settled(&server, &mut client, &session, &view, "/fail");
    let error = view.terminal.as_ref().unwrap()["error"].clone();
    let mut fields: Vec<&str> = error.as_object().unwrap().keys().map(String::as_str).collect();
    fields.sort_unstable();
    assert_eq!(fields, FIELDS);
    assert_eq!(error["code"], "turn_failed");
    assert_eq!((&error["scope"], &error["severity"]), (&json!("session"), &json!("error")));
    assert_eq!(error["session_id"], *session);
    assert_eq!(error["operation_id"], *view.run);
    assert!(client.arrived("operation_error").is_empty(), "told twice");

    for client in [&mut client, &mut other] {
        assert_eq!(json!(listed(client)), json!([error]));
    }
    let manifest = client.open_session(&session);
    assert_eq!(manifest["open_error_ids"], json!([error["error_id"]]));
    assert_eq!(manifest["open_error_total"], 1);

    let acknowledged = client.ask("acknowledge_user_error", json!({"error_id": error["error_id"]}));
    assert_eq!(acknowledged.expect("user_error_acknowledged")["error_id"], error["error_id"]);
    for client in [&mut client, &mut other] {
        let recovered =
            client.wait_for("operation_recovered", |frame| frame.kind == "operation_recovered");
        assert_eq!(recovered.data["error_ids"], json!([error["error_id"]]));
        assert_eq!(recovered.data["operation_id"], *view.run);
        assert!(listed(client).is_empty());
    }
    assert_eq!(client.open_session(&session)["open_error_total"], 0);

    // The session goes on.
    let mut next = client.prompt(&session, "/fail");
    assert_eq!(client.follow(&mut next), "failed");
    assert_ne!(next.terminal.as_ref().unwrap()["error"]["error_id"], error["error_id"]);
}
