//! The send queues.

use std::sync::Arc;

use runwarden_protocol::ids::{SessionId, TurnId};
use runwarden_protocol::session::project::summary;
use runwarden_protocol::session::record::SessionHead;
use runwarden_protocol::wire::codes::Code;
use runwarden_runtime::ports::StoreFailure;
use runwarden_runtime::ports::store::{
    Committed, KeyEffect, KeyScope, QueueChange, QueueCommit, StoredEntry, StoredQueue,
};

use super::commits::committed;
use super::data::{Data, StoredMessage, StoredSession};

impl Data {
    pub(super) fn change_queue(&mut self, commit: QueueCommit) -> Result<Committed, StoreFailure> {
        let QueueCommit { session_id, expected, change, held, key, at } = commit;
        let session = self.session_at(session_id, expected)?;
        session.head.revision = session.head.revision.plus(1);
        let length =
            |session: &StoredSession| u32::try_from(session.queue.len()).unwrap_or(u32::MAX);
        let effect = match change {
            QueueChange::Append { turn_id, text, agent, model } => {
                session.queue.push(StoredMessage { turn_id, text, created_at: at });
                Some(KeyEffect::Queued { turn_id, position: length(session), agent, model })
            }
            QueueChange::Remove { turn_id } => {
                let text = session.take(turn_id)?.text.to_string();
                Some(KeyEffect::Removed { turn_id, text })
            }
            QueueChange::Release => Some(KeyEffect::Resumed { length: length(session) }),
            QueueChange::Hold => None,
        };
        session.hold(held);
        let committed = committed(&session.head);
        if let Some(effect) = effect {
            let scope = KeyScope::Session(session_id);
            self.remember(scope, key.as_ref(), effect, committed.revision, at)?;
        }
        Ok(committed)
    }

    pub(super) fn queue(&self, session_id: SessionId) -> Result<StoredQueue, StoreFailure> {
        let session = self.sessions.get(&session_id).ok_or(StoreFailure::Missing("session"))?;
        let entries = session.queue.iter().map(|message| StoredEntry {
            turn_id: message.turn_id,
            summary: summary(&message.text),
            created_at: message.created_at,
        });
        let (revision, held) = (session.head.revision, session.head.queue_held);
        Ok(StoredQueue { revision, held, entries: entries.collect() })
    }

    pub(super) fn queued_text(&self, session_id: SessionId, turn_id: TurnId) -> Option<Arc<str>> {
        let mut queue = self.sessions.get(&session_id)?.queue.iter();
        queue.find(|message| message.turn_id == turn_id).map(|message| message.text.clone())
    }

    pub(super) fn waiting(&self) -> Vec<SessionHead> {
        let heads = self.sessions.values().map(|session| &session.head);
        heads.filter(|head| head.queue_length > 0 && head.queue_held.is_none()).cloned().collect()
    }
}

impl StoredSession {
    /// Takes an entry out (STR-10).
    pub(super) fn take(&mut self, turn_id: TurnId) -> Result<StoredMessage, StoreFailure> {
        let place = self.queue.iter().position(|message| message.turn_id == turn_id);
        let taken = self.queue.remove(place.ok_or(StoreFailure::Missing("queue entry"))?);
        self.hold(self.head.queue_held);
        Ok(taken)
    }

    /// Sets the hold; a queue without entries has none (LIFE-06).
    pub(super) fn hold(&mut self, held: Option<Code>) {
        self.head.queue_length = self.queue.len() as u64;
        self.head.queue_held = held.filter(|_| !self.queue.is_empty());
    }
}
