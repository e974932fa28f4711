//! The user error store, a file of its own (ERR-1), and the outbox that feeds it from settlements (ERR-26).

use std::path::PathBuf;

use runwarden_protocol::ids::{PrincipalId, SessionId};
use runwarden_protocol::instant::Instant;
use runwarden_runtime::ports::StoreFailure;
use runwarden_runtime::ports::store::{ListErrors, StoredError};
use rusqlite::{Connection, OptionalExtension, Row, named_params, params};

use super::column::{Column, read, read_opt};
use super::fault::Fault;
use super::open::{ERRORS_FILE, OpenError, open_writer};

/// Greatest age of a kept record in milliseconds (error_retention, ERR-3).
pub(super) const RETENTION_MS: u64 = 604_800_000;

/// Records kept per principal, open and closed together (ERR-4).
pub(super) const PER_PRINCIPAL_MAX: u64 = 1_000;

/// The error store. Its file is opened again after a failure (ERR-24).
#[derive(Debug)]
pub(super) struct ErrorStore {
    path: PathBuf,
    connection: Option<Connection>,
}

impl ErrorStore {
    /// The store in this file, opened now if it can be.
    ///
    /// # Errors
    /// Only for a foreign or newer file, which an operator has to look at.
    pub(super) fn open(path: PathBuf) -> Result<Self, OpenError> {
        let connection = match open_writer(&path, ERRORS_FILE) {
            Ok(connection) => Some(connection),
            Err(error @ (OpenError::Foreign { .. } | OpenError::Newer { .. })) => {
                return Err(error);
            }
            Err(error) => {
                tracing::error!(%error, "the error store is not available");
                None
            }
        };
        Ok(Self { path, connection })
    }

    /// Records an error: insert, expire, trim in one transaction (ERR-5). A duplicate id fails (ERR-7).
    pub(super) fn record(
        &mut self,
        principal: PrincipalId,
        error: &StoredError,
    ) -> Result<(), StoreFailure> {
        self.transaction(|connection| {
            insert(connection, "INSERT", principal, error)?;
            trim(connection, principal, error.occurred_at_ms)
        })
    }

    /// Lists open errors strictly descending by time and id (ERR-9, ERR-12).
    pub(super) fn list(&mut self, list: &ListErrors) -> Result<Vec<StoredError>, StoreFailure> {
        self.transaction(|connection| {
            expire(connection, list.now.as_millis())?;
            Ok(select_open(connection, list)?)
        })
    }

    /// Counts open errors.
    pub(super) fn count(
        &mut self,
        principal: PrincipalId,
        session_id: Option<SessionId>,
    ) -> Result<u64, StoreFailure> {
        self.transaction(|connection| {
            let count = connection
                .prepare_cached(
                    "SELECT count(*) FROM errors WHERE principal = ?1 AND closed_at IS NULL
                       AND (?2 IS NULL OR session_id = ?2)",
                )?
                .query_row(
                    params![principal.to_column(), session_id.map(Column::to_column)],
                    |row| row.get(0),
                )?;
            Ok(u64::from_column(count))
        })
    }

    /// Closes an error once; a repetition keeps the first close time (ERR-14).
    pub(super) fn acknowledge(
        &mut self,
        principal: PrincipalId,
        error_id: &str,
        now: Instant,
    ) -> Result<Option<StoredError>, StoreFailure> {
        self.transaction(|connection| {
            expire(connection, now.as_millis())?;
            connection
                .prepare_cached(
                    "UPDATE errors SET closed_at = ?3
                     WHERE principal = ?1 AND error_id = ?2 AND closed_at IS NULL",
                )?
                .execute(params![principal.to_column(), error_id, now.to_column()])?;
            let found = connection
                .prepare_cached("SELECT * FROM errors WHERE principal = ?1 AND error_id = ?2")?
                .query_row(params![principal.to_column(), error_id], error_of)
                .optional()?;
            Ok(found)
        })
    }

