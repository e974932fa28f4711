//! Where the agents of sessions find their own record of a conversation again.

use runwarden_protocol::ids::SessionId;
use rusqlite::{Connection, OptionalExtension, params};

use super::column::Column;

/// The handle of the session's conversation, if this agent was the last to hold it (AGT-03).
pub(super) fn find(
    connection: &Connection,
    session_id: SessionId,
    agent: &str,
) -> rusqlite::Result<Option<String>> {
    connection
        .prepare_cached("SELECT handle FROM conversations WHERE session_id = ?1 AND agent = ?2")?
        .query_row(params![session_id.to_column(), agent], |row| row.get(0))
        .optional()
}

/// After a run of `agent`: its handle if it has one. The handle of another agent is dropped, for that
/// one has not seen this run.
pub(super) fn keep(
    connection: &Connection,
    session_id: SessionId,
    agent: &str,
    handle: Option<&str>,
) -> rusqlite::Result<()> {
    let session = session_id.to_column();
    match handle {
        Some(handle) => connection
            .prepare_cached(
                "INSERT INTO conversations (session_id, agent, handle) VALUES (?1, ?2, ?3)
                 ON CONFLICT (session_id) DO UPDATE SET agent = ?2, handle = ?3",
            )?
            .execute(params![session, agent, handle])?,
        None => connection
            .prepare_cached("DELETE FROM conversations WHERE session_id = ?1 AND agent <> ?2")?
            .execute(params![session, agent])?,
    };
    Ok(())
}
