//! Idempotency keys: what a used key did, for 24 hours and the newest 1,024 of a scope (ADM-13, REQ-11).

use runwarden_protocol::ids::{Revision, RunId, TurnId};
use runwarden_protocol::instant::{Duration, Instant};
use runwarden_runtime::ports::StoreFailure;
use runwarden_runtime::ports::store::{KeyEffect, KeyRecord, KeyScope, KeyUse};
use rusqlite::{Connection, OptionalExtension, Row, named_params, params};

use super::column::{Column, read, read_opt};
use super::fault::Fault;

/// Keys remembered per scope.
pub(super) const KEYS_MAX: u64 = 1_024;

/// Age at which a key is forgotten.
pub(super) const KEY_AGE_MAX: Duration = Duration::from_secs(24 * 60 * 60);

/// Name of the scope of a session's keys.
const SESSION_SCOPE: &str = "session";

/// Looks a key up.
pub(super) fn find(
    connection: &Connection,
    scope: KeyScope,
    key: &str,
    now: Instant,
) -> rusqlite::Result<Option<KeyRecord>> {
    let (scope, scope_id) = columns(scope);
    let found = connection
        .prepare_cached("SELECT * FROM keys WHERE scope = ?1 AND scope_id = ?2 AND key = ?3")?
        .query_row(params![scope, scope_id, key], |row| {
            Ok((read::<Instant>(row, "used_at")?, record_of(row)?))
        })
        .optional()?;
    Ok(found.filter(|(used_at, _)| !is_forgotten(*used_at, now)).map(|(_, record)| record))
}

/// Remembers a key with its effect, in the transaction of the effect.
///
/// A key that is still remembered is a [`StoreFailure::Conflict`]: the effect was computed without it.
pub(super) fn remember(
    connection: &Connection,
    scope: KeyScope,
    used: &KeyUse,
    effect: &KeyEffect,
    revision: Revision,
    at: Instant,
) -> Result<(), Fault> {
    if find(connection, scope, &used.key, at)?.is_some() {
        return Err(StoreFailure::Conflict { current: revision }.into());
    }
    let (scope_name, scope_id) = columns(scope);
    let oldest_kept = at.as_micros().saturating_sub(KEY_AGE_MAX.as_micros());
    connection
        .prepare_cached("DELETE FROM keys WHERE scope = ?1 AND scope_id = ?2 AND used_at <= ?3")?
        .execute(params![scope_name, scope_id, oldest_kept.to_column()])?;
    insert(connection, scope, used, effect, revision, at)?;
    connection
        .prepare_cached(
            "DELETE FROM keys WHERE scope = ?1 AND scope_id = ?2 AND used <= (
                 SELECT used FROM keys WHERE scope = ?1 AND scope_id = ?2
                 ORDER BY used DESC LIMIT 1 OFFSET ?3)",
        )?
        .execute(params![scope_name, scope_id, KEYS_MAX.to_column()])?;
    Ok(())
}

/// Frees the key of a run whose start failed (REC-08).
pub(super) fn free(connection: &Connection, run_id: RunId) -> rusqlite::Result<()> {
    connection
        .prepare_cached("DELETE FROM keys WHERE run_id = ?1")?
        .execute([run_id.to_column()])?;
    Ok(())
}

fn insert(
    connection: &Connection,
    scope: KeyScope,
    used: &KeyUse,
    effect: &KeyEffect,
    revision: Revision,
    at: Instant,
) -> Result<(), Fault> {
    let (scope_name, scope_id) = columns(scope);
    let session_id = match (effect, scope) {
        (KeyEffect::Session { session_id, .. } | KeyEffect::Deleted { session_id }, _) => {
            *session_id
        }
        (_, KeyScope::Session(session_id)) => session_id,
        (_, KeyScope::Principal(_)) => {
            return Err(super::fault::misuse("a session's key belongs to its session"));
        }
    };
    let effect = EffectColumns::of(effect);
    connection
        .prepare_cached(
            "INSERT INTO keys (scope, scope_id, key, fingerprint, used_at, revision, session_id,
                 turn_id, run_id, agent, model, position, text)
             VALUES (:scope, :scope_id, :key, :fingerprint, :used_at, :revision, :session_id,
                 :turn_id, :run_id, :agent, :model, :position, :text)",
        )?
        .execute(named_params! {
            ":scope": scope_name,
            ":scope_id": scope_id,
            ":key": used.key,
            ":fingerprint": used.fingerprint.cast_signed(),
            ":used_at": at.to_column(),
            ":revision": revision.to_column(),
            ":session_id": session_id.to_column(),
            ":turn_id": effect.turn_id.map(Column::to_column),
            ":run_id": effect.run_id.map(Column::to_column),
            ":agent": effect.agent,
            ":model": effect.model,
            ":position": effect.position,
            ":text": effect.text,
        })?;
    Ok(())
}

