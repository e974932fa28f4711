//! One valid text of every action, every nullable field set where it may be.

use proptest::prelude::*;
use serde_json::{Map, Value, json};

pub(crate) const ACTIONS: [&str; 36] = [
    r#"{"action":"hello","request_id":"r","protocol_min":1,"protocol_max":3,"features":["delta"],"client_build":"b"}"#,
    r#"{"action":"ping"}"#,
    r#"{"action":"list_sessions","request_id":"r","query":"q","archived":false,"cursor":"c","limit":7}"#,
    r#"{"action":"list_agents","request_id":"r"}"#,
    r#"{"action":"create_session","request_id":"r","title":"t","agent":"a","model":"m","idempotency_key":"k"}"#,
    r#"{"action":"update_session","request_id":"r","session_id":"s","title":"t","archived":true,"agent":"a","model":"m","shared":false,"idempotency_key":"k"}"#,
    r#"{"action":"delete_session","request_id":"r","session_id":"s","idempotency_key":"k"}"#,
    r#"{"action":"open_session","request_id":"r","session_id":"s","generation":2,"known_store_id":"0123456789abcdef","known_session_revision":4,"known_stream_seqs":{"run_1":9},"known_schema_version":1}"#,
    r#"{"action":"close_session","request_id":"r","session_id":"s"}"#,
    r#"{"action":"load_history","request_id":"r","session_id":"s","generation":2,"before":"c","snapshot":"t","head_id":"h"}"#,
    r#"{"action":"load_history","request_id":"r","session_id":"s","generation":2,"latest":true}"#,
    r#"{"action":"get_stream","request_id":"r","session_id":"s","entity_id":"e","generation":2,"known_seq":0}"#,
    r#"{"action":"get_graph","request_id":"r","session_id":"s","generation":2,"known_graph_revision":3}"#,
    r#"{"action":"get_detail","request_id":"r","session_id":"s","node_id":"n","generation":2,"field":"tool_output","content_revision":3,"cursor":"c"}"#,
    r#"{"action":"list_branches","request_id":"r","session_id":"s"}"#,
    r#"{"action":"set_head","request_id":"r","session_id":"s","head_id":"h","expected_head_id":"g","idempotency_key":"k"}"#,
    r#"{"action":"rewrite","request_id":"r","session_id":"s","op":"edit","message_id":"m","text":"t","expected_revision":3,"idempotency_key":"k"}"#,
    r#"{"action":"send_message","request_id":"r","session_id":"s","text":"t","attachments":["a"],"when_busy":"queue","idempotency_key":"k"}"#,
    r#"{"action":"stop_run","request_id":"r","session_id":"s","run_id":"n"}"#,
    r#"{"action":"steer_run","request_id":"r","session_id":"s","run_id":"n","text":"t"}"#,
    r#"{"action":"list_queue","request_id":"r","session_id":"s"}"#,
    r#"{"action":"remove_queued","request_id":"r","session_id":"s","message_id":"m","idempotency_key":"k"}"#,
    r#"{"action":"resume_queue","request_id":"r","session_id":"s","idempotency_key":"k"}"#,
    r#"{"action":"list_questions","request_id":"r","session_id":"s"}"#,
    r#"{"action":"answer_question","request_id":"r","session_id":"s","question_id":"q","question_version":1,"answer":{"text":"yes"},"idempotency_key":"k"}"#,
    r#"{"action":"list_jobs","request_id":"r","session_id":"s","cursor":"c","limit":100}"#,
    r#"{"action":"job_command","request_id":"r","session_id":"s","command":"retry","job_id":"j","input":{},"idempotency_key":"k"}"#,
    r#"{"action":"list_user_errors","request_id":"r","cursor":"c","limit":1}"#,
    r#"{"action":"acknowledge_user_error","request_id":"r","error_id":"err_1"}"#,
    r#"{"action":"get_request_result","request_id":"r","target_request_id":"q"}"#,
    r#"{"action":"manage_list","request_id":"r","kind":"channels"}"#,
    r#"{"action":"manage_apply","request_id":"r","kind":"agents","op":"bind","item_id":"i","value":{},"idempotency_key":"k"}"#,
    r#"{"action":"get_metrics","request_id":"r"}"#,
    r#"{"action":"scan_state","request_id":"r"}"#,
    r#"{"action":"plan_cleanup","request_id":"r","categories":["logs"],"include_protected":false}"#,
    r#"{"action":"confirm_cleanup","request_id":"r","plan_token":"p","idempotency_key":"k"}"#,
];

pub(crate) fn object(text: &str) -> Map<String, Value> {
    serde_json::from_str(text).unwrap()
}

/// The sample of an action with one field set to a value.
pub(crate) fn with(action: &str, field: &str, value: Value) -> String {
    let start = format!(r#"{{"action":"{action}""#);
    let sample = ACTIONS.iter().find(|text| text.starts_with(&start)).unwrap();
    let mut object = object(sample);
    object.insert(field.to_owned(), value);
    Value::Object(object).to_string()
}

/// Any JSON value, a few levels deep, with texts and numbers at the edges of what is allowed.
pub(crate) fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        Just(json!(1.5)),
        (0_i64..120).prop_map(Value::from),
        "\\PC{0,12}".prop_map(Value::from),
        any::<String>().prop_map(Value::from),
        (120_usize..140).prop_map(|chars| Value::from("x".repeat(chars))),
        Just(json!("a\u{7}b")),
    ];
    leaf.prop_recursive(3, 24, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::btree_map("[a-z_]{0,8}", inner, 0..5)
                .prop_map(|entries| Value::Object(entries.into_iter().collect())),
        ]
    })
}
