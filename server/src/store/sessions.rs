//! Heads of sessions: reading, listing, and the columns a commit changes.

use runwarden_protocol::ids::{MessageId, Revision, SessionId};
use runwarden_protocol::session::list::fold;
use runwarden_protocol::session::record::{PendingTurn, SessionHead};
use runwarden_protocol::wire::codes::Code;
use runwarden_runtime::ports::StoreFailure;
use runwarden_runtime::ports::store::{ChainTail, ListSessions};
use rusqlite::{Connection, OptionalExtension, Row, named_params, params};

use super::column::{Column, read, read_code, read_opt, read_usage};
use super::fault::Fault;

/// Reads the head of a session.
pub(super) fn head(
    connection: &Connection,
    session_id: SessionId,
) -> rusqlite::Result<Option<SessionHead>> {
    connection
        .prepare_cached("SELECT * FROM sessions WHERE session_id = ?1")?
        .query_row([session_id.to_column()], head_of)
        .optional()
}

/// Reads the head of a session that a commit is about, at the revision it was computed from (OWN-03).
pub(super) fn head_at(
    connection: &Connection,
    session_id: SessionId,
    expected: Revision,
) -> Result<SessionHead, Fault> {
    let head = head(connection, session_id)?.ok_or(StoreFailure::Missing("session"))?;
    if head.revision == expected {
        Ok(head)
    } else {
        Err(StoreFailure::Conflict { current: head.revision }.into())
    }
}

/// Lists sessions strictly descending by activity and id (LIST-1).
pub(super) fn list(
    connection: &Connection,
    list: &ListSessions,
) -> rusqlite::Result<Vec<SessionHead>> {
    let mut statement = connection.prepare_cached(
        "SELECT * FROM sessions
         WHERE archived = :archived AND (owner = :principal OR shared = 1)
           AND (:query IS NULL OR instr(title_folded, :query) > 0)
           AND (:activity IS NULL OR (activity_at, session_id) < (:activity, :session))
         ORDER BY activity_at DESC, session_id DESC LIMIT :limit",
    )?;
    let heads = statement.query_map(
        named_params! {
            ":archived": list.archived,
            ":principal": list.principal.to_column(),
            ":query": list.query.as_deref().filter(|query| !query.is_empty()).map(fold),
            ":activity": list.after.map(|(activity_at, _)| activity_at.to_column()),
            ":session": list.after.map(|(_, session_id)| session_id.to_column()),
            ":limit": (list.limit as u64).to_column(),
        },
        head_of,
    )?;
    heads.collect()
}

/// Sessions whose queue has entries and is not held (STR-12).
pub(super) fn waiting(connection: &Connection) -> rusqlite::Result<Vec<SessionHead>> {
    connection
        .prepare_cached(
            "SELECT * FROM sessions WHERE queue_length > 0 AND queue_held IS NULL
             ORDER BY session_id",
        )?
        .query_map([], head_of)?
        .collect()
}

/// Reads the newest ids of a session's chain, oldest first.
pub(super) fn chain_tail(
    connection: &Connection,
    session_id: SessionId,
    ids_max: usize,
) -> Result<ChainTail, Fault> {
    let head = head(connection, session_id)?.ok_or(StoreFailure::Missing("session"))?;
    let mut statement = connection.prepare_cached(
        "SELECT message_id FROM messages WHERE session_id = ?1 ORDER BY position DESC LIMIT ?2",
    )?;
    let ids = statement
        .query_map(params![session_id.to_column(), (ids_max as u64).to_column()], |row| {
            row.get(0).map(MessageId::from_column)
        })?;
    let mut ids = ids.collect::<rusqlite::Result<Vec<MessageId>>>()?;
    ids.reverse();
    Ok(ChainTail { revision: head.revision, ids, length: head.message_count })
}

/// Adds a new session.
pub(super) fn insert(connection: &Connection, head: &SessionHead) -> rusqlite::Result<()> {
    connection
        .prepare_cached(
            "INSERT INTO sessions (session_id, owner, title, title_folded, revision, agent, model,
                 created_at, activity_at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
        )?
        .execute(params![
            head.session_id.to_column(),
            head.owner.to_column(),
            head.title,
            fold(&head.title),
            head.revision.to_column(),
            head.agent,
            head.model,
            head.created_at.to_column(),
            head.activity_at.to_column(),
        ])?;
    Ok(())
}

