//! The request registry of one principal: the machine that decides, and the bodies it refers to
//! (table 5.3).

use std::collections::{BTreeMap, VecDeque};

use async_tungstenite::tungstenite::Utf8Bytes;
use runwarden_protocol::delivery::requests::{
    Found, Input, KeyUse, Outcome, Output, Remembered, RequestKey, Requests,
};
use runwarden_protocol::ids::{AskId, PayloadId, PayloadRef, SessionId};
use runwarden_protocol::instant::{Duration, Instant};
use runwarden_protocol::machine::{Machine, Outbox};
use runwarden_protocol::wire::actions::ActionName;
use runwarden_protocol::wire::limits::{IDEMPOTENCY_KEYS_KEPT, IDEMPOTENCY_MEMORY_MS};

use super::reply::ReplyTo;

/// Outcomes, keys in flight and kept replies of one principal.
#[derive(Debug, Default)]
pub struct Registry {
    requests: Requests,
    /// Frames of outcomes that may be asked for, with the number of results that refer to each.
    bodies: BTreeMap<PayloadId, (Utf8Bytes, usize)>,
    /// Actions that share the execution of another one (REQ-16).
    sharing: BTreeMap<AskId, ReplyTo>,
    /// Keys in flight whose effect no store remembers.
    volatile: BTreeMap<AskId, Key>,
    /// First effective replies of such keys, oldest first.
    replies: VecDeque<KeptReply>,
}

/// An idempotency key and what it is used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Key {
    /// The session it belongs to; none for a change without session.
    pub(super) session: Option<SessionId>,
    /// Digest of its text.
    pub(super) key: RequestKey,
    /// Fingerprint of the action's fields.
    pub(super) fingerprint: u64,
    /// Whether the effect lives in memory only, and its reply with it.
    pub(super) volatile: bool,
}

/// An action to accept.
#[derive(Clone, Copy, Debug)]
pub(super) struct Accept {
    /// Names the execution.
    pub(super) ask: AskId,
    /// Digest of its request id.
    pub(super) request: Option<RequestKey>,
    /// The action.
    pub(super) action: ActionName,
    /// The key it names.
    pub(super) key: Option<Key>,
    /// A fresh id for a body.
    pub(super) payload: PayloadId,
}

/// What becomes of an accepted action.
#[derive(Debug)]
pub(super) enum Accepted {
    /// It is to be executed.
    Execute(ReplyTo),
    /// Its key was used with other fields (REQ-15).
    Conflict(ReplyTo),
    /// It is answered when the execution it shares has ended.
    Shares,
    /// It repeats a change that took effect, with this reply.
    Repeats(ReplyTo, Utf8Bytes),
    /// Too much is pending.
    Full(ReplyTo),
}

#[derive(Clone, Copy)]
enum Fate {
    Executes,
    Conflicts,
    Repeats,
    Shares,
}

#[derive(Debug)]
struct KeptReply {
    key: Key,
    reply: Utf8Bytes,
    at: Instant,
}

impl Registry {
    /// Accepts an action and decides whether it is executed.
    pub(super) fn accept(&mut self, now: Instant, accept: Accept, reply: ReplyTo) -> Accepted {
        let Accept { ask, request, action, key, payload } = accept;
        let kept = key.and_then(|key| self.kept(now, key));
        let used = key.map(|key| KeyUse {
            session: key.session,
            key: key.key,
            fingerprint: key.fingerprint,
            remembered: kept.as_ref().map(|(fingerprint, text)| Remembered {
                fingerprint: *fingerprint,
                reply: body_ref(payload, text),
            }),
        });
        let mut out = Outbox::new();
        let accepted = Input::Accepted { ask, request, action, key: used };
        if let Err(reject) = self.requests.step(now, accepted, &mut out) {
            tracing::warn!(?reject, "an action was not accepted");
            return Accepted::Full(reply);
        }
        let mut fate = Fate::Shares;
        for output in out.drain() {
            match output {
                Output::Execute { .. } => fate = Fate::Executes,
                Output::RefuseConflict { .. } => fate = Fate::Conflicts,
                Output::Answer { keep, .. } => {
                    fate = Fate::Repeats;
                    if let Some((_, text)) = &kept {
                        self.keep(payload, text.clone(), keep);
                    }
                }
                Output::Forget { payloads } => self.forget(&payloads),
                Output::Found { .. } => {}
            }
        }
        match (fate, kept) {
            (Fate::Executes, _) => {
                self.volatile.extend(key.filter(|key| key.volatile).map(|key| (ask, key)));
                Accepted::Execute(reply)
            }
            (Fate::Conflicts, _) => Accepted::Conflict(reply),
            (Fate::Repeats, Some((_, text))) => Accepted::Repeats(reply, text),
            (Fate::Repeats | Fate::Shares, _) => {
                self.sharing.insert(ask, reply);
                Accepted::Shares
            }
        }
    }

