//! Replies and the registry behind them, over a core that records errors or fails to.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::task::Waker;

use futures_lite::future::block_on;
use runwarden_protocol::delivery::connection::Input;
use runwarden_protocol::delivery::requests::{Found, Outcome, RequestKey};
use runwarden_protocol::errors::Stamp;
use runwarden_protocol::ids::{AskId, ConnectionId, PayloadId, PrincipalId};
use runwarden_protocol::instant::Instant;
use runwarden_protocol::wire::codes::Code;
use runwarden_protocol::wire::frames::{Frame, StopOutcome, StopResult, UserErrorAcknowledged};
use runwarden_protocol::wire::parse;
use runwarden_protocol::wire::structures::ErrorData;
use serde_json::{Value, json};

use super::backend::Backend;
use super::peer::Peer;
use super::registry::{Accepted, Registry};
use super::reply::{ReplyTo, Subject};
use crate::hub::{Principal, lock};
use crate::ports::StoreFailure;
use crate::ports::agent::BoxFuture;

const NOW: Instant = Instant::from_millis(1_000);
const OWNER: PrincipalId = PrincipalId::new(1);

#[derive(Default)]
struct Core {
    registry: Arc<Mutex<Registry>>,
    numbers: AtomicU64,
    store_fails: AtomicBool,
    recorded: Mutex<Vec<ErrorData>>,
}

impl Core {
    fn number(&self) -> u64 {
        self.numbers.fetch_add(1, Ordering::Relaxed)
    }
}

impl Backend for Core {
    fn now(&self) -> Instant {
        NOW
    }

    fn payload_id(&self) -> PayloadId {
        PayloadId::new(self.number())
    }

    fn stamp(&self) -> Stamp {
        let id = u128::from(self.number());
        Stamp { error_id: id, correlation_id: id, occurred_at_ms: 1_000 }
    }

    fn registry(&self, _principal: PrincipalId) -> Arc<Mutex<Registry>> {
        self.registry.clone()
    }

    fn record_error<'a>(
        &'a self,
        _principal: PrincipalId,
        error: &'a ErrorData,
    ) -> BoxFuture<'a, Result<(), StoreFailure>> {
        Box::pin(async move {
            if self.store_fails.load(Ordering::Relaxed) {
                return Err(StoreFailure::Unavailable("disk full".to_owned()));
            }
            lock(&self.recorded).push(error.clone());
            Ok(())
        })
    }

    fn spawn(&self, task: BoxFuture<'static, ()>) {
        block_on(task);
    }
}

fn peer(id: u64) -> Arc<Peer> {
    let principal = Principal { id: OWNER, read_only: false };
    Arc::new(Peer::new(ConnectionId::new(id), principal, NOW))
}

fn reply(core: &Arc<Core>, peer: &Arc<Peer>, message: &Value) -> ReplyTo {
    let subject = match parse(&message.to_string()) {
        Ok(received) => Subject::Action(Arc::new(received)),
        Err(refusal) => Subject::Message(Arc::from(refusal)),
    };
    ReplyTo::new(peer.clone(), AskId::new(core.number()), subject, core.clone())
}

fn stop(request_id: &str) -> Value {
    let (session_id, run_id) = ("ses_0000000000000001", "run_0000000000000001");
    json!({ "action": "stop_run", "request_id": request_id, "session_id": session_id, "run_id": run_id })
}

fn send(request_id: &str, text: &str) -> Value {
    json!({
        "action": "send_message", "request_id": request_id, "session_id": "ses_0000000000000001",
        "text": text, "idempotency_key": "key",
    })
}

fn answer(request_id: &str, word: &str) -> Value {
    json!({
        "action": "answer_question", "request_id": request_id, "session_id": "ses_0000000000000001",
        "question_id": "que_0000000000000001", "question_version": 1, "answer": { "text": word },
        "idempotency_key": "key",
    })
}

fn execute(reply: ReplyTo) -> ReplyTo {
    match reply.accept() {
        Accepted::Execute(reply) => reply,
        other => panic!("not executed: {other:?}"),
    }
}

fn acknowledged(request_id: Option<String>) -> Frame {
    Frame::UserErrorAcknowledged(UserErrorAcknowledged { request_id, error_id: "e".to_owned() })
}

/// The frames a peer is to write next.
fn sent(peer: &Peer) -> Vec<Frame> {
    let batch = peer.outbound.work(Waker::noop()).batch.unwrap_or_default();
    peer.outbound.feed(NOW, runwarden_protocol::delivery::sender::Input::Sent);
    batch.iter().map(|text| serde_json::from_str(text).unwrap()).collect()
}

fn result_of(core: &Core, request_id: &str) -> Found {
    lock(&core.registry).find(NOW, AskId::new(u64::MAX), RequestKey::of(request_id)).0
}

/// REQ-6 [unit]: when a reply is handed to its queue, its outcome can be asked for already.
#[test]
fn an_outcome_is_recorded_before_its_reply_is_enqueued() {
    let (core, peer) = (Arc::new(Core::default()), peer(1));
    let reply = execute(reply(&core, &peer, &stop("one")));
    assert!(matches!(result_of(&core, "one"), Found::Pending { .. }));
    reply.done_by(acknowledged(Some("one".to_owned())), |_, _, _| {
        let found = result_of(&core, "one");
        assert!(matches!(found, Found::Ended { outcome: Outcome::Done(_), .. }));
    });
}

