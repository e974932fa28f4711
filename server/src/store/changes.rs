//! Changes of a session that are not the progress of a run.

use runwarden_protocol::ids::{Revision, RunId, SessionId};
use runwarden_protocol::session::record::{SessionHead, Usage};
use runwarden_protocol::session::usage;
use runwarden_runtime::ports::StoreFailure;
use runwarden_runtime::ports::change::{Change, Choice, FieldsChange, SessionChange};
use runwarden_runtime::ports::store::{Committed, KeyEffect, KeyScope};
use rusqlite::{Connection, params};

use super::column::Column;
use super::commits::{committed, known_run};
use super::fault::Fault;
use super::{journal, keys, rewrite, sessions};

/// Carries out one change inside the caller's transaction.
pub(super) fn carry_out(
    connection: &Connection,
    change: &SessionChange,
) -> Result<Committed, Fault> {
    let mut head = sessions::head_at(connection, change.session_id, change.expected)?;
    head.revision = head.revision.plus(1);
    match &change.what {
        Change::Fields(fields) => set_fields(&mut head, fields.clone()),
        Change::Reduction(reduction) => rewrite::reduce(connection, &mut head, *reduction, None)?,
        Change::Usage { run_id, usage } => replace_usage(connection, &mut head, *run_id, *usage)?,
    }
    sessions::update(connection, &head)?;
    if let Some(key) = &change.key {
        let scope = KeyScope::Session(change.session_id);
        keys::remember(connection, scope, key, &KeyEffect::Change, head.revision, change.at)?;
    }
    Ok(committed(&head, None))
}

fn set_fields(head: &mut SessionHead, fields: FieldsChange) {
    let FieldsChange { title, archived, choice } = fields;
    if let Some(title) = title {
        head.title = title;
    }
    if let Some(archived) = archived {
        head.archived = archived;
    }
    if let Some(Choice { agent, model }) = choice {
        (head.agent, head.model) = (agent, model);
    }
}

/// The run's own value is replaced where it stands: with the run, in its answer row, in the sum (USE-02).
fn replace_usage(
    connection: &Connection,
    head: &mut SessionHead,
    run_id: RunId,
    learned: Usage,
) -> Result<(), Fault> {
    let run = known_run(connection, head.session_id, run_id)?;
    if run.outcome.is_none() {
        return Err(StoreFailure::Missing("settlement of this run").into());
    }
    let after = run.usage.learned(learned);
    let is_newest = !is_context_stated_after(connection, head.session_id, run_id)?;
    head.usage = usage::replace(head.usage, run.usage, after, is_newest);
    journal::set_usage(connection, run_id, after)?;
    set_usage_of_row(connection, head.session_id, run_id, after, head.revision)?;
    Ok(())
}

/// Whether a run that was settled later stated how full its context is.
fn is_context_stated_after(
    connection: &Connection,
    session_id: SessionId,
    run_id: RunId,
) -> rusqlite::Result<bool> {
    connection
        .prepare_cached(
            "SELECT 1 FROM settlements JOIN runs USING (run_id)
             WHERE settlements.session_id = ?1
               AND settled > coalesce((SELECT settled FROM settlements WHERE run_id = ?2), 0)
               AND (usage_context_used IS NOT NULL OR usage_context_max IS NOT NULL)",
        )?
        .exists(params![session_id.to_column(), run_id.to_column()])
}

fn set_usage_of_row(
    connection: &Connection,
    session_id: SessionId,
    run_id: RunId,
    usage: Usage,
    revision: Revision,
) -> rusqlite::Result<()> {
    connection
        .prepare_cached(
            "UPDATE messages SET has_usage = 1, usage_input = ?3, usage_output = ?4,
                 usage_cached = ?5, usage_cost = ?6, usage_context_used = ?7,
                 usage_context_max = ?8, session_revision = ?9
             WHERE session_id = ?1 AND run_id = ?2 AND role = 'assistant'",
        )?
        .execute(params![
            session_id.to_column(),
            run_id.to_column(),
            usage.input.map(Column::to_column),
            usage.output.map(Column::to_column),
            usage.cached.map(Column::to_column),
            usage.cost.map(Column::to_column),
            usage.context_used.map(Column::to_column),
            usage.context_max.map(Column::to_column),
            revision.to_column(),
        ])?;
    Ok(())
}
