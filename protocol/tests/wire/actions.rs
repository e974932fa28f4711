//! Reading actions.

use proptest::prelude::*;
use runwarden_protocol::errors::{ErrorBuilder, Stamp};
use runwarden_protocol::wire::actions::{HistorySelector, ParseRefusal};
use runwarden_protocol::wire::frames::Frame;
use runwarden_protocol::wire::limits::{
    ATTACHMENTS_PER_MESSAGE, CURSOR_CHARS_MAX, ECHO_CHARS_MAX, INTEGER_MAX, KNOWN_SEQS_MAX,
    MESSAGE_BYTES_MAX, STEER_BYTES_MAX, TITLE_CHARS_MAX,
};
use runwarden_protocol::wire::structures::{ErrorData, Limit, Scope};
use runwarden_protocol::wire::{
    Action, ActionName, Code, Received, Refusal, is_safe, parse, parse_any,
};
use serde_json::{Value, json};

use crate::samples::{ACTIONS, any_json, object, with};

fn refused(text: &str) -> ParseRefusal {
    *parse_any(text).expect_err("the text must be refused")
}

fn error_of(refusal: &ParseRefusal) -> ErrorData {
    let stamp = Stamp { error_id: 1, correlation_id: 2, occurred_at_ms: 3 };
    ErrorBuilder::of_refusal(refusal).build(stamp).unwrap()
}

fn field_of(text: &str) -> Option<&'static str> {
    let refusal = refused(text);
    assert_eq!(refusal.code, Code::InvalidRequest, "{text}");
    refusal.field
}

fn accepted(text: &str) -> Received {
    parse_any(text).unwrap_or_else(|refusal| panic!("{text}: {refusal}"))
}

#[test]
fn every_action_is_read_and_written_back() {
    let mut seen = Vec::new();
    for text in ACTIONS {
        let received = accepted(text);
        assert_eq!(accepted(&received.to_text()), received, "{text}");
        let written = object(&received.to_text());
        for (field, value) in object(text) {
            assert_eq!(written.get(&field), Some(&value), "{field} of {text}");
        }
        let name = received.action.name();
        assert_eq!(Some(name.as_str()), object(text)["action"].as_str());
        seen.push(name);
    }
    seen.dedup();
    assert_eq!(seen, ActionName::ALL);
}