/// ACT-1 [unit], REQ-1 [unit]: a handler that gives up yields exactly one recorded error with the request id.
#[test]
fn a_dropped_reply_is_a_failed_handler() {
    let (core, peer) = (Arc::new(Core::default()), peer(1));
    drop(execute(reply(&core, &peer, &stop("one"))));
    let frames = sent(&peer);
    let [Frame::OperationError(error)] = frames.as_slice() else { panic!("{frames:?}") };
    assert_eq!((error.code(), error.request_id()), (Code::HandlerError, Some("one")));
    assert_eq!(lock(&core.recorded).as_slice(), [(**error).clone()]);
    assert!(matches!(peer.facts(Waker::noop())[0], Input::ActionEnded { .. }));
}

/// ERR-7 [unit]: without a record there is no error frame, and the connection is told to close.
#[test]
fn an_error_without_record_is_not_sent() {
    let (core, peer) = (Arc::new(Core::default()), peer(1));
    core.store_fails.store(true, Ordering::Relaxed);
    execute(reply(&core, &peer, &stop("one"))).fail(Code::StorageFailed, "full");
    assert!(sent(&peer).is_empty());
    assert_eq!(peer.facts(Waker::noop()), [Input::RecordFailed]);
}

/// ENV-13 [unit]: a refusal travels in the frame of its action, else in an unrecorded error.
#[test]
fn a_refusal_travels_where_its_action_says() {
    let (core, peer) = (Arc::new(Core::default()), peer(1));
    execute(reply(&core, &peer, &stop("one"))).refuse(|refusal| refusal, Code::SessionUnknown);
    let list = json!({ "action": "list_sessions", "request_id": "two" });
    execute(reply(&core, &peer, &list)).refuse(|refusal| refusal, Code::CursorUnavailable);
    let [first, second] = [sent(&peer), sent(&peer)].concat().try_into().unwrap();
    let Frame::StopResult(StopResult { outcome, code, .. }) = first else { panic!("{first:?}") };
    assert_eq!((outcome, code), (StopOutcome::Refused, Some(Code::SessionUnknown)));
    let Frame::OperationError(error) = second else { panic!("{second:?}") };
    assert_eq!(error.code(), Code::CursorUnavailable);
    assert!(lock(&core.recorded).is_empty());
}

#[test]
fn uses_of_one_key_in_flight_share_one_execution() {
    let (core, first, second) = (Arc::new(Core::default()), peer(1), peer(2));
    let leader = execute(reply(&core, &first, &send("one", "hello")));
    assert!(matches!(reply(&core, &second, &send("two", "hello")).accept(), Accepted::Shares));
    let other = reply(&core, &second, &send("three", "bye")).accept();
    let Accepted::Conflict(other) = other else { panic!("{other:?}") };
    other.refuse(|refusal| refusal, Code::IdempotencyConflict);
    assert!(matches!(sent(&second).as_slice(), [Frame::MessageRefused(_)]));
    leader.done(acknowledged(Some("one".to_owned())));
    assert_eq!(sent(&first), [acknowledged(Some("one".to_owned()))]);
    assert_eq!(sent(&second), [acknowledged(Some("two".to_owned()))]);
    execute(reply(&core, &first, &send("four", "hello"))).done(acknowledged(None));
}

#[test]
fn an_answer_given_twice_gets_its_first_reply_again() {
    let (core, peer) = (Arc::new(Core::default()), peer(1));
    execute(reply(&core, &peer, &answer("one", "yes"))).refuse(|refusal| refusal, Code::Gone);
    execute(reply(&core, &peer, &answer("two", "yes"))).done(acknowledged(Some("two".to_owned())));
    let _ = (sent(&peer), sent(&peer));
    let again = reply(&core, &peer, &answer("three", "yes")).accept();
    let Accepted::Repeats(again, text) = again else { panic!("{again:?}") };
    again.repeat(&text);
    assert_eq!(sent(&peer), [acknowledged(Some("three".to_owned()))]);
    assert!(matches!(result_of(&core, "three"), Found::Ended { .. }));
    let other = reply(&core, &peer, &answer("four", "no")).accept();
    let Accepted::Conflict(other) = other else { panic!("{other:?}") };
    other.refuse(|refusal| refusal, Code::IdempotencyConflict);
}

/// RATE-10 [unit]: seven and eight sessions may be opened, a ninth may not until one is closed.
#[test]
fn a_ninth_session_is_not_opened() {
    use runwarden_protocol::ids::SessionId;
    let peer = peer(1);
    assert!((1..=8).all(|session| peer.session_opened(SessionId::new(session))));
    assert!(!peer.session_opened(SessionId::new(9)));
    assert!(peer.session_opened(SessionId::new(8)));
    peer.session_closed(SessionId::new(1));
    assert!(peer.session_opened(SessionId::new(9)));
    peer.leaves();
    assert!(!peer.session_opened(SessionId::new(9)));
}
