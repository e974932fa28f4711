//! Logins by the hash of their cookie (PRIN-6, PRIN-7).

use runwarden_protocol::instant::Instant;
use runwarden_runtime::ports::store::Login;
use rusqlite::{Connection, OptionalExtension, params};

use super::column::{Column, read};

/// Logins kept per principal; the one that ends first is dropped.
pub(super) const LOGINS_MAX: u64 = 256;

/// Stores a login.
pub(super) fn put(connection: &Connection, login: &Login) -> rusqlite::Result<()> {
    connection.prepare_cached("INSERT OR REPLACE INTO logins VALUES (?1, ?2, ?3)")?.execute(
        params![login.token_hash, login.principal.to_column(), login.expires_at.to_column()],
    )?;
    connection
        .prepare_cached(
            "DELETE FROM logins WHERE token_hash IN (
                 SELECT token_hash FROM logins WHERE principal = ?1
                 ORDER BY expires_at DESC, token_hash LIMIT -1 OFFSET ?2)",
        )?
        .execute(params![login.principal.to_column(), LOGINS_MAX.to_column()])?;
    Ok(())
}

/// Finds a login that has not ended at `now`; one that ends at `now` has.
pub(super) fn find(
    connection: &Connection,
    token_hash: [u8; 32],
    now: Instant,
) -> rusqlite::Result<Option<Login>> {
    connection
        .prepare_cached("SELECT * FROM logins WHERE token_hash = ?1 AND expires_at > ?2")?
        .query_row(params![token_hash, now.to_column()], |row| {
            Ok(Login {
                token_hash,
                principal: read(row, "principal")?,
                expires_at: read(row, "expires_at")?,
            })
        })
        .optional()
}

/// Removes a login.
pub(super) fn revoke(connection: &Connection, token_hash: [u8; 32]) -> rusqlite::Result<()> {
    connection
        .prepare_cached("DELETE FROM logins WHERE token_hash = ?1")?
        .execute(params![token_hash])?;
    Ok(())
}
