//! The deletion of a session: everything of it goes in one transaction, and a tombstone of each run stays.

use runwarden_protocol::ids::{RunId, Seq, SessionId};
use runwarden_protocol::instant::Instant;
use runwarden_protocol::journal::row::{Outcome, Reason};
use runwarden_protocol::run::deletion::DeletedRun;
use runwarden_runtime::ports::StoreFailure;
use runwarden_runtime::ports::store::{Committed, Deletion, KeyEffect, KeyScope};
use rusqlite::{Connection, OptionalExtension, params};

use super::column::{Column, read_outcome, unreadable};
use super::commits::{committed, known_run};
use super::fault::Fault;
use super::{journal, keys, sessions};

/// What is kept by session alone.
const OF_SESSION: [&str; 10] = [
    "DELETE FROM queue WHERE session_id = ?1",
    "DELETE FROM messages WHERE session_id = ?1",
    "DELETE FROM replaced WHERE session_id = ?1",
    "DELETE FROM reductions WHERE session_id = ?1",
    "DELETE FROM conversations WHERE session_id = ?1",
    "DELETE FROM settlements WHERE session_id = ?1",
    "DELETE FROM provenance WHERE session_id = ?1",
    // The key that made the session belongs to its principal, and stays.
    "DELETE FROM keys WHERE scope = 'session' AND scope_id = ?1",
    "DELETE FROM runs WHERE session_id = ?1",
    "DELETE FROM sessions WHERE session_id = ?1",
];

/// What is kept by run or turn.
const OF_RUNS: [&str; 2] = [
    "DELETE FROM journal WHERE run_id IN (SELECT run_id FROM runs WHERE session_id = ?1)",
    "DELETE FROM turn_journal WHERE turn_id IN (SELECT turn_id FROM runs WHERE session_id = ?1)",
];

/// Deletes a session with everything of it (LIFE-01).
pub(super) fn carry_out(connection: &Connection, deletion: &Deletion) -> Result<Committed, Fault> {
    let Deletion { session_id, at, .. } = *deletion;
    let mut head = sessions::head_at(connection, session_id, deletion.expected)?;
    head.revision = head.revision.plus(1);
    let terminal_seq = match &deletion.run {
        Some(run) => Some(end(connection, session_id, run, at)?),
        None => None,
    };
    bury(connection, session_id, at, deletion.tombstones_kept_since)?;
    for sql in OF_RUNS.into_iter().chain(OF_SESSION) {
        connection.prepare_cached(sql)?.execute([session_id.to_column()])?;
    }
    connection
        .prepare_cached("INSERT INTO closing VALUES (?1, ?2)")?
        .execute(params![session_id.to_column(), at.to_column()])?;
    if let Some(key) = &deletion.key {
        let scope = KeyScope::Principal(deletion.owner);
        let effect = KeyEffect::Deleted { session_id };
        keys::remember(connection, scope, key, &effect, head.revision, at)?;
    }
    Ok(committed(&head, terminal_seq))
}

/// How a run of a deleted session ended, while its tombstone stands (JRN-12).
pub(super) fn tombstone(
    connection: &Connection,
    run_id: RunId,
) -> rusqlite::Result<Option<Outcome>> {
    connection
        .prepare_cached("SELECT outcome FROM tombstones WHERE run_id = ?1")?
        .query_row([run_id.to_column()], |row| {
            read_outcome(row, "outcome")?.ok_or_else(|| unreadable("outcome", ""))
        })
        .optional()
}

/// The terminal of the run that is not settled; it goes to its tombstone.
fn end(
    connection: &Connection,
    session_id: SessionId,
    ended: &DeletedRun,
    at: Instant,
) -> Result<Seq, Fault> {
    let run = known_run(connection, session_id, ended.run_id)?;
    if let Some(outcome) = run.outcome {
        return Err(StoreFailure::Ended { outcome }.into());
    }
    let (outcome, reason) = (ended.verdict.outcome, ended.verdict.reason);
    connection
        .prepare_cached(
            "UPDATE runs SET outcome = ?2, reason = ?3, ended_at = ?4 WHERE run_id = ?1",
        )?
        .execute(params![
            ended.run_id.to_column(),
            outcome.as_str(),
            reason.map(Reason::as_str),
            at.to_column(),
        ])?;
    // A terminal that stands in the journal is the run's own (JRN-10).
    let standing = journal::terminal(connection, ended.run_id)?;
    let next = run.last_seq.plus(u64::from(ended.steers) + 1);
    Ok(standing.map_or(next, |(seq, _)| seq))
}

fn bury(
    connection: &Connection,
    session_id: SessionId,
    at: Instant,
    kept_since: Instant,
) -> Result<(), Fault> {
    connection
        .prepare_cached("DELETE FROM tombstones WHERE deleted_at < ?1")?
        .execute([kept_since.to_column()])?;
    connection
        .prepare_cached(
            "INSERT INTO tombstones (run_id, session_id, outcome, reason, deleted_at)
             SELECT run_id, session_id, outcome, reason, ?2 FROM runs WHERE session_id = ?1",
        )?
        .execute(params![session_id.to_column(), at.to_column()])?;
    Ok(())
}
