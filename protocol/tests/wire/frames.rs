//! Frames: their text, classes and keys.

use runwarden_protocol::wire::limits::{RATE_LIMITS, welcome_limits};
use runwarden_protocol::wire::{Class, Frame, FrameType, Key};
use serde_json::{Value, json};

/// Reads a frame and checks that it is written back with every field.
fn frame(frame_type: &str, data: Value) -> Frame {
    let value = json!({ "type": frame_type, "data": data });
    let frame: Frame = serde_json::from_value(value.clone()).unwrap();
    assert_eq!(serde_json::from_str::<Value>(&frame.to_text()).unwrap(), value);
    assert_eq!(frame.frame_type().as_str(), frame_type);
    frame
}

fn terminal() -> Value {
    json!({
        "status": "completed", "reason": null, "complete": true, "committed_in": null,
        "returned_steers": [{"steer_id": "t", "text": "x"}], "usage": null, "row": null,
        "error": null,
    })
}

fn merged(mut first: Value, second: &Value) -> Value {
    for (field, value) in second.as_object().unwrap() {
        first[field] = value.clone();
    }
    first
}

fn text(stream_seq: i64) -> Value {
    json!({
        "session_id": "s", "entity_id": "e", "item_id": "i", "item_kind": "text", "base_seq": 0,
        "stream_seq": stream_seq, "replay_degraded": false, "text": "hello",
    })
}

fn job(status: &str) -> Frame {
    frame(
        "job_status",
        json!({
            "job_id": "j", "session_id": "s", "status": status, "label": "l",
            "parent_message_id": null, "created_at": 1, "started_at": null, "completed_at": null,
            "stream_seq": 0, "session_revision": 1, "error": null,
        }),
    )
}

fn questions_list(request_id: Option<&str>) -> Frame {
    frame("questions_list", json!({"request_id": request_id, "session_id": "s", "questions": []}))
}

fn key(frame_type: FrameType, parts: [Option<&str>; 3]) -> Option<Key> {
    let [session, entity, part] = parts.map(|part| part.map(str::to_owned));
    Some(Key { frame_type, session, entity, part })
}

#[test]
fn examples_of_the_specification_are_written_byte_for_byte() {
    for text in [
        r#"{"type":"message_refused","data":{"request_id":"r6","action":"send_message","session_id":"s1","code":"session_busy","run_id":"run_4","phase":"running","attachable":true,"continuation_session_id":null,"limit":null,"retry_after_ms":null}}"#,
        r#"{"type":"user_error_acknowledged","data":{"request_id":"r7","error_id":"err_0123456789abcdef0123456789abcdef"}}"#,
        r#"{"type":"operation_recovered","data":{"error_ids":["err_0123456789abcdef0123456789abcdef"],"scope":"job","operation_id":"job_9","occurred_at":"2031-04-05T06:07:08.090Z"}}"#,
        r#"{"type":"pong","data":{}}"#,
    ] {
        assert_eq!(serde_json::from_str::<Frame>(text).unwrap().to_text(), text);
    }
}

#[test]
fn structures_inside_a_frame_stand_beside_its_fields() {
    let end = json!({"session_id": "s", "entity_id": "e", "stream_seq": 4, "session_revision": 2});
    let end = frame("stream_terminal", merged(end, &terminal()));
    assert_eq!((end.session_id(), end.entity_id()), (Some("s"), Some("e")));
    let manifest = frame(
        "session_manifest",
        json!({
            "request_id": "r", "session_id": "s", "generation": 1, "title": "t", "status": "idle",
            "head_id": null, "session_revision": 3, "graph_revision": 0, "schema_version": 1,
            "transcript_generation": 0, "transcript_generation_baseline": 0, "agent": "demo",
            "model": null, "chain_tail": [], "chain_length": 0, "counts": {}, "features": {"x": true},
            "running": {"run_1": 9}, "queue": {"length": 0, "held": "stopped_by_user"},
            "continuation_session_id": null, "open_error_ids": [], "open_error_total": 0,
            "open_questions": [], "recovery": {"reason": "client_ahead"},
        }),
    );
    assert_eq!(manifest.session_id(), Some("s"));
    frame(
        "state_report",
        json!({
            "request_id": null, "categories": [], "root_logical": 1, "root_allocated": 2,
            "mismatch": 0, "valid": true, "warned": false,
        }),
    );
}