    /// The greatest time of a record, for the guarded clock (ERR-23).
    pub(super) fn greatest_time(&self) -> Option<Instant> {
        let connection = self.connection.as_ref()?;
        let millis: Option<i64> = connection
            .query_row("SELECT max(occurred_at_ms) FROM errors", [], |row| row.get(0))
            .unwrap_or_default();
        millis.map(|millis| Instant::from_millis(u64::from_column(millis)))
    }

    /// Takes over what settlements left in the outbox of `sessions`, each record exactly once (ERR-26).
    pub(super) fn take_over(&mut self, sessions: &Connection) -> Result<(), StoreFailure> {
        let waiting = outbox(sessions).map_err(|error| StoreFailure::from(Fault::from(error)))?;
        for (principal, error) in waiting {
            self.transaction(|connection| {
                insert(connection, "INSERT OR IGNORE", principal, &error)?;
                trim(connection, principal, error.occurred_at_ms)
            })?;
            sessions
                .execute("DELETE FROM error_outbox WHERE error_id = ?1", [&error.error_id])
                .map_err(|error| StoreFailure::from(Fault::from(error)))?;
        }
        self.close_deleted(sessions)
    }

    /// The records that the deletion of a session closed (ERR-20).
    pub(super) fn closed_by_deletion(
        &mut self,
        principal: PrincipalId,
        session_id: SessionId,
        at: Instant,
    ) -> Result<Vec<StoredError>, StoreFailure> {
        self.transaction(|connection| {
            let closed = connection
                .prepare_cached(
                    "SELECT * FROM errors
                     WHERE principal = ?1 AND session_id = ?2 AND closed_at = ?3
                     ORDER BY occurred_at_ms, error_id",
                )?
                .query_map(
                    params![principal.to_column(), session_id.to_column(), at.to_column()],
                    error_of,
                )?
                .collect::<rusqlite::Result<Vec<_>>>()?;
            Ok(closed)
        })
    }

    /// Closes what is open of deleted sessions, each once (ERR-20).
    fn close_deleted(&mut self, sessions: &Connection) -> Result<(), StoreFailure> {
        let deleted = closing(sessions).map_err(|error| StoreFailure::from(Fault::from(error)))?;
        for (session_id, closed_at) in deleted {
            self.transaction(|connection| {
                connection
                    .prepare_cached(
                        "UPDATE errors SET closed_at = ?2
                         WHERE session_id = ?1 AND closed_at IS NULL",
                    )?
                    .execute(params![session_id.to_column(), closed_at.to_column()])?;
                Ok(())
            })?;
            sessions
                .execute("DELETE FROM closing WHERE session_id = ?1", [session_id.to_column()])
                .map_err(|error| StoreFailure::from(Fault::from(error)))?;
        }
        Ok(())
    }

    fn transaction<T>(
        &mut self,
        work: impl FnOnce(&Connection) -> Result<T, Fault>,
    ) -> Result<T, StoreFailure> {
        let connection = match self.connection.take() {
            Some(connection) => connection,
            None => open_writer(&self.path, ERRORS_FILE)
                .map_err(|error| StoreFailure::Unavailable(error.to_string()))?,
        };
        let begun = connection.execute_batch("BEGIN IMMEDIATE").map_err(Fault::from);
        let done = begun.and_then(|()| work(&connection)).and_then(|value| {
            connection.execute_batch("COMMIT")?;
            Ok(value)
        });
        if !connection.is_autocommit() && connection.execute_batch("ROLLBACK").is_err() {
            return Err(StoreFailure::Unavailable("the error store cannot roll back".to_owned()));
        }
        self.connection = Some(connection);
        done.map_err(StoreFailure::from)
    }
}

