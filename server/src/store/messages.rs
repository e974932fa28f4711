//! Settled rows of transcripts, by position.

use runwarden_protocol::ids::{MessageId, RunId, SessionId};
use runwarden_protocol::journal::row::Outcome;
use runwarden_protocol::session::context::{Speaker, message};
use runwarden_protocol::session::record::{Marker, Role, StoredRow};
use runwarden_runtime::ports::StoreFailure;
use runwarden_runtime::ports::agent::{ContextMessage, ContextRole};
use runwarden_runtime::ports::store::{ReadRows, RowPage};
use rusqlite::{Connection, OptionalExtension, Row, params};

use super::column::{Column, read, read_opt, read_outcome, read_reason, read_usage, unreadable};
use super::fault::Fault;
use super::sessions;

/// Reads rows by position, newest first until a bound is reached, and returns them oldest first.
pub(super) fn page(connection: &Connection, wanted: &ReadRows) -> Result<RowPage, Fault> {
    let head = sessions::head(connection, wanted.session_id)?;
    let head = head.ok_or(StoreFailure::Missing("session"))?;
    let total = head.message_count;
    let end = wanted.before.unwrap_or(total).min(total);
    let mut statement = connection.prepare_cached(
        "SELECT *, (SELECT reason FROM runs WHERE runs.run_id = messages.run_id) AS reason
         FROM messages WHERE session_id = ?1 AND position < ?2
         ORDER BY position DESC LIMIT ?3",
    )?;
    let mut stored = statement.query(params![
        wanted.session_id.to_column(),
        end.to_column(),
        (wanted.rows_max as u64).to_column()
    ])?;
    let mut rows = Vec::new();
    let mut bytes = 0_usize;
    while let Some(row) = stored.next()? {
        bytes = bytes.saturating_add(bytes_of(row)?);
        if bytes > wanted.bytes_max && !rows.is_empty() {
            break;
        }
        rows.push(stored_row(row)?);
    }
    rows.reverse();
    Ok(RowPage { head, start: end.saturating_sub(rows.len() as u64), rows, total })
}

/// The model context of a session, oldest first (L2).
pub(super) fn context(
    connection: &Connection,
    session_id: SessionId,
) -> Result<Vec<ContextMessage>, Fault> {
    let mut statement = connection.prepare_cached(
        "SELECT role, body FROM messages WHERE session_id = ?1 ORDER BY position",
    )?;
    let mut stored = statement.query([session_id.to_column()])?;
    let mut context = Vec::new();
    while let Some(row) = stored.next()? {
        let role = role_named(&row.get::<_, String>("role")?)?;
        let body: Option<String> = row.get("body")?;
        if let Some((speaker, text)) = message(role, body.as_deref()) {
            let role = match speaker {
                Speaker::User => ContextRole::User,
                Speaker::Assistant => ContextRole::Assistant,
            };
            context.push(ContextMessage { role, text: text.to_owned() });
        }
    }
    Ok(context)
}

/// Whether the transcript has this row.
pub(super) fn contains(
    connection: &Connection,
    session_id: SessionId,
    message_id: MessageId,
) -> rusqlite::Result<bool> {
    connection
        .prepare_cached("SELECT 1 FROM messages WHERE session_id = ?1 AND message_id = ?2")?
        .exists(params![session_id.to_column(), message_id.to_column()])
}

/// The answer of a run, if the transcript has one.
pub(super) fn answer_of(
    connection: &Connection,
    session_id: SessionId,
    run_id: RunId,
) -> rusqlite::Result<Option<StoredRow>> {
    connection
        .prepare_cached(
            "SELECT *, (SELECT reason FROM runs WHERE runs.run_id = messages.run_id) AS reason
             FROM messages WHERE session_id = ?1 AND run_id = ?2 AND role = 'assistant'",
        )?
        .query_row(params![session_id.to_column(), run_id.to_column()], stored_row)
        .optional()
}

/// Adds a row at the end of a transcript that has `position` rows.
pub(super) fn insert(
    connection: &Connection,
    session_id: SessionId,
    position: u64,
    row: &StoredRow,
) -> Result<(), Fault> {
    let items = serde_json::to_string(&row.items)
        .map_err(|error| StoreFailure::Unavailable(format!("items of a row: {error}")))?;
    let usage = row.usage.unwrap_or_default();
    connection
        .prepare_cached(
            "INSERT INTO messages (session_id, position, message_id, role, status, predecessor,
                 created_at, body, run_id, agent, model, has_usage, usage_input, usage_output,
                 usage_cached, usage_cost, usage_context_used, usage_context_max, items, marker,
                 session_revision)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12,
                 ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21)",
        )?
        .execute(params![
            session_id.to_column(),
            position.to_column(),
            row.message_id.to_column(),
            role_name(row.role),
            row.status.as_str(),
            row.predecessor.map(Column::to_column),
            row.created_at.to_column(),
            row.body,
            row.run_id.to_column(),
            row.agent,
            row.model,
            row.usage.is_some(),
            usage.input.map(Column::to_column),
            usage.output.map(Column::to_column),
            usage.cached.map(Column::to_column),
            usage.cost.map(Column::to_column),
            usage.context_used.map(Column::to_column),
            usage.context_max.map(Column::to_column),
            items,
            row.marker.map(marker_name),
            row.session_revision.to_column(),
        ])?;
    Ok(())
}

fn stored_row(row: &Row<'_>) -> rusqlite::Result<StoredRow> {
    let role: String = row.get("role")?;
    let items: String = row.get("items")?;
    let marker: Option<String> = row.get("marker")?;
    Ok(StoredRow {
        message_id: read(row, "message_id")?,
        role: role_named(&role)?,
        status: read_outcome(row, "status")?.unwrap_or(Outcome::Interrupted),
        predecessor: read_opt(row, "predecessor")?,
        created_at: read(row, "created_at")?,
        body: row.get("body")?,
        run_id: read(row, "run_id")?,
        agent: row.get("agent")?,
        model: row.get("model")?,
        usage: if row.get("has_usage")? { Some(read_usage(row)?) } else { None },
        items: serde_json::from_str(&items).map_err(|_| unreadable("items", &items))?,
        marker: marker.map(|name| marker_named(&name)).transpose()?,
        reason: read_reason(row, "reason")?,
        session_revision: read(row, "session_revision")?,
    })
}

fn bytes_of(row: &Row<'_>) -> rusqlite::Result<usize> {
    let length = |name: &str| -> rusqlite::Result<usize> {
        let text = row.get_ref(name)?.as_str_or_null()?;
        Ok(text.map_or(0, str::len))
    };
    Ok(length("body")?.saturating_add(length("items")?))
}

const fn role_name(role: Role) -> &'static str {
    match role {
        Role::User => "user",
        Role::Assistant => "assistant",
        Role::System => "system",
    }
}

pub(super) fn role_named(name: &str) -> rusqlite::Result<Role> {
    [Role::User, Role::Assistant, Role::System]
        .into_iter()
        .find(|&role| role_name(role) == name)
        .ok_or_else(|| unreadable("role", name))
}

const fn marker_name(marker: Marker) -> &'static str {
    match marker {
        Marker::Cancelled => "cancelled",
        Marker::Interrupted => "interrupted",
    }
}

fn marker_named(name: &str) -> rusqlite::Result<Marker> {
    [Marker::Cancelled, Marker::Interrupted]
        .into_iter()
        .find(|&marker| marker_name(marker) == name)
        .ok_or_else(|| unreadable("marker", name))
}
