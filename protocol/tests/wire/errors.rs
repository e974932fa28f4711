//! The builder of error payloads.

use std::collections::BTreeSet;

use proptest::prelude::*;
use runwarden_protocol::errors::{BuildError, ErrorBuilder, GuardedClock, Stamp, timestamp};
use runwarden_protocol::wire::codes::Retryable;
use runwarden_protocol::wire::limits::MESSAGE_CHARS_MAX;
use runwarden_protocol::wire::structures::{
    ErrorData, Job, JobStatus, RunOutcome, Scope, Severity, Terminal,
};
use runwarden_protocol::wire::{ActionName, Code, Frame, is_safe};
use serde_json::{Value, json};

const STAMP_MS: i64 = 1_932_437_228_090;

fn stamp(number: u128) -> Stamp {
    Stamp { error_id: number, correlation_id: !number, occurred_at_ms: STAMP_MS }
}

fn scope_of(code: Code) -> Scope {
    if code == Code::ConnectionLost { Scope::Transport } else { Scope::Session }
}

fn builder(code: Code) -> ErrorBuilder {
    let builder = ErrorBuilder::new(code, scope_of(code));
    if code.retryable() == Retryable::AsStated { builder.retryable(true) } else { builder }
}

fn built(code: Code) -> ErrorData {
    builder(code).build(stamp(7)).unwrap()
}

/// ENV-1 [unit]: exactly twelve fields, of which only four may be null.
#[test]
fn a_payload_has_exactly_its_twelve_fields() {
    let nullable = ["action", "operation_id", "request_id", "session_id"];
    for code in Code::ALL {
        let value = serde_json::to_value(built(*code)).unwrap();
        let object = value.as_object().unwrap();
        assert_eq!(object.len(), 12);
        let null = object.iter().filter(|(_, value)| value.is_null()).map(|(name, _)| &**name);
        assert_eq!(null.collect::<BTreeSet<_>>(), nullable.into_iter().collect());
    }
    let valid = serde_json::to_value(built(Code::HandlerError)).unwrap();
    for (field, _) in valid.as_object().unwrap() {
        let mut changed = valid.clone();
        changed[field] = Value::Null;
        let read = serde_json::from_value::<ErrorData>(changed);
        assert_eq!(read.is_ok(), nullable.contains(&field.as_str()), "{field}");
    }
}

/// ENV-2 [unit]: a part outside its type is rejected, whether it is built or read.
#[test]
fn parts_outside_their_type_are_rejected() {
    let wrong_time = |occurred_at_ms| Stamp { occurred_at_ms, ..stamp(1) };
    let result = builder(Code::Gone).build(wrong_time(-1));
    assert_eq!(result, Err(BuildError::TimeOutsideRange));
    let result = builder(Code::Gone).build(wrong_time(timestamp::TIME_MS_MAX + 1));
    assert_eq!(result, Err(BuildError::TimeOutsideRange));
    let result = builder(Code::Gone).retryable(true).build(stamp(1));
    assert_eq!(result, Err(BuildError::RetryableFixed));
    let result = ErrorBuilder::new(Code::TurnFailed, Scope::Session).build(stamp(1));
    assert_eq!(result, Err(BuildError::RetryableMissing));
    let result = ErrorBuilder::new(Code::ConnectionLost, Scope::System).build(stamp(1));
    assert_eq!(result, Err(BuildError::ScopeNotTransport));

    let valid = serde_json::to_value(built(Code::SessionBusy)).unwrap();
    for (field, value) in [
        ("scope", json!("galaxy")),
        ("severity", json!("loud")),
        ("severity", json!("error")),
        ("severity", json!("fatal")),
        ("retryable", json!("yes")),
        ("code", json!("made_up")),
        ("code", json!("")),
        ("error_id", json!("err_12")),
        ("error_id", json!(format!("err_{}", "A".repeat(32)))),
        ("correlation_id", json!(format!("err_{}", "0".repeat(32)))),
        ("occurred_at", json!("2031-04-05T06:07:08Z")),
        ("occurred_at", json!(12)),
        ("message", json!("")),
        ("message", json!("a\nb")),
        ("message", json!("x".repeat(MESSAGE_CHARS_MAX + 1))),
        ("session_id", json!("")),
        ("request_id", json!("a\u{7}")),
        ("operation_id", json!("x".repeat(129))),
    ] {
        let mut changed = valid.clone();
        changed[field] = value;
        assert!(serde_json::from_value::<ErrorData>(changed.clone()).is_err(), "{changed}");
    }
    let mut longest = valid;
    longest["message"] = json!("x".repeat(MESSAGE_CHARS_MAX));
    assert!(serde_json::from_value::<ErrorData>(longest).is_ok());
}

