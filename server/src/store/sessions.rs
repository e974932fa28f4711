//! Heads of sessions: reading, listing, and the columns a commit changes.

use runwarden_protocol::ids::{MessageId, Revision, SessionId};
use runwarden_protocol::session::list::fold;
use runwarden_protocol::session::record::{PendingTurn, SessionHead};
use runwarden_protocol::wire::codes::Code;
use runwarden_runtime::ports::StoreFailure;
use runwarden_runtime::ports::store::{ChainTail, ListSessions};
use rusqlite::{Connection, OptionalExtension, Row, named_params, params};

use super::column::{Column, read, read_code, read_opt, read_usage_at};
use super::fault::Fault;

/// A query of heads: the columns in the order in which [`head_of`] reads them, found by their place since a
/// search by name costs more than the query.
macro_rules! select_heads {
    ($condition:literal) => {
        concat!(
            "SELECT session_id, owner, title, revision, transcript_generation, ",
            "transcript_generation_baseline, truncation_watermark, agent, model, archived, ",
            "shared, created_at, activity_at, message_count, head_id, pending_turn_id, ",
            "pending_run_id, pending_text, pending_started_at, pending_agent, pending_model, ",
            "usage_input, usage_output, usage_cached, usage_cost, usage_context_used, ",
            "usage_context_max, queue_length, queue_held",
            " FROM sessions ",
            $condition
        )
    };
}

/// Reads the head of a session.
pub(super) fn head(
    connection: &Connection,
    session_id: SessionId,
) -> rusqlite::Result<Option<SessionHead>> {
    connection
        .prepare_cached(select_heads!("WHERE session_id = ?1"))?
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
    let mut statement = connection.prepare_cached(select_heads!(
        "WHERE archived = :archived AND (owner = :principal OR shared = 1)
               AND (:query IS NULL OR instr(title_folded, :query) > 0)
               AND (:activity IS NULL OR (activity_at, session_id) < (:activity, :session))
             ORDER BY activity_at DESC, session_id DESC LIMIT :limit"
    ))?;
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
        .prepare_cached(select_heads!(
            "WHERE queue_length > 0 AND queue_held IS NULL ORDER BY session_id"
        ))?
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
            "UPDATE sessions SET title = ?1, title_folded = ?2, agent = ?3, model = ?4,
                 archived = ?5, revision = ?6, activity_at = ?7, message_count = ?8,
                 head_id = ?9, transcript_generation = ?10,
                 transcript_generation_baseline = ?11, truncation_watermark = ?12,
                 usage_input = ?13, usage_output = ?14, usage_cached = ?15,
                 usage_cost = ?16, usage_context_used = ?17, usage_context_max = ?18,
                 pending_turn_id = ?19, pending_run_id = ?20, pending_text = ?21,
                 pending_started_at = ?22, pending_agent = ?23, pending_model = ?24,
                 queue_length = ?25, queue_held = ?26
             WHERE session_id = ?27",
        )?
        .execute(params![
            head.title,
            fold(&head.title),
            head.agent,
            head.model,
            head.archived,
            head.revision.to_column(),
            head.activity_at.to_column(),
            head.message_count.to_column(),
            head.head_id.map(Column::to_column),
            head.transcript_generation.to_column(),
            head.transcript_generation_baseline.to_column(),
            head.truncation_watermark.to_column(),
            head.usage.input.map(Column::to_column),
            head.usage.output.map(Column::to_column),
            head.usage.cached.map(Column::to_column),
            head.usage.cost.map(Column::to_column),
            head.usage.context_used.map(Column::to_column),
            head.usage.context_max.map(Column::to_column),
            pending.map(|turn| turn.turn_id.to_column()),
            pending.map(|turn| turn.run_id.to_column()),
            pending.map(|turn| turn.text.as_str()),
            pending.map(|turn| turn.pending_started_at.to_column()),
            pending.map(|turn| turn.agent.as_str()),
            pending.and_then(|turn| turn.model.as_deref()),
            head.queue_length.to_column(),
            head.queue_held.map(Code::as_str),
            head.session_id.to_column(),
        ])?;
    Ok(())
}

fn head_of(row: &Row<'_>) -> rusqlite::Result<SessionHead> {
    Ok(SessionHead {
        session_id: read(row, 0)?,
        owner: read(row, 1)?,
        title: row.get(2)?,
        revision: read(row, 3)?,
        transcript_generation: read(row, 4)?,
        transcript_generation_baseline: read(row, 5)?,
        truncation_watermark: read(row, 6)?,
        agent: row.get(7)?,
        model: row.get(8)?,
        archived: row.get(9)?,
        shared: row.get(10)?,
        created_at: read(row, 11)?,
        activity_at: read(row, 12)?,
        message_count: read(row, 13)?,
        head_id: read_opt(row, 14)?,
        pending: pending_of(row)?,
        usage: read_usage_at(row, 21)?,
        queue_length: read(row, 27)?,
        queue_held: read_code(row, 28)?,
    })
}

fn pending_of(row: &Row<'_>) -> rusqlite::Result<Option<PendingTurn>> {
    let Some(turn_id) = read_opt(row, 15)? else { return Ok(None) };
    Ok(Some(PendingTurn {
        turn_id,
        run_id: read(row, 16)?,
        text: row.get(17)?,
        pending_started_at: read(row, 18)?,
        agent: row.get(19)?,
        model: row.get(20)?,
    }))
}