#[test]
fn the_bare_text_ping_is_a_ping() {
    let ping = Received { request_id: None, action: Action::Ping {} };
    assert_eq!(parse("ping"), Ok(ping.clone()));
    assert_eq!(parse(r#"{"action":"ping","request_id":"ignored"}"#), Ok(ping));
    assert!(parse(" ping").is_err());
}

#[test]
fn missing_nullable_fields_are_null_and_unknown_ones_ignored() {
    let text = r#"{"action":"send_message","request_id":"r","session_id":"s","text":"","more":[]}"#;
    let Action::SendMessage(send) = accepted(text).action else { panic!("another action") };
    assert_eq!((send.attachments, send.when_busy, send.idempotency_key), (None, None, None));
}

/// ACT-2 [unit]: an unregistered action, and one this release does not serve, is `unknown_action`
/// of scope system, echoing what is safe.
#[test]
fn an_unregistered_action_is_unknown() {
    let refusal = refused(r#"{"action":"dance","request_id":"r","session_id":"s"}"#);
    let error = error_of(&refusal);
    assert_eq!((error.code(), error.scope()), (Code::UnknownAction, Scope::System));
    assert_eq!((error.action(), error.request_id()), (Some("dance"), Some("r")));
    assert_eq!(error.session_id(), Some("s"));
    assert_eq!(Refusal::of_message(&refusal), None);
    let unsafe_name = refused("{\"action\":\"a\\u0007b\",\"request_id\":\"\"}");
    assert_eq!(unsafe_name.code, Code::UnknownAction);
    assert_eq!((unsafe_name.action, unsafe_name.request_id), (None, None));
    for text in ACTIONS {
        let name = accepted(text).action.name();
        let code = parse(text).err().map(|refusal| refusal.code);
        assert_eq!(code, (!name.delivered()).then_some(Code::UnknownAction), "{text}");
    }
}

/// ACT-3 [unit]: what is not a JSON object is `invalid_request`, scope system, four nulls,
/// unrecorded.
#[test]
fn what_is_not_an_object_echoes_nothing() {
    for text in ["", "pong", "[]", "\"ping\"", "1", "null", "{", "{\"action\":}", "{}{}"] {
        assert_echoes_nothing(text);
    }
}

fn assert_echoes_nothing(text: &str) {
    let refusal = refused(text);
    assert_eq!(Refusal::of_message(&refusal), None);
    let error = error_of(&refusal);
    assert_eq!((error.code(), error.scope()), (Code::InvalidRequest, Scope::System));
    assert!(!error.code().recorded());
    let nullable = [error.request_id(), error.action(), error.session_id(), error.operation_id()];
    assert_eq!(nullable, [None; 4], "{text}");
}

#[test]
fn an_object_without_action_is_invalid() {
    assert_eq!(field_of("{}"), Some("action"));
    assert_eq!(field_of(r#"{"action":7,"request_id":"r"}"#), Some("action"));
    assert_eq!(refused(r#"{"action":7,"request_id":"r"}"#).request_id.as_deref(), Some("r"));
}

#[test]
fn a_required_request_id_is_required_and_an_unsafe_optional_one_is_null() {
    for text in ACTIONS {
        let name = accepted(text).action.name();
        let mut object = object(text);
        for unsafe_id in [json!(""), json!(7), json!("a\nb"), json!("x".repeat(129)), Value::Null] {
            object.insert("request_id".to_owned(), unsafe_id);
            let text = Value::Object(object.clone()).to_string();
            if name.request_id_required() {
                assert_eq!(field_of(&text), Some("request_id"), "{text}");
            } else {
                assert_eq!(accepted(&text).request_id, None, "{text}");
            }
        }
    }
}

/// ACT-7 [unit]: an error of a registered action carries the scope of the action, by its kind for
/// the management of settings, channels and agents.
#[test]
fn errors_carry_the_scope_of_their_action() {
    for text in ACTIONS {
        let action = accepted(text).action;
        let stamp = Stamp { error_id: 1, correlation_id: 2, occurred_at_ms: 3 };
        let error = ErrorBuilder::of_action(Code::HandlerError, &action, Some("r"));
        let error = error.build(stamp).unwrap();
        assert_eq!(error.scope(), action.scope());
        assert_eq!(error.action(), Some(action.name().as_str()));
    }
    for (kind, scope) in
        [("settings", Scope::Settings), ("channels", Scope::Channel), ("agents", Scope::Agent)]
    {
        let text = with("manage_apply", "kind", json!(kind));
        assert_eq!(accepted(&text).action.scope(), scope);
        let mut object = object(&text);
        object.insert("op".to_owned(), json!("burn"));
        assert_eq!(refused(&Value::Object(object).to_string()).scope, scope);
    }
    assert_eq!(refused(r#"{"action":"list_jobs","limit":0}"#).scope, Scope::Job);
}

/// RATE-1 [unit], RATE-6 [unit]: at a limit accepted, one above refused with the name of the limit.
#[test]
fn limits_hold_at_the_bound_and_name_themselves_above() {
    let ascii = |length: usize| json!("x".repeat(length));
    let wide = |length: usize| json!("\u{1F600}".repeat(length));
    let ids = |count: usize| Value::from(vec!["a"; count]);
    assert_bound("create_session", "title", "title_chars_max", TITLE_CHARS_MAX, wide);
    assert_bound("update_session", "title", "title_chars_max", TITLE_CHARS_MAX, ascii);
    assert_bound("list_sessions", "query", "title_chars_max", TITLE_CHARS_MAX, wide);
    assert_bound("send_message", "text", "message_bytes_max", MESSAGE_BYTES_MAX, ascii);
    assert_bound("rewrite", "text", "message_bytes_max", MESSAGE_BYTES_MAX, ascii);
    assert_bound("steer_run", "text", "steer_bytes_max", STEER_BYTES_MAX, ascii);
    let per_message = ATTACHMENTS_PER_MESSAGE;
    assert_bound("send_message", "attachments", "attachments_per_message", per_message, ids);
    let bytes_not_chars = json!("\u{e9}".repeat(MESSAGE_BYTES_MAX / 2 + 1));
    assert_eq!(field_of(&with("send_message", "text", bytes_not_chars)), Some("text"));
}

fn assert_bound(
    action: &str,
    field: &str,
    limit: &str,
    max: usize,
    value: impl Fn(usize) -> Value,
) {
    accepted(&with(action, field, value(max - 1)));
    accepted(&with(action, field, value(max)));
    let refusal = refused(&with(action, field, value(max + 1)));
    assert_eq!(refusal.code, Code::InvalidRequest);
    assert_eq!(refusal.field, Some(field));
    let limit = Some(Limit { name: limit.to_owned(), max: i64::try_from(max).unwrap() });
    assert_eq!(refusal.limit, limit);
    match Refusal::of_message(&refusal).unwrap().frame() {
        Some(Frame::MessageRefused(refused)) => assert_eq!(refused.limit, limit),
        Some(Frame::SteerResult(refused)) => assert_eq!(refused.limit, limit),
        None => assert_eq!(action, "list_sessions"),
        Some(other) => panic!("{other:?}"),
    }
}

/// RATE-6 [unit]: a refusal for a rate, for busyness or for low storage states when to come back.
#[test]
fn refusals_that_pass_state_when_to_come_back() {
    let action = accepted(&with("send_message", "text", json!("t"))).action;
    for code in Code::ALL {
        let frame = Refusal::of_action(*code, &action, Some("r")).frame();
        let Some(Frame::MessageRefused(refused)) = frame else { panic!("another frame") };
        let stated = [Code::RateLimited, Code::ServerBusy, Code::StorageLow].contains(code);
        assert_eq!(refused.retry_after_ms.is_some(), stated, "{code}");
    }
}

#[test]
fn numbers_lists_and_ids_hold_at_their_bounds() {
    for (value, fits) in [(0, false), (1, true), (100, true), (101, false)] {
        let text = with("list_sessions", "limit", json!(value));
        assert_eq!(parse_any(&text).is_ok(), fits, "{text}");
    }
    for (value, fits) in [
        (INTEGER_MAX, true),
        (INTEGER_MAX + 1, false),
        (-INTEGER_MAX, true),
        (-INTEGER_MAX - 1, false),
    ] {
        assert_eq!(parse_any(&with("open_session", "generation", json!(value))).is_ok(), fits);
    }
    for (chars, fits) in
        [(0, false), (1, true), (ECHO_CHARS_MAX, true), (ECHO_CHARS_MAX + 1, false)]
    {
        let id = "\u{e9}".repeat(chars);
        assert_eq!(is_safe(&id), fits);
        assert_eq!(parse_any(&with("stop_run", "run_id", json!(id))).is_ok(), fits);
        assert_eq!(parse_any(&with("send_message", "idempotency_key", json!(id))).is_ok(), fits);
    }
    for (length, fits) in [(CURSOR_CHARS_MAX, true), (CURSOR_CHARS_MAX + 1, false)] {
        let cursor = json!("c".repeat(length));
        assert_eq!(parse_any(&with("list_user_errors", "cursor", cursor)).is_ok(), fits);
    }
    assert_eq!(field_of(&with("list_user_errors", "cursor", json!("\u{e9}"))), Some("cursor"));
    for (count, fits) in [(0, false), (1, true), (32, true), (33, false)] {
        let text = with("plan_cleanup", "categories", Value::from(vec!["a"; count]));
        assert_eq!(parse_any(&text).is_ok(), fits);
    }
    for (count, fits) in [(0, true), (16, true), (17, false)] {
        assert_eq!(
            parse_any(&with("hello", "features", Value::from(vec!["a"; count]))).is_ok(),
            fits
        );
    }
    for (count, fits) in [(KNOWN_SEQS_MAX, true), (KNOWN_SEQS_MAX + 1, false)] {
        let seqs = (0..count).map(|n| (format!("run_{n}"), json!(n))).collect();
        let text = with("open_session", "known_stream_seqs", Value::Object(seqs));
        assert_eq!(parse_any(&text).is_ok(), fits);
    }
}

#[test]
fn control_characters_make_an_id_unsafe() {
    for text in ["\0", "a\tb", "a\u{7f}", "\u{85}"] {
        assert!(!is_safe(text), "{text:?}");
    }
    assert!(is_safe(" \u{200b}\u{10ffff}"));
}

#[test]
fn known_values_come_together() {
    let fields =
        ["known_store_id", "known_session_revision", "known_stream_seqs", "known_schema_version"];
    for field in fields {
        assert_eq!(field_of(&with("open_session", field, Value::Null)), Some(field));
    }
    let text = r#"{"action":"open_session","session_id":"s","generation":0}"#;
    let Action::OpenSession(open) = accepted(text).action else { panic!("another action") };
    assert_eq!(open.known, None);
}

#[test]
fn history_has_exactly_one_selector() {
    let start = r#"{"action":"load_history","session_id":"s","generation":0"#;
    for (selector, expected) in [
        (r#","latest":true"#, HistorySelector::Latest),
        (r#","before":"c""#, HistorySelector::Before("c".to_owned())),
        (r#","after":"c","latest":null"#, HistorySelector::After("c".to_owned())),
        (r#","around":"m""#, HistorySelector::Around("m".to_owned())),
    ] {
        let action = accepted(&format!("{start}{selector}}}")).action;
        let Action::LoadHistory(load) = action else { panic!("another action") };
        assert_eq!(load.selector, expected);
    }
    for (selector, field) in [
        ("", "latest"),
        (r#","latest":false"#, "latest"),
        (r#","latest":true,"around":"m""#, "around"),
        (r#","before":"c","after":"c""#, "after"),
    ] {
        assert_eq!(field_of(&format!("{start}{selector}}}")), Some(field), "{selector}");
    }
}

#[test]
fn a_rewrite_names_what_its_operation_needs() {
    for op in ["edit", "regenerate", "retry", "undo", "clear", "truncate"] {
        let mut rewrite = object(&with("rewrite", "op", json!(op)));
        if op != "edit" {
            assert!(field_of(&Value::Object(rewrite.clone()).to_string()).is_some());
            rewrite.remove("text");
        }
        if op == "undo" || op == "clear" {
            rewrite.remove("message_id");
        }
        accepted(&Value::Object(rewrite).to_string());
    }
}

/// ENV-13 [unit]: a refusal of a session change travels in the frame of its action, or in
/// `message_refused` where an id that frame needs is missing; every other one has no frame.
#[test]
fn refusals_travel_in_the_frame_of_their_action() {
    for text in ACTIONS {
        let action = accepted(text).action;
        let frame = Refusal::of_action(Code::SessionUnknown, &action, Some("r")).frame();
        let expected = match action.name() {
            ActionName::StopRun => Some("stop_result"),
            ActionName::SteerRun => Some("steer_result"),
            ActionName::AnswerQuestion => Some("answer_refused"),
            name if name.scope() == Scope::Session && name.kind().changes() => {
                Some("message_refused")
            }
            _ => None,
        };
        assert_eq!(frame.as_ref().map(|frame| frame.frame_type().as_str()), expected);
        if let Some(frame) = frame {
            assert_eq!(frame.request_id(), Some("r"));
        }
    }
    for (action, id) in
        [("stop_run", "run_id"), ("steer_run", "run_id"), ("answer_question", "question_id")]
    {
        let refusal = refused(&with(action, id, json!(7)));
        let frame = Refusal::of_message(&refusal).unwrap().frame().unwrap();
        assert_eq!(frame.frame_type().as_str(), "message_refused");
    }
    let quiet = Code::ALL.iter().filter(|code| !code.recorded() && **code != Code::ConnectionLost);
    for code in quiet {
        assert!(code.severity() <= runwarden_protocol::wire::structures::Severity::Warning);
    }
}

proptest! {
    /// ACT-3 [property]: no text that is not a JSON object is anything but that one refusal.
    #[test]
    fn any_text_that_is_not_an_object_echoes_nothing(
        text in any::<String>(),
        value in any_json().prop_filter("an object is another case", |value| !value.is_object()),
    ) {
        assert_echoes_nothing(&value.to_string());
        if text != "ping" && serde_json::from_str::<Value>(&text).is_err() {
            assert_echoes_nothing(&text);
        }
    }

    /// ACT-4 [property]: a field of any action set to any value is either read as that value or
    /// refused `invalid_request`, naming the field, with the safe request id echoed.
    #[test]
    fn any_value_of_any_field_is_read_or_refused_by_name(
        index in 0..ACTIONS.len(),
        field in any::<prop::sample::Index>(),
        value in any_json(),
    ) {
        let mut changed = object(ACTIONS[index]);
        let fields: Vec<String> = changed.keys().filter(|key| *key != "action").cloned().collect();
        prop_assume!(!fields.is_empty());
        let field = field.get(&fields);
        let known_values = field.starts_with("known_") && value.is_null();
        changed.insert(field.clone(), value.clone());
        match parse_any(&Value::Object(changed.clone()).to_string()) {
            Ok(received) => {
                let written = object(&received.to_text());
                let read = written.get(field).cloned().unwrap_or_default();
                let ignored = field == "request_id" && !value.as_str().is_some_and(is_safe);
                prop_assert_eq!(read, if ignored { Value::Null } else { value });
            }
            Err(refusal) => {
                prop_assert_eq!(refusal.code, Code::InvalidRequest);
                prop_assert_eq!(refusal.name.map(ActionName::as_str), changed["action"].as_str());
                let partner = ["op", "latest", "before"].contains(&field.as_str()) || known_values;
                prop_assert!(partner || refusal.field == Some(field.as_str()));
                let id = changed.get("request_id").and_then(Value::as_str);
                prop_assert_eq!(refusal.request_id.as_deref(), id.filter(|id| is_safe(id)));
            }
        }
    }

    /// RATE-1 [property]: a text, steer or title is refused exactly when it is above its limit,
    /// whatever it is made of.
    #[test]
    fn texts_are_refused_exactly_above_their_limit(
        unit in any::<char>(),
        steer in STEER_BYTES_MAX - 8..STEER_BYTES_MAX + 8,
        title in TITLE_CHARS_MAX - 8..TITLE_CHARS_MAX + 8,
    ) {
        let text = unit.to_string().repeat(steer / unit.len_utf8() + 1);
        let read = parse_any(&with("steer_run", "text", json!(text)));
        prop_assert_eq!(read.is_ok(), text.len() <= STEER_BYTES_MAX);
        let read = parse_any(&with("create_session", "title", json!(unit.to_string().repeat(title))));
        prop_assert_eq!(read.is_ok(), title <= TITLE_CHARS_MAX);
        let text = unit.to_string().repeat(MESSAGE_BYTES_MAX / unit.len_utf8() + steer % 2);
        let read = parse_any(&with("send_message", "text", json!(text)));
        prop_assert_eq!(read.is_ok(), text.len() <= MESSAGE_BYTES_MAX);
    }

    #[test]
    fn reading_never_panics(text in any::<String>(), value in any_json(), name in 0..ActionName::ALL.len()) {
        let _ = parse_any(&text);
        let mut object = value.as_object().cloned().unwrap_or_default();
        object.insert("action".to_owned(), json!(ActionName::ALL[name].as_str()));
        let _ = parse_any(&Value::Object(object).to_string());
        let _ = parse_any(&value.to_string());
    }
}
