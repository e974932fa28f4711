//! The answer to one action: exactly one outcome, recorded before it is sent (ACT-5, REQ-6).

use std::fmt;
use std::sync::Arc;

use async_tungstenite::tungstenite::Utf8Bytes;
use runwarden_protocol::delivery::connection::Input;
use runwarden_protocol::delivery::requests::{Outcome, RequestKey};
use runwarden_protocol::errors::{BuildError, ErrorBuilder};
use runwarden_protocol::ids::{AskId, SessionId};
use runwarden_protocol::instant::Instant;
use runwarden_protocol::record::DIGEST_START;
use runwarden_protocol::wire::actions::{Action, ActionName, ParseRefusal};
use runwarden_protocol::wire::codes::Code;
use runwarden_protocol::wire::frames::Frame;
use runwarden_protocol::wire::structures::ErrorData;
use runwarden_protocol::wire::{Received, Refusal};
use serde_json::Value;

use super::backend::Backend;
use super::peer::Peer;
use super::registry::{Accept, Accepted, Key, body_ref};
use crate::frames::{Body, SharedFrame};
use crate::hub::{Principal, lock};
use crate::outbound::Outbound;
use crate::ports::store::KeyUse;

/// What is to be answered.
#[derive(Clone, Debug)]
pub(super) enum Subject {
    /// An action.
    Action(Arc<Received>),
    /// A message that is no action this release serves.
    Message(Arc<ParseRefusal>),
}

/// Where the answer to one action goes. Exactly one of its methods that take it ends the action; dropped
/// without an answer it fails as `handler_error`.
pub struct ReplyTo {
    inner: Option<Box<Inner>>,
}

struct Inner {
    peer: Arc<Peer>,
    ticket: AskId,
    subject: Subject,
    session: Option<SessionId>,
    backend: Arc<dyn Backend>,
}

enum Kind {
    Done,
    Refused,
    Failed,
}

impl ReplyTo {
    pub(super) fn new(
        peer: Arc<Peer>,
        ticket: AskId,
        subject: Subject,
        backend: Arc<dyn Backend>,
    ) -> Self {
        let session = subject.session_id();
        Self { inner: Some(Box::new(Inner { peer, ticket, subject, session, backend })) }
    }

    /// Ends the action with its reply, which already carries the request id. The outcome is recorded
    /// first (REQ-6).
    pub fn done(self, frame: Frame) {
        self.done_by(frame, |outbound, now, shared| {
            outbound.offer(now, &shared);
        });
    }

    /// As [`ReplyTo::done`], but the caller enqueues the reply, with what belongs to the same step.
    pub fn done_by(mut self, frame: Frame, deliver: impl FnOnce(&Outbound, Instant, SharedFrame)) {
        self.take().finish(Kind::Done, &frame, deliver);
    }

    /// Ends the action with a refusal, in the frame of the action or else an unrecorded
    /// `operation_error` (ENV-13). `refine` adds what the code alone does not say.
    pub fn refuse(mut self, refine: impl FnOnce(Refusal) -> Refusal, code: Code) {
        let inner = self.take();
        let frame = inner.subject.refusal(code).map(refine).and_then(Refusal::frame);
        match frame {
            Some(frame) => inner.finish(Kind::Refused, &frame, offer),
            None => inner.refuse_plainly(code),
        }
    }

    /// Ends the action with an error: recorded first if its code is (ERR-6); a record that cannot be made
    /// closes the connection instead (ERR-7). `detail` goes to the diagnostic log only.
    pub fn fail(mut self, code: Code, detail: &str) {
        self.take().fail(code, detail);
    }

    /// The request id the reply carries.
    pub fn request_id(&self) -> Option<String> {
        self.inner().subject.request_id().map(str::to_owned)
    }

    /// The connection.
    pub fn peer(&self) -> &Arc<Peer> {
        &self.inner().peer
    }

    /// Whom it acts for.
    pub fn principal(&self) -> Principal {
        self.inner().peer.principal
    }

    /// The session the action names.
    pub fn session_id(&self) -> Option<SessionId> {
        self.inner().session
    }

    /// What is to be answered.
    pub(super) fn subject(&self) -> Subject {
        self.inner().subject.clone()
    }

    /// Names the execution.
    pub(super) fn ticket(&self) -> AskId {
        self.inner().ticket
    }

