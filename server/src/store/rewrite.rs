//! Reductions of transcripts: what goes, what is kept until the turn behind it is launched, and what is left to
//! know that rows were removed (LIFE-05, ADM-15).

use runwarden_protocol::ids::{MessageId, RunId, SessionId};
use runwarden_protocol::journal::row::Outcome;
use runwarden_protocol::session::record::{Role, SessionHead};
use runwarden_protocol::session::rewrite::{Reduction, Target, Turn};
use runwarden_runtime::ports::StoreFailure;
use rusqlite::{Connection, OptionalExtension, params};

use super::column::{Column, read, read_opt};
use super::fault::{Fault, misuse};
use super::{journal, messages, sessions};

/// The columns of a row of a transcript; those of a row that was replaced are the same.
const COLUMNS: &str =
    "session_id, position, message_id, role, status, predecessor, created_at, body,
    run_id, agent, model, has_usage, usage_input, usage_output, usage_cached, usage_cost,
    usage_context_used, usage_context_max, items, marker, session_revision";

/// The transcript as a rewrite finds it: the turn of the named row, or without a name the last turn.
pub(super) fn target(
    connection: &Connection,
    session_id: SessionId,
    named: Option<MessageId>,
) -> Result<Target, Fault> {
    let head = sessions::head(connection, session_id)?.ok_or(StoreFailure::Missing("session"))?;
    let turn = match named.or(head.head_id) {
        Some(message_id) => turn(connection, session_id, message_id)?,
        None => None,
    };
    Ok(Target { revision: head.revision, total: head.message_count, turn })
}

/// Removes the rows from `kept` on. Generation, baseline and watermark say so from now on (SDB-03, SDB-04).
/// Behind a turn that starts, they are kept until its run is launched.
pub(super) fn reduce(
    connection: &Connection,
    head: &mut SessionHead,
    reduction: Reduction,
    starts: Option<RunId>,
) -> Result<(), Fault> {
    let Reduction { kept } = reduction;
    if kept >= head.message_count {
        return Err(misuse("a reduction that keeps every row"));
    }
    let session = head.session_id.to_column();
    if let Some(run_id) = starts {
        keep_replaced(connection, head, run_id, kept)?;
    }
    connection
        .prepare_cached("DELETE FROM messages WHERE session_id = ?1 AND position >= ?2")?
        .execute(params![session, kept.to_column()])?;
    // The agent's own record of the conversation still holds what goes.
    connection
        .prepare_cached("DELETE FROM conversations WHERE session_id = ?1")?
        .execute([session])?;
    head.message_count = kept;
    head.head_id = last_id(connection, head.session_id)?;
    head.transcript_generation += 1;
    head.transcript_generation_baseline = kept;
    head.truncation_watermark = head.revision;
    Ok(())
}

/// The turn behind a reduction is over: what it replaced is not needed any more.
pub(super) fn forget_replaced(connection: &Connection, run_id: RunId) -> rusqlite::Result<()> {
    for table in ["replaced", "reductions"] {
        connection
            .prepare_cached(&format!("DELETE FROM {table} WHERE replaced_by = ?1"))?
            .execute([run_id.to_column()])?;
    }
    Ok(())
}

/// The turn behind a reduction was not launched: transcript, generation and baseline are as before (ADM-15).
pub(super) fn restore(
    connection: &Connection,
    head: &mut SessionHead,
    run_id: RunId,
) -> Result<(), Fault> {
    let before = connection
        .prepare_cached("SELECT * FROM reductions WHERE replaced_by = ?1")?
        .query_row([run_id.to_column()], |row| {
            Ok((
                read(row, "message_count")?,
                read_opt(row, "head_id")?,
                read(row, "generation")?,
                read(row, "baseline")?,
                read(row, "watermark")?,
            ))
        })
        .optional()?;
    let Some((message_count, head_id, generation, baseline, watermark)) = before else {
        return Ok(());
    };
    connection
        .prepare_cached(&format!(
            "INSERT INTO messages ({COLUMNS}) SELECT {COLUMNS} FROM replaced
             WHERE replaced_by = ?1"
        ))?
        .execute([run_id.to_column()])?;
    head.message_count = message_count;
    head.head_id = head_id;
    head.transcript_generation = generation;
    head.transcript_generation_baseline = baseline;
    head.truncation_watermark = watermark;
    Ok(forget_replaced(connection, run_id)?)
}

fn keep_replaced(
    connection: &Connection,
    head: &SessionHead,
    run_id: RunId,
    kept: u64,
) -> rusqlite::Result<()> {
    connection
        .prepare_cached(&format!(
            "INSERT INTO replaced (replaced_by, {COLUMNS}) SELECT ?3, {COLUMNS} FROM messages
             WHERE session_id = ?1 AND position >= ?2"
        ))?
        .execute(params![head.session_id.to_column(), kept.to_column(), run_id.to_column()])?;
    connection
        .prepare_cached(
            "INSERT INTO reductions (replaced_by, session_id, message_count, head_id, generation,
                 baseline, watermark)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        )?
        .execute(params![
            run_id.to_column(),
            head.session_id.to_column(),
            head.message_count.to_column(),
            head.head_id.map(Column::to_column),
            head.transcript_generation.to_column(),
            head.transcript_generation_baseline.to_column(),
            head.truncation_watermark.to_column(),
        ])?;
    Ok(())
}

fn turn(
    connection: &Connection,
    session_id: SessionId,
    message_id: MessageId,
) -> Result<Option<Turn>, Fault> {
    let session = session_id.to_column();
    let named = connection
        .prepare_cached(
            "SELECT position, role, run_id FROM messages WHERE session_id = ?1 AND message_id = ?2",
        )?
        .query_row(params![session, message_id.to_column()], |row| {
            let role = messages::role_named(&row.get::<_, String>("role")?)?;
            Ok((read::<u64>(row, "position")?, role, read::<RunId>(row, "run_id")?))
        })
        .optional()?;
    let Some((at, role, run_id)) = named else { return Ok(None) };
    // The rows of a turn stand together, its user's words first.
    let mut statement = connection.prepare_cached(
        "SELECT position, role, body FROM messages
         WHERE session_id = ?1 AND run_id = ?2 ORDER BY position",
    )?;
    let mut stored = statement.query(params![session, run_id.to_column()])?;
    let (mut first, mut words, mut is_answered) = (None, None, false);
    while let Some(row) = stored.next()? {
        first.get_or_insert(read::<u64>(row, "position")?);
        match messages::role_named(&row.get::<_, String>("role")?)? {
            Role::User => words = row.get("body")?,
            Role::Assistant => is_answered = true,
            Role::System => {}
        }
    }
    let outcome = journal::facts(connection, run_id)?.and_then(|run| run.outcome);
    let outcome = outcome.unwrap_or(Outcome::Interrupted);
    let first = first.unwrap_or(at);
    Ok(Some(Turn { first, at, role, words, is_answered, outcome }))
}

fn last_id(connection: &Connection, session_id: SessionId) -> rusqlite::Result<Option<MessageId>> {
    connection
        .prepare_cached(
            "SELECT message_id FROM messages WHERE session_id = ?1 ORDER BY position DESC LIMIT 1",
        )?
        .query_row([session_id.to_column()], |row| read(row, "message_id"))
        .optional()
}