    /// Records an outcome (REQ-6) and gives the actions that shared the execution. An action that was
    /// never accepted has nothing to record.
    pub(super) fn finish(
        &mut self,
        now: Instant,
        ask: AskId,
        outcome: Outcome,
        text: &Utf8Bytes,
    ) -> Vec<ReplyTo> {
        let mut out = Outbox::new();
        let finished = Input::Finished { ask, outcome };
        if self.requests.step(now, finished, &mut out).is_err() {
            return Vec::new();
        }
        let key = self.volatile.remove(&ask);
        if let (Some(key), Outcome::Done(_)) = (key, outcome) {
            self.remember(KeptReply { key, reply: text.clone(), at: now });
        }
        let mut sharing = Vec::new();
        for output in out.drain() {
            match output {
                Output::Answer { asks, keep, .. } => {
                    sharing.extend(asks.iter().filter_map(|ask| self.sharing.remove(ask)));
                    self.keep(outcome.body().id, text.clone(), keep);
                }
                Output::Forget { payloads } => self.forget(&payloads),
                Output::Execute { .. } | Output::RefuseConflict { .. } | Output::Found { .. } => {}
            }
        }
        sharing
    }

    /// What became of a request, with the frame that answered it unless that was too large (REQ-7).
    pub(super) fn find(
        &mut self,
        now: Instant,
        ask: AskId,
        target: RequestKey,
    ) -> (Found, Option<Utf8Bytes>) {
        let mut out = Outbox::new();
        if let Err(reject) = self.requests.step(now, Input::Query { ask, target }, &mut out) {
            tracing::warn!(?reject, "a query was turned away");
        }
        let found = out.drain().find_map(|output| match output {
            Output::Found { result, .. } => Some(result),
            Output::Execute { .. }
            | Output::RefuseConflict { .. }
            | Output::Answer { .. }
            | Output::Forget { .. } => None,
        });
        let found = found.unwrap_or(Found::Unknown);
        let body = match found {
            Found::Ended { outcome, .. } => self.bodies.get(&outcome.body().id),
            Found::Pending { .. } | Found::Unknown => None,
        };
        (found, body.map(|(text, _)| text.clone()))
    }

    fn kept(&self, now: Instant, key: Key) -> Option<(u64, Utf8Bytes)> {
        let memory = Duration::from_millis(IDEMPOTENCY_MEMORY_MS);
        self.replies
            .iter()
            .find(|kept| kept.key.key == key.key && kept.key.session == key.session)
            .filter(|kept| now.age_of(kept.at) < memory)
            .map(|kept| (kept.key.fingerprint, kept.reply.clone()))
    }

    fn remember(&mut self, kept: KeptReply) {
        let same = |known: &KeptReply| {
            known.key.key == kept.key.key && known.key.session == kept.key.session
        };
        self.replies.retain(|known| !same(known));
        if self.replies.len() == IDEMPOTENCY_KEYS_KEPT {
            self.replies.pop_front();
        }
        self.replies.push_back(kept);
    }

    fn keep(&mut self, id: PayloadId, text: Utf8Bytes, references: usize) {
        if references > 0 {
            self.bodies.insert(id, (text, references));
        }
    }

    fn forget(&mut self, payloads: &[PayloadId]) {
        for id in payloads {
            if let Some(entry) = self.bodies.get_mut(id) {
                entry.1 -= 1;
                if entry.1 == 0 {
                    self.bodies.remove(id);
                }
            }
        }
    }
}

/// The reference to a frame that answers an action.
pub(super) fn body_ref(id: PayloadId, text: &Utf8Bytes) -> PayloadRef {
    PayloadRef { id, json_bytes: u32::try_from(text.len()).unwrap_or(u32::MAX) }
}