    /// The idempotency key of the action, as the store keeps it.
    pub(super) fn key_use(&self) -> Option<KeyUse> {
        let Subject::Action(received) = &self.inner().subject else { return None };
        let key = received.action.idempotency_key()?.to_owned();
        Some(KeyUse { key, fingerprint: fingerprint(&received.action) })
    }

    /// Accepts the action for execution. A message that names no action has nothing to record.
    pub(super) fn accept(self) -> Accepted {
        let inner = self.inner();
        let key = self.key_use().map(|used| Key {
            session: inner.session,
            key: RequestKey::of(&used.key),
            fingerprint: used.fingerprint,
            volatile: inner.subject.action_name() == Some(ActionName::AnswerQuestion),
        });
        self.accept_with(key)
    }

    /// Accepts an action that is answered without being executed; its key is not used.
    pub(super) fn accept_only(self) -> Accepted {
        self.accept_with(None)
    }

    /// Answers an action that repeats one that took effect; its outcome is recorded already.
    pub(super) fn repeat(mut self, text: &Utf8Bytes) {
        self.take().deliver_copy(text);
    }

    fn accept_with(self, key: Option<Key>) -> Accepted {
        let inner = self.inner();
        let Some(action) = inner.subject.action_name() else { return Accepted::Execute(self) };
        let accept = Accept {
            ask: inner.ticket,
            request: inner.subject.request_id().map(RequestKey::of),
            action,
            key,
            payload: inner.backend.payload_id(),
        };
        let (registry, now) =
            (inner.backend.registry(inner.peer.principal.id), inner.backend.now());
        lock(&registry).accept(now, accept, self)
    }

    fn inner(&self) -> &Inner {
        self.inner.as_deref().expect("only the one answer takes it, and that consumes the reply")
    }

    fn take(&mut self) -> Inner {
        *self.inner.take().expect("only the one answer takes it, and that consumes the reply")
    }
}

impl Drop for ReplyTo {
    fn drop(&mut self) {
        if let Some(inner) = self.inner.take() {
            inner.fail(Code::HandlerError, "dropped");
        }
    }
}

impl fmt::Debug for ReplyTo {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let inner = self.inner.as_deref();
        formatter
            .debug_struct("ReplyTo")
            .field("connection", &inner.map(|inner| inner.peer.id))
            .field("ticket", &inner.map(|inner| inner.ticket))
            .field("action", &inner.and_then(|inner| inner.subject.action_name()))
            .finish()
    }
}

impl Subject {
    /// The action, when this release serves it.
    pub(super) fn action_name(&self) -> Option<ActionName> {
        match self {
            Self::Action(received) => Some(received.action.name()),
            Self::Message(refusal) => refusal.name,
        }
    }

    /// The session it names.
    pub(super) fn session_id(&self) -> Option<SessionId> {
        let text = match self {
            Self::Action(received) => received.action.session_id(),
            Self::Message(refusal) => refusal.session_id.as_deref(),
        };
        text.and_then(|text| text.parse().ok())
    }

    fn request_id(&self) -> Option<&str> {
        match self {
            Self::Action(received) => received.request_id.as_deref(),
            Self::Message(refusal) => refusal.request_id.as_deref(),
        }
    }

    fn refusal(&self, code: Code) -> Option<Refusal> {
        match self {
            Self::Action(received) => {
                let request_id = received.request_id.as_deref();
                Some(Refusal::of_action(code, &received.action, request_id))
            }
            Self::Message(refusal) => {
                let refused = ParseRefusal { code, ..ParseRefusal::clone(refusal) };
                Refusal::of_message(&refused)
            }
        }
    }

    fn error(&self, code: Code) -> ErrorBuilder {
        match self {
            Self::Action(received) => {
                let request_id = received.request_id.as_deref();
                ErrorBuilder::of_action(code, &received.action, request_id)
            }
            Self::Message(refusal) => {
                let refused = ParseRefusal { code, ..ParseRefusal::clone(refusal) };
                ErrorBuilder::of_refusal(&refused)
            }
        }
    }
}

impl Inner {
    fn finish(
        self,
        kind: Kind,
        frame: &Frame,
        deliver: impl FnOnce(&Outbound, Instant, SharedFrame),
    ) {
        let shared = SharedFrame::reply(self.backend.payload_id(), self.session, frame);
        let sharing = self.record(kind, &shared);
        deliver(&self.peer.outbound, self.backend.now(), shared.clone());
        self.end();
        if let Some(text) = text_of(&shared) {
            for mut reply in sharing {
                reply.take().deliver_copy(text);
            }
        }
    }