/// ENV-4 [unit]: the message is the registered text: printable, 1 to 256 characters, one per code,
/// and the same whatever failed.
#[test]
fn the_message_is_the_registered_text() {
    let mut texts = Vec::new();
    for code in Code::ALL {
        let text = code.message();
        assert!((1..=MESSAGE_CHARS_MAX).contains(&text.chars().count()), "{code}");
        assert!(!text.chars().any(char::is_control) && text.ends_with('.'), "{code}");
        let failed = builder(*code)
            .action("secret-canary")
            .session(Some("secret-canary"))
            .operation(Some("secret-canary"))
            .request(Some("secret-canary"));
        assert_eq!(failed.build(stamp(1)).unwrap().message(), text);
        texts.push(text);
    }
    texts.sort_unstable();
    texts.dedup();
    assert_eq!(texts.len(), Code::ALL.len());
}

/// ENV-5 [unit]: the time is that of the guarded clock, which never steps back, and reads the same
/// on the wire and from the store.
#[test]
fn the_time_is_guarded_and_the_same_everywhere() {
    let mut clock = GuardedClock::opened_at(STAMP_MS);
    assert_eq!(clock.read(STAMP_MS - 1), STAMP_MS);
    assert_eq!(clock.read(STAMP_MS + 5), STAMP_MS + 5);
    assert_eq!(clock.read(0), STAMP_MS + 5);
    let stamp = Stamp { occurred_at_ms: clock.read(0), ..stamp(1) };
    let error = builder(Code::HandlerError).build(stamp).unwrap();
    assert_eq!(timestamp::parse(error.occurred_at()), Some(STAMP_MS + 5));
    let stored: ErrorData = serde_json::from_value(serde_json::to_value(&error).unwrap()).unwrap();
    let sent: Value =
        serde_json::from_str(&Frame::OperationError(Box::new(error)).to_text()).unwrap();
    assert_eq!(sent["data"]["occurred_at"], stored.occurred_at());
}

/// ENV-7 [unit]: a request id never becomes the operation id.
#[test]
fn a_request_id_is_no_operation_id() {
    let error = builder(Code::HandlerError).request(Some("r1")).build(stamp(1)).unwrap();
    assert_eq!((error.request_id(), error.operation_id()), (Some("r1"), None));
    let error = builder(Code::HandlerError).operation(Some("job_9")).request(Some("r1"));
    assert_eq!(error.build(stamp(1)).unwrap().operation_id(), Some("job_9"));
}

/// ENV-8 [unit]: a payload inside any frame passes the same checks as one that was built.
#[test]
fn payloads_inside_frames_are_checked_too() {
    let error = built(Code::TurnFailed);
    let terminal = Terminal {
        status: RunOutcome::Failed,
        reason: None,
        complete: true,
        committed_in: None,
        returned_steers: Vec::new(),
        usage: None,
        row: None,
        error: Some(error.clone()),
    };
    let job = Job {
        job_id: "j".to_owned(),
        session_id: "s".to_owned(),
        status: JobStatus::Errored,
        label: "l".to_owned(),
        parent_message_id: None,
        created_at: 1,
        started_at: None,
        completed_at: None,
        stream_seq: 0,
        session_revision: 0,
        error: Some(error.clone()),
    };
    let mut job = serde_json::to_value(Frame::JobStatus(Box::new(job))).unwrap();
    let mut terminal = serde_json::to_value(terminal).unwrap();
    let mut plain = serde_json::to_value(Frame::OperationError(Box::new(error))).unwrap();
    assert!(serde_json::from_value::<Frame>(job.clone()).is_ok());
    assert!(serde_json::from_value::<Terminal>(terminal.clone()).is_ok());
    assert!(serde_json::from_value::<Frame>(plain.clone()).is_ok());
    job["data"]["error"]["code"] = json!("made_up");
    terminal["error"]["error_id"] = json!("7");
    plain["data"]["message"] = json!("");
    assert!(serde_json::from_value::<Frame>(job).is_err());
    assert!(serde_json::from_value::<Terminal>(terminal).is_err());
    assert!(serde_json::from_value::<Frame>(plain).is_err());
}

