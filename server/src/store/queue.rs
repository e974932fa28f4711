//! The send queues of sessions: entries in their order, beside the counts in the session's row.

use std::sync::Arc;

use runwarden_protocol::ids::{SessionId, TurnId};
use runwarden_protocol::instant::Instant;
use runwarden_protocol::session::project::summary;
use runwarden_protocol::session::record::{PendingTurn, SessionHead};
use runwarden_protocol::wire::codes::Code;
use runwarden_runtime::ports::StoreFailure;
use runwarden_runtime::ports::store::{
    KeyEffect, KeyScope, QueueChange, QueueCommit, StoredEntry, StoredQueue,
};
use rusqlite::{Connection, OptionalExtension, params};

use super::column::{Column, read};
use super::fault::{Fault, misuse};
use super::{keys, sessions};

/// Carries out one change and returns the head it leads to.
pub(super) fn change(connection: &Connection, commit: &QueueCommit) -> Result<SessionHead, Fault> {
    let session_id = commit.session_id;
    let mut head = sessions::head_at(connection, session_id, commit.expected)?;
    head.revision = head.revision.plus(1);
    let effect = match &commit.change {
        QueueChange::Append { turn_id, text, agent, model } => {
            append(connection, &mut head, *turn_id, text, commit.at)?;
            let position = u32::try_from(head.queue_length).unwrap_or(u32::MAX);
            let (agent, model) = (agent.clone(), model.clone());
            Some(KeyEffect::Queued { turn_id: *turn_id, position, agent, model })
        }
        QueueChange::Remove { turn_id } => {
            let text = text_of(connection, session_id, *turn_id)?;
            let text = text.ok_or(StoreFailure::Missing("queue entry"))?.to_string();
            remove(connection, &mut head, *turn_id)?;
            Some(KeyEffect::Removed { turn_id: *turn_id, text })
        }
        QueueChange::Release => {
            let length = u32::try_from(head.queue_length).unwrap_or(u32::MAX);
            Some(KeyEffect::Resumed { length })
        }
        QueueChange::Hold => None,
    };
    hold(&mut head, commit.held);
    sessions::update(connection, &head)?;
    if let (Some(key), Some(effect)) = (&commit.key, effect) {
        let scope = KeyScope::Session(session_id);
        keys::remember(connection, scope, key, &effect, head.revision, commit.at)?;
    }
    Ok(head)
}

/// Takes the entry of an accepted turn out of the queue (STR-10). It must be the head.
pub(super) fn take_head(
    connection: &Connection,
    head: &mut SessionHead,
    turn_id: TurnId,
) -> Result<(), Fault> {
    let first = connection
        .prepare_cached("SELECT turn_id FROM queue WHERE session_id = ?1 ORDER BY place LIMIT 1")?
        .query_row([head.session_id.to_column()], |row| read::<TurnId>(row, "turn_id"))
        .optional()?;
    if first != Some(turn_id) {
        return Err(misuse("the accepted turn is not the head of the queue"));
    }
    remove(connection, head, turn_id)
}

/// Puts the entry of a turn whose launch failed back to the head (REC-08).
pub(super) fn put_back(
    connection: &Connection,
    head: &mut SessionHead,
    pending: &PendingTurn,
) -> Result<(), Fault> {
    let first: Option<i64> = connection
        .prepare_cached("SELECT min(place) FROM queue WHERE session_id = ?1")?
        .query_row([head.session_id.to_column()], |row| row.get(0))?;
    let place = first.unwrap_or(0) - 1;
    let at = pending.pending_started_at;
    insert(connection, head, place, pending.turn_id, &pending.text, at)
}

/// Sets the hold of a queue; one without entries has none (LIFE-06).
pub(super) fn hold(head: &mut SessionHead, code: Option<Code>) {
    head.queue_held = code.filter(|_| head.queue_length > 0);
}

/// The queue of a session, the head first.
pub(super) fn list(connection: &Connection, session_id: SessionId) -> Result<StoredQueue, Fault> {
    let head = sessions::head(connection, session_id)?.ok_or(StoreFailure::Missing("session"))?;
    let mut statement = connection.prepare_cached(
        "SELECT turn_id, text, created_at FROM queue WHERE session_id = ?1 ORDER BY place",
    )?;
    let entries = statement.query_map([session_id.to_column()], |row| {
        Ok(StoredEntry {
            turn_id: read(row, "turn_id")?,
            summary: summary(&row.get::<_, String>("text")?),
            created_at: read(row, "created_at")?,
        })
    })?;
    let entries = entries.collect::<rusqlite::Result<Vec<_>>>()?;
    Ok(StoredQueue { revision: head.revision, held: head.queue_held, entries })
}

/// The words of an entry.
pub(super) fn text_of(
    connection: &Connection,
    session_id: SessionId,
    turn_id: TurnId,
) -> rusqlite::Result<Option<Arc<str>>> {
    let text: Option<String> = connection
        .prepare_cached("SELECT text FROM queue WHERE session_id = ?1 AND turn_id = ?2")?
        .query_row(params![session_id.to_column(), turn_id.to_column()], |row| row.get(0))
        .optional()?;
    Ok(text.map(Arc::from))
}

fn append(
    connection: &Connection,
    head: &mut SessionHead,
    turn_id: TurnId,
    text: &str,
    at: Instant,
) -> Result<(), Fault> {
    let last: Option<i64> = connection
        .prepare_cached("SELECT max(place) FROM queue WHERE session_id = ?1")?
        .query_row([head.session_id.to_column()], |row| row.get(0))?;
    insert(connection, head, last.unwrap_or(0) + 1, turn_id, text, at)
}

fn insert(
    connection: &Connection,
    head: &mut SessionHead,
    place: i64,
    turn_id: TurnId,
    text: &str,
    at: Instant,
) -> Result<(), Fault> {
    connection
        .prepare_cached(
            "INSERT INTO queue (session_id, place, turn_id, text, created_at)
             VALUES (?1, ?2, ?3, ?4, ?5)",
        )?
        .execute(params![
            head.session_id.to_column(),
            place,
            turn_id.to_column(),
            text,
            at.to_column()
        ])?;
    head.queue_length += 1;
    Ok(())
}

fn remove(connection: &Connection, head: &mut SessionHead, turn_id: TurnId) -> Result<(), Fault> {
    let removed = connection
        .prepare_cached("DELETE FROM queue WHERE session_id = ?1 AND turn_id = ?2")?
        .execute(params![head.session_id.to_column(), turn_id.to_column()])?;
    if removed != 1 {
        return Err(StoreFailure::Missing("queue entry").into());
    }
    head.queue_length = head.queue_length.saturating_sub(1);
    if head.queue_length == 0 {
        head.queue_held = None;
    }
    Ok(())
}