    /// Records the outcome and gives those that shared the execution.
    fn record(&self, kind: Kind, shared: &SharedFrame) -> Vec<ReplyTo> {
        let Some(text) = text_of(shared) else { return Vec::new() };
        let body = body_ref(self.backend.payload_id(), text);
        let outcome = match kind {
            Kind::Done => Outcome::Done(body),
            Kind::Refused => Outcome::Refused(body),
            Kind::Failed => Outcome::Failed(body),
        };
        let registry = self.backend.registry(self.peer.principal.id);
        lock(&registry).finish(self.backend.now(), self.ticket, outcome, text)
    }

    /// Sends the reply of another execution under the request id of this action (REQ-1).
    fn deliver_copy(self, text: &Utf8Bytes) {
        match readdressed(text, self.subject.request_id()) {
            Some(frame) => {
                let shared = SharedFrame::reply(self.backend.payload_id(), self.session, &frame);
                self.peer.outbound.offer(self.backend.now(), &shared);
            }
            None => tracing::error!(ticket = %self.ticket, "a kept reply could not be read"),
        }
        self.end();
    }

    fn refuse_plainly(self, code: Code) {
        let error = self.error_data(code);
        self.finish(Kind::Failed, &Frame::OperationError(Box::new(error)), offer);
    }

    fn fail(self, code: Code, detail: &str) {
        let error = self.error_data(code);
        let action = self.subject.action_name().map(ActionName::as_str);
        let correlation_id = error.correlation_id();
        tracing::error!(%code, action, correlation_id, detail, "an action failed");
        if !error.code().recorded() {
            return self.finish(Kind::Failed, &Frame::OperationError(Box::new(error)), offer);
        }
        let backend = self.backend.clone();
        backend.spawn(Box::pin(async move {
            let recorded = self.backend.record_error(self.peer.principal.id, &error).await;
            let frame = Frame::OperationError(Box::new(error));
            match recorded {
                Ok(()) => self.finish(Kind::Failed, &frame, offer),
                Err(failure) => {
                    tracing::error!(%failure, "an error could not be recorded");
                    self.close_unrecorded(&frame);
                }
            }
        }));
    }

    /// As ERR-7 says: the error is not sent; the connection closes.
    fn close_unrecorded(self, frame: &Frame) {
        let shared = SharedFrame::reply(self.backend.payload_id(), self.session, frame);
        for mut reply in self.record(Kind::Failed, &shared) {
            reply.take().peer.tell(Input::RecordFailed);
        }
        self.peer.tell(Input::RecordFailed);
    }

    fn error_data(&self, code: Code) -> ErrorData {
        let built = self.build(code).or_else(|error| {
            tracing::error!(%code, %error, "an error could not be stated as it is");
            self.build(Code::HandlerError)
        });
        built.expect("handler_error fixes all it states, and the clock is before the year 10000")
    }

    fn build(&self, code: Code) -> Result<ErrorData, BuildError> {
        self.subject.error(code).build(self.backend.stamp())
    }

    fn end(&self) {
        self.peer.tell(Input::ActionEnded { ticket: self.ticket });
    }
}

fn offer(outbound: &Outbound, now: Instant, shared: SharedFrame) {
    outbound.offer(now, &shared);
}

fn text_of(shared: &SharedFrame) -> Option<&Utf8Bytes> {
    match &*shared.body {
        Body::Whole(text) => Some(text),
        Body::Terminal { .. } | Body::Text { .. } | Body::Note { .. } => None,
    }
}

fn readdressed(text: &str, request_id: Option<&str>) -> Option<Frame> {
    let mut frame: Value = serde_json::from_str(text).ok()?;
    let data = frame.get_mut("data")?.as_object_mut()?;
    data.insert("request_id".to_owned(), request_id.map_or(Value::Null, Value::from));
    serde_json::from_value(frame).ok()
}

/// Digest of an action and its fields, its key left out: equal exactly for equal intentions (REQ-10).
fn fingerprint(action: &Action) -> u64 {
    let mut fields =
        serde_json::to_value(action).expect("actions have string keys and plain values");
    if let Some(fields) = fields.as_object_mut() {
        fields.remove("idempotency_key");
    }
    DIGEST_START.chain_json(&fields).value()
}