/// ENV-13 [unit]: what is not recorded is a warning at most, the one code of clients excepted.
#[test]
fn unrecorded_errors_are_warnings_at_most() {
    for code in Code::ALL {
        let loud = built(*code).severity() > Severity::Warning;
        assert_eq!(loud, code.recorded() || *code == Code::ConnectionLost, "{code}");
    }
}

#[test]
fn a_failed_store_may_be_asked_again_only_for_reading() {
    for name in ActionName::ALL {
        let error = builder(Code::StorageFailed).action(name.as_str()).build(stamp(1)).unwrap();
        assert_eq!(error.retryable(), !name.kind().changes(), "{name}");
    }
    assert!(!built(Code::StorageFailed).retryable());
    for stated in [false, true] {
        let job = ErrorBuilder::new(Code::JobFailed, Scope::Job).retryable(stated);
        assert_eq!(job.build(stamp(1)).unwrap().retryable(), stated);
    }
}

proptest! {
    /// ENV-2 [property]: whatever goes in, what comes out is valid when read back, or an error.
    #[test]
    fn what_is_built_is_valid(
        index in 0..Code::ALL.len(),
        scope in 0_usize..7,
        retryable in any::<Option<bool>>(),
        numbers in any::<(u128, u128)>(),
        occurred_at_ms in any::<i64>(),
        texts in any::<[Option<String>; 4]>(),
    ) {
        let scopes = [
            Scope::Session, Scope::Job, Scope::Settings, Scope::Channel, Scope::Agent,
            Scope::Transport, Scope::System,
        ];
        let [action, session, operation, request] = &texts;
        let mut builder = ErrorBuilder::new(Code::ALL[index], scopes[scope])
            .action(action.as_deref().unwrap_or_default())
            .session(session.as_deref())
            .operation(operation.as_deref())
            .request(request.as_deref());
        if let Some(retryable) = retryable {
            builder = builder.retryable(retryable);
        }
        let stamp = Stamp { error_id: numbers.0, correlation_id: numbers.1, occurred_at_ms };
        match builder.build(stamp) {
            Ok(error) => {
                let text = serde_json::to_string(&error).unwrap();
                prop_assert_eq!(serde_json::from_str::<ErrorData>(&text).unwrap(), error);
            }
            Err(error) => prop_assert!(matches!(
                error,
                BuildError::TimeOutsideRange
                    | BuildError::RetryableFixed
                    | BuildError::RetryableMissing
                    | BuildError::ScopeNotTransport
            )),
        }
    }

    /// ENV-3 [property]: two failures with fresh random numbers share neither id, however alike.
    #[test]
    fn alike_failures_have_ids_of_their_own(first in any::<(u128, u128)>(), second in any::<(u128, u128)>()) {
        prop_assume!(first.0 != second.0 && first.1 != second.1);
        let error = |numbers: (u128, u128)| {
            let stamp = Stamp { error_id: numbers.0, correlation_id: numbers.1, ..stamp(0) };
            builder(Code::HandlerError).build(stamp).unwrap()
        };
        let (first, second) = (error(first), error(second));
        prop_assert_ne!(first.error_id(), second.error_id());
        prop_assert_ne!(first.correlation_id(), second.correlation_id());
    }

    /// ENV-6 [property]: a text is echoed exactly when it is safe.
    #[test]
    fn texts_are_echoed_exactly_when_safe(
        text in prop_oneof![any::<String>(), "[a-z]{0,4}", "\\PC{120,135}", "a\\x00?b"],
    ) {
        let safe = (1..=128).contains(&text.chars().count()) && !text.chars().any(char::is_control);
        prop_assert_eq!(is_safe(&text), safe);
        let error = builder(Code::HandlerError)
            .action(&text)
            .session(Some(&text))
            .operation(Some(&text))
            .request(Some(&text))
            .build(stamp(1))
            .unwrap();
        let expected = safe.then_some(text.as_str());
        prop_assert_eq!(error.action(), expected);
        prop_assert_eq!(error.session_id(), expected);
        prop_assert_eq!(error.operation_id(), expected);
        prop_assert_eq!(error.request_id(), expected);
    }
}