#[test]
fn numbered_frames_inside_a_state_carry_their_type() {
    frame(
        "stream_state",
        json!({
            "request_id": "r", "generation": null, "session_id": "s", "entity_id": "e",
            "status": "running", "phase": "running", "replay": {"state": "complete", "reason": null},
            "stream_seq": 4, "session_revision": 2, "from_seq": 1, "items": null,
            "deltas": [
                merged(text(2), &json!({"type": "stream_text"})),
                {"type": "stream_note", "session_id": "s", "entity_id": "e", "base_seq": 0,
                 "stream_seq": 3, "names": ["question_asked"]},
                merged(
                    json!({"type": "stream_terminal", "session_id": "s", "entity_id": "e",
                           "stream_seq": 4, "session_revision": 2}),
                    &terminal(),
                ),
            ],
            "steers": [{"steer_id": "t", "outcome": "accepted"}],
        }),
    );
}

#[test]
fn a_change_of_fields_names_only_what_changed() {
    frame(
        "session_delta",
        json!({
            "session_id": "s", "from_revision": 1, "to_revision": 2,
            "ops": [
                {"op": "fields", "title": "new"},
                {"op": "rows_invalidated", "from_row": null},
                {"op": "queue_held", "code": "stopped_by_user"},
                {"op": "entity_ended", "entity_id": "e", "status": "errored"},
            ],
        }),
    );
}

/// SND-6 [unit]: a reply is terminal whatever its type, a push has the class of its type, and a
/// job that ended is terminal.
#[test]
fn replies_and_ended_jobs_are_terminal() {
    assert_eq!(questions_list(Some("r")).class(), Class::Terminal);
    assert_eq!(questions_list(None).class(), Class::Snapshot);
    let reply = json!({"request_id": "r", "reason": "storage"});
    assert_eq!(frame("recovery_required", reply).class(), Class::Terminal);
    let push = json!({"request_id": null, "reason": "restart"});
    assert_eq!(frame("recovery_required", push).class(), Class::Control);
    for status in ["pending", "queued", "running"] {
        assert_eq!(job(status).class(), Class::Replace);
    }
    for status in ["completed", "cancelled", "errored"] {
        assert_eq!((job(status).class(), job(status).key()), (Class::Terminal, None));
    }
    assert_eq!(frame("stream_text", text(1)).class(), Class::Append);
}

#[test]
fn keys_hold_what_makes_two_frames_the_same_thing() {
    let (session, entity) = (Some("s"), Some("e"));
    let expected = key(FrameType::StreamText, [session, entity, Some("i")]);
    assert_eq!(frame("stream_text", text(1)).key(), expected);
    let note =
        json!({"session_id": "s", "entity_id": "e", "base_seq": 0, "stream_seq": 1, "names": []});
    assert_eq!(
        frame("stream_note", note).key(),
        key(FrameType::StreamNote, [session, entity, None])
    );
    let steer = json!({"session_id": "s", "entity_id": "e", "steer_id": "t", "outcome": "returned", "stream_seq": 1});
    let expected = key(FrameType::SteerSettled, [session, entity, Some("t")]);
    assert_eq!(frame("steer_settled", steer).key(), expected);
    let status = json!({"session_id": "s", "run_id": "n", "phase": "running", "since": 1});
    assert_eq!(
        frame("run_status", status).key(),
        key(FrameType::RunStatus, [session, Some("n"), None])
    );
    assert_eq!(job("running").key(), key(FrameType::JobStatus, [session, Some("j"), None]));
    assert_eq!(questions_list(None).key(), key(FrameType::QuestionsList, [session, None, None]));
    assert_eq!(questions_list(Some("r")).key(), None);
    let sync = json!({"session_id": "s", "entity_id": null, "reason": "gap"});
    assert_eq!(
        frame("sync_required", sync).key(),
        key(FrameType::SyncRequired, [session, None, None])
    );
    let managed = json!({"request_id": null, "kind": "agents", "items": [{}]});
    let expected = key(FrameType::ManagedList, [None, None, Some("agents")]);
    assert_eq!(frame("managed_list", managed).key(), expected);
    let beat = json!({"server_time": 1});
    assert_eq!(frame("heartbeat", beat).key(), key(FrameType::Heartbeat, [None, None, None]));
}

/// RATE-7 [unit]: `welcome` carries every limit of the family under its name, with its value.
#[test]
fn welcome_carries_every_limit_of_the_family() {
    let limits = welcome_limits();
    let expected = json!({
        "message_bytes_max": 262_144, "steer_bytes_max": 32_768, "title_chars_max": 256,
        "attachments_per_message": 10, "questions_per_run": 16, "sessions_open_max": 8,
        "connections_per_principal": 64, "actions_per_second": 50, "actions_burst": 100,
        "rate_refusals_max": 500, "logins_failed_max": 10,
    });
    assert_eq!(serde_json::to_value(&limits).unwrap(), expected);
    assert_eq!(limits.len(), RATE_LIMITS.len());
}