/// An effect in the columns of its row; which of them are set says which effect it is.
#[derive(Default)]
struct EffectColumns<'e> {
    turn_id: Option<TurnId>,
    run_id: Option<RunId>,
    agent: &'e str,
    model: Option<&'e str>,
    position: Option<u32>,
    text: Option<&'e str>,
}

impl<'e> EffectColumns<'e> {
    fn of(effect: &'e KeyEffect) -> Self {
        let none = Self::default();
        match effect {
            KeyEffect::Turn { turn_id, run_id, agent, model, pending_started_at: _ } => {
                let (turn_id, run_id) = (Some(*turn_id), Some(*run_id));
                Self { turn_id, run_id, agent, model: model.as_deref(), ..none }
            }
            KeyEffect::Queued { turn_id, position, agent, model } => {
                let (turn_id, position) = (Some(*turn_id), Some(*position));
                Self { turn_id, position, agent, model: model.as_deref(), ..none }
            }
            KeyEffect::Removed { turn_id, text } => {
                Self { turn_id: Some(*turn_id), text: Some(text), ..none }
            }
            KeyEffect::Resumed { length } => Self { position: Some(*length), ..none },
            KeyEffect::Change => none,
            KeyEffect::Deleted { session_id: _ } => Self { text: Some(""), ..none },
            KeyEffect::Session { agent, model, session_id: _ } => {
                Self { agent, model: model.as_deref(), ..none }
            }
        }
    }
}

fn is_forgotten(used_at: Instant, now: Instant) -> bool {
    now.age_of(used_at) >= KEY_AGE_MAX
}

fn columns(scope: KeyScope) -> (&'static str, i64) {
    match scope {
        KeyScope::Session(session_id) => (SESSION_SCOPE, session_id.to_column()),
        KeyScope::Principal(principal) => ("principal", principal.to_column()),
    }
}

fn record_of(row: &Row<'_>) -> rusqlite::Result<KeyRecord> {
    let agent = row.get("agent")?;
    let model = row.get("model")?;
    let turn_id: Option<TurnId> = read_opt(row, "turn_id")?;
    let run_id: Option<RunId> = read_opt(row, "run_id")?;
    let position: Option<u32> = row.get("position")?;
    let text: Option<String> = row.get("text")?;
    let effect = match (turn_id, run_id, position, text) {
        (Some(turn_id), Some(run_id), _, _) => KeyEffect::Turn {
            turn_id,
            run_id,
            pending_started_at: read(row, "used_at")?,
            agent,
            model,
        },
        (Some(turn_id), None, Some(position), _) => {
            KeyEffect::Queued { turn_id, position, agent, model }
        }
        (Some(turn_id), None, None, Some(text)) => KeyEffect::Removed { turn_id, text },
        (None, None, Some(length), _) => KeyEffect::Resumed { length },
        (None, None, None, Some(_)) => KeyEffect::Deleted { session_id: read(row, "session_id")? },
        (..) if row.get_ref("scope")?.as_str()? == SESSION_SCOPE => KeyEffect::Change,
        (..) => KeyEffect::Session { session_id: read(row, "session_id")?, agent, model },
    };
    let fingerprint: i64 = row.get("fingerprint")?;
    Ok(KeyRecord {
        fingerprint: fingerprint.cast_unsigned(),
        effect,
        revision: read(row, "revision")?,
    })
}