/// Puts the error of a settlement into the outbox, inside the settlement's transaction (ERR-26).
pub(super) fn post(
    sessions: &Connection,
    principal: PrincipalId,
    error: &StoredError,
) -> rusqlite::Result<()> {
    sessions.prepare_cached("INSERT INTO error_outbox VALUES (?1, ?2, ?3, ?4, ?5, ?6)")?.execute(
        params![
            error.error_id,
            principal.to_column(),
            error.occurred_at_ms.to_column(),
            error.session_id.map(Column::to_column),
            error.request_id,
            error.data
        ],
    )?;
    Ok(())
}

fn outbox(sessions: &Connection) -> rusqlite::Result<Vec<(PrincipalId, StoredError)>> {
    sessions
        .prepare_cached("SELECT *, NULL AS closed_at FROM error_outbox ORDER BY error_id")?
        .query_map([], |row| Ok((read(row, "principal")?, error_of(row)?)))?
        .collect()
}

fn closing(sessions: &Connection) -> rusqlite::Result<Vec<(SessionId, Instant)>> {
    sessions
        .prepare_cached("SELECT session_id, closed_at FROM closing ORDER BY session_id")?
        .query_map([], |row| Ok((read(row, "session_id")?, read(row, "closed_at")?)))?
        .collect()
}

fn insert(
    connection: &Connection,
    verb: &str,
    principal: PrincipalId,
    error: &StoredError,
) -> rusqlite::Result<()> {
    connection
        .prepare_cached(&format!("{verb} INTO errors VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)"))?
        .execute(params![
            error.error_id,
            principal.to_column(),
            error.occurred_at_ms.to_column(),
            error.session_id.map(Column::to_column),
            error.request_id,
            error.data,
            error.closed_at.map(Column::to_column)
        ])?;
    Ok(())
}

fn trim(connection: &Connection, principal: PrincipalId, now_ms: u64) -> Result<(), Fault> {
    expire(connection, now_ms)?;
    connection
        .prepare_cached(
            "DELETE FROM errors WHERE principal = ?1 AND (occurred_at_ms, error_id) <= (
                 SELECT occurred_at_ms, error_id FROM errors WHERE principal = ?1
                 ORDER BY occurred_at_ms DESC, error_id DESC LIMIT 1 OFFSET ?2)",
        )?
        .execute(params![principal.to_column(), PER_PRINCIPAL_MAX.to_column()])?;
    Ok(())
}

fn expire(connection: &Connection, now_ms: u64) -> rusqlite::Result<()> {
    let oldest_kept = now_ms.saturating_sub(RETENTION_MS);
    connection
        .prepare_cached("DELETE FROM errors WHERE occurred_at_ms < ?1")?
        .execute([oldest_kept.to_column()])?;
    Ok(())
}

fn select_open(connection: &Connection, list: &ListErrors) -> rusqlite::Result<Vec<StoredError>> {
    let after = list.after.as_ref();
    connection
        .prepare_cached(
            "SELECT * FROM errors
             WHERE principal = :principal AND closed_at IS NULL
               AND (:session_id IS NULL OR session_id = :session_id)
               AND (:after_ms IS NULL OR (occurred_at_ms, error_id) < (:after_ms, :after_id))
             ORDER BY occurred_at_ms DESC, error_id DESC LIMIT :limit",
        )?
        .query_map(
            named_params! {
                ":principal": list.principal.to_column(),
                ":session_id": list.session_id.map(Column::to_column),
                ":after_ms": after.map(|(millis, _)| millis.to_column()),
                ":after_id": after.map(|(_, error_id)| error_id.as_str()),
                ":limit": (list.limit as u64).to_column(),
            },
            error_of,
        )?
        .collect()
}

fn error_of(row: &Row<'_>) -> rusqlite::Result<StoredError> {
    Ok(StoredError {
        error_id: row.get("error_id")?,
        occurred_at_ms: read(row, "occurred_at_ms")?,
        session_id: read_opt(row, "session_id")?,
        request_id: row.get("request_id")?,
        data: row.get("data")?,
        closed_at: read_opt(row, "closed_at")?,
    })
}