/// Writes what a commit changed of a head.
pub(super) fn update(connection: &Connection, head: &SessionHead) -> rusqlite::Result<()> {
    let pending = head.pending.as_ref();
    connection
        .prepare_cached(
            "UPDATE sessions SET title = :title, title_folded = :title_folded,
                 agent = :agent, model = :model, archived = :archived,
                 revision = :revision, activity_at = :activity_at,
                 message_count = :message_count, head_id = :head_id,
                 transcript_generation = :transcript_generation,
                 transcript_generation_baseline = :transcript_generation_baseline,
                 truncation_watermark = :truncation_watermark,
                 usage_input = :usage_input, usage_output = :usage_output,
                 usage_cached = :usage_cached, usage_cost = :usage_cost,
                 usage_context_used = :usage_context_used,
                 usage_context_max = :usage_context_max,
                 pending_turn_id = :pending_turn_id, pending_run_id = :pending_run_id,
                 pending_text = :pending_text, pending_started_at = :pending_started_at,
                 pending_agent = :pending_agent, pending_model = :pending_model,
                 queue_length = :queue_length, queue_held = :queue_held
             WHERE session_id = :session_id",
        )?
        .execute(named_params! {
            ":title": head.title,
            ":title_folded": fold(&head.title),
            ":agent": head.agent,
            ":model": head.model,
            ":archived": head.archived,
            ":revision": head.revision.to_column(),
            ":activity_at": head.activity_at.to_column(),
            ":message_count": head.message_count.to_column(),
            ":transcript_generation": head.transcript_generation.to_column(),
            ":transcript_generation_baseline": head.transcript_generation_baseline.to_column(),
            ":truncation_watermark": head.truncation_watermark.to_column(),
            ":head_id": head.head_id.map(Column::to_column),
            ":usage_input": head.usage.input.map(Column::to_column),
            ":usage_output": head.usage.output.map(Column::to_column),
            ":usage_cached": head.usage.cached.map(Column::to_column),
            ":usage_cost": head.usage.cost.map(Column::to_column),
            ":usage_context_used": head.usage.context_used.map(Column::to_column),
            ":usage_context_max": head.usage.context_max.map(Column::to_column),
            ":pending_turn_id": pending.map(|turn| turn.turn_id.to_column()),
            ":pending_run_id": pending.map(|turn| turn.run_id.to_column()),
            ":pending_text": pending.map(|turn| turn.text.as_str()),
            ":pending_started_at": pending.map(|turn| turn.pending_started_at.to_column()),
            ":pending_agent": pending.map(|turn| turn.agent.as_str()),
            ":pending_model": pending.and_then(|turn| turn.model.as_deref()),
            ":queue_length": head.queue_length.to_column(),
            ":queue_held": head.queue_held.map(Code::as_str),
            ":session_id": head.session_id.to_column(),
        })?;
    Ok(())
}

fn head_of(row: &Row<'_>) -> rusqlite::Result<SessionHead> {
    Ok(SessionHead {
        session_id: read(row, "session_id")?,
        owner: read(row, "owner")?,
        title: row.get("title")?,
        revision: read(row, "revision")?,
        transcript_generation: read(row, "transcript_generation")?,
        transcript_generation_baseline: read(row, "transcript_generation_baseline")?,
        truncation_watermark: read(row, "truncation_watermark")?,
        agent: row.get("agent")?,
        model: row.get("model")?,
        archived: row.get("archived")?,
        shared: row.get("shared")?,
        created_at: read(row, "created_at")?,
        activity_at: read(row, "activity_at")?,
        message_count: read(row, "message_count")?,
        head_id: read_opt(row, "head_id")?,
        pending: pending_of(row)?,
        usage: read_usage(row)?,
        queue_length: read(row, "queue_length")?,
        queue_held: read_code(row, "queue_held")?,
    })
}

fn pending_of(row: &Row<'_>) -> rusqlite::Result<Option<PendingTurn>> {
    let Some(turn_id) = read_opt(row, "pending_turn_id")? else { return Ok(None) };
    Ok(Some(PendingTurn {
        turn_id,
        run_id: read(row, "pending_run_id")?,
        text: row.get("pending_text")?,
        pending_started_at: read(row, "pending_started_at")?,
        agent: row.get("pending_agent")?,
        model: row.get("pending_model")?,
    }))
}
