//! The atomic changes of a session.

use runwarden_protocol::ids::{Revision, RunId, Seq, SessionId};
use runwarden_protocol::instant::Instant;
use runwarden_protocol::journal::row::{Outcome, Reason};
use runwarden_protocol::session::list::first_title;
use runwarden_protocol::session::record::{PendingTurn, SessionHead, Usage};
use runwarden_protocol::session::settle::{Answer, AnswerFold, Ending, rows};
use runwarden_protocol::session::usage;
use runwarden_protocol::wire::codes::Code;
use runwarden_runtime::ports::StoreFailure;
use runwarden_runtime::ports::store::{
    Admission, Commit, Committed, KeyEffect, KeyScope, NewSession, RunFacts, Settlement,
};
use rusqlite::{Connection, OptionalExtension, params};

use super::column::Column;
use super::errors;
use super::fault::{Fault, misuse};
use super::journal::{self, TurnStep};
use super::{changes, conversations, deletion, keys, messages, queue, rewrite, sessions};

/// Settlements kept per session (OWN-15).
const SETTLEMENTS_KEPT: u64 = 64;

/// Records of recoveries kept in all (RST-06).
const PROVENANCE_KEPT: i64 = 4_096;

/// Carries out one commit inside the caller's transaction.
pub(super) fn carry_out(connection: &Connection, commit: &Commit) -> Result<Committed, Fault> {
    match commit {
        Commit::CreateSession(session) => create_session(connection, session),
        Commit::Admit(admission) => admit(connection, admission),
        Commit::StartWorker { session_id, run_id, at } => {
            start_worker(connection, *session_id, *run_id, *at)
        }
        Commit::Queue(change) => Ok(committed(&queue::change(connection, change)?, None)),
        Commit::Settle(settlement) => settle(connection, settlement),
        Commit::Change(change) => changes::carry_out(connection, change),
        Commit::Delete(deletion) => deletion::carry_out(connection, deletion),
        Commit::Compensate { session_id, expected, run_id, requeue, at } => {
            compensate(connection, (*session_id, *expected), *run_id, *requeue, *at)
        }
    }
}

/// When a commit happens.
pub(super) fn time_of(commit: &Commit) -> Instant {
    match commit {
        Commit::CreateSession(session) => session.at,
        Commit::Admit(admission) => admission.at,
        Commit::StartWorker { at, .. } | Commit::Compensate { at, .. } => *at,
        Commit::Queue(change) => change.at,
        Commit::Settle(settlement) => settlement.at,
        Commit::Change(change) => change.at,
        Commit::Delete(deletion) => deletion.at,
    }
}

/// Whether a commit must survive loss of power before it is answered.
pub(super) const fn is_stable(commit: &Commit) -> bool {
    match commit {
        Commit::CreateSession(_) | Commit::Admit(_) | Commit::Settle(_) => true,
        Commit::Queue(_) | Commit::Compensate { .. } | Commit::Change(_) | Commit::Delete(_) => {
            true
        }
        Commit::StartWorker { .. } => false,
    }
}

/// Whether a commit may leave something for the error store to take over (ERR-20, ERR-26).
pub(super) const fn leaves_errors(commit: &Commit) -> bool {
    match commit {
        Commit::Settle(settlement) => settlement.error.is_some(),
        Commit::Delete(_) => true,
        Commit::CreateSession(_)
        | Commit::Admit(_)
        | Commit::StartWorker { .. }
        | Commit::Queue(_)
        | Commit::Change(_)
        | Commit::Compensate { .. } => false,
    }
}

/// The ErrorData of a run's settlement, while that is kept (OWN-15).
pub(super) fn error_of(connection: &Connection, run_id: RunId) -> rusqlite::Result<Option<String>> {
    let found = connection
        .prepare_cached("SELECT error FROM settlements WHERE run_id = ?1")?
        .query_row([run_id.to_column()], |row| row.get(0))
        .optional()?;
    Ok(found.flatten())
}

fn create_session(connection: &Connection, new: &NewSession) -> Result<Committed, Fault> {
    if let Some(standing) = sessions::head(connection, new.session_id)? {
        return Err(StoreFailure::Conflict { current: standing.revision }.into());
    }
    let head = SessionHead {
        session_id: new.session_id,
        owner: new.owner,
        title: new.title.clone(),
        revision: Revision::new(1),
        transcript_generation: 0,
        transcript_generation_baseline: 0,
        truncation_watermark: Revision::ZERO,
        agent: new.agent.clone(),
        model: new.model.clone(),
        archived: false,
        shared: false,
        created_at: new.at,
        activity_at: new.at,
        message_count: 0,
        head_id: None,
        pending: None,
        usage: Usage::default(),
        queue_length: 0,
        queue_held: None,
    };
    sessions::insert(connection, &head)?;
    if let Some(key) = &new.key {
        let effect = KeyEffect::Session {
            session_id: new.session_id,
            agent: new.agent.clone(),
            model: new.model.clone(),
        };
        let scope = KeyScope::Principal(new.owner);
        keys::remember(connection, scope, key, &effect, head.revision, new.at)?;
    }
    Ok(committed(&head, None))
}

fn admit(connection: &Connection, admission: &Admission) -> Result<Committed, Fault> {
    let mut head = sessions::head_at(connection, admission.session_id, admission.expected)?;
    if head.pending.is_some() {
        return Err(misuse("the session already has a pending turn"));
    }
    head.revision = head.revision.plus(1);
    head.activity_at = head.activity_at.max(admission.at);
    if admission.is_head {
        queue::take_head(connection, &mut head, admission.turn_id)?;
    }
    if head.title.is_empty() {
        head.title = first_title(&admission.text);
    }
    head.pending = Some(PendingTurn {
        turn_id: admission.turn_id,
        run_id: admission.run_id,
        text: admission.text.to_string(),
        pending_started_at: admission.at,
        agent: admission.agent.clone(),
        model: admission.model.clone(),
    });
    let (run_id, turn_id, at) = (admission.run_id, admission.turn_id, admission.at);
    if let Some(reduction) = admission.reduction {
        rewrite::reduce(connection, &mut head, reduction, Some(run_id))?;
    }
    sessions::update(connection, &head)?;
    journal::insert_run(connection, run_id, admission.session_id, turn_id, at)?;
    let run = known_run(connection, admission.session_id, run_id)?;
    journal::insert_step(connection, (run_id, &run), TurnStep::Submitted, at)?;
    if let Some(key) = &admission.key {
        let effect = KeyEffect::Turn {
            turn_id,
            run_id,
            pending_started_at: at,
            agent: admission.agent.clone(),
            model: admission.model.clone(),
        };
        let scope = KeyScope::Session(admission.session_id);
        keys::remember(connection, scope, key, &effect, head.revision, at)?;
    }
    Ok(committed(&head, None))
}

fn start_worker(
    connection: &Connection,
    session_id: SessionId,
    run_id: RunId,
    at: Instant,
) -> Result<Committed, Fault> {
    let run = known_run(connection, session_id, run_id)?;
    journal::refuse_ended(connection, run_id, &run)?;
    let head = sessions::head(connection, session_id)?.ok_or(StoreFailure::Missing("session"))?;
    journal::insert_step(connection, (run_id, &run), TurnStep::WorkerStarted, at)?;
    Ok(committed(&head, None))
}

fn settle(connection: &Connection, settlement: &Settlement) -> Result<Committed, Fault> {
    let run_id = settlement.run_id;
    let mut run = known_run(connection, settlement.session_id, run_id)?;
    if let Some(outcome) = run.outcome {
        return Err(StoreFailure::Ended { outcome }.into());
    }
    if run.turn_id != settlement.turn_id {
        return Err(StoreFailure::Missing("turn of this run").into());
    }
    let mut head = sessions::head_at(connection, settlement.session_id, settlement.expected)?;
    let rows_before = head.message_count;
    if settlement.outcome != Outcome::Superseded {
        check_owner(&head, settlement)?;
        if let Some(pending) = &head.pending {
            let handle = settlement.conversation.as_deref();
            conversations::keep(connection, head.session_id, &pending.agent, handle)?;
        }
        add_rows(connection, &mut head, &run, settlement)?;
        if settlement.hold.is_some() {
            queue::hold(&mut head, settlement.hold);
        }
        sessions::update(connection, &head)?;
    }
    let (outcome, reason, at) = (settlement.outcome, settlement.reason, settlement.at);
    journal::settle_steers(connection, run_id, &mut run, &settlement.steers, at)?;
    let seq = journal::terminate(connection, run_id, &run, outcome, reason, at)?;
    close_run(connection, (run_id, &run), outcome, reason, settlement.usage, at)?;
    record_settlement(connection, settlement)?;
    rewrite::forget_replaced(connection, run_id)?;
    if settlement.recovery {
        record_recovery(connection, settlement, rows_before, head.message_count)?;
    }
    if let Some(error) = &settlement.error {
        errors::post(connection, head.owner, error)?;
    }
    Ok(committed(&head, Some(seq)))
}

fn compensate(
    connection: &Connection,
    (session_id, expected): (SessionId, Revision),
    run_id: RunId,
    requeue: Option<Code>,
    at: Instant,
) -> Result<Committed, Fault> {
    let run = known_run(connection, session_id, run_id)?;
    if let Some(outcome) = run.outcome {
        return Err(StoreFailure::Ended { outcome }.into());
    }
    let mut head = sessions::head_at(connection, session_id, expected)?;
    head.revision = head.revision.plus(1);
    rewrite::restore(connection, &mut head, run_id)?;
    if let Some(pending) = head.pending.take_if(|pending| pending.run_id == run_id) {
        if head.message_count == 0 && head.title == first_title(&pending.text) {
            head.title.clear();
        }
        if requeue.is_some() {
            queue::put_back(connection, &mut head, &pending)?;
            queue::hold(&mut head, requeue);
        }
    }
    sessions::update(connection, &head)?;
    let outcome = Outcome::Failed;
    let seq = journal::terminate(connection, run_id, &run, outcome, None, at)?;
    close_run(connection, (run_id, &run), outcome, None, Usage::default(), at)?;
    keys::free(connection, run_id)?;
    Ok(committed(&head, Some(seq)))
}

pub(super) fn known_run(
    connection: &Connection,
    session_id: SessionId,
    run_id: RunId,
) -> Result<RunFacts, Fault> {
    journal::facts(connection, run_id)?
        .filter(|run| run.session_id == session_id)
        .ok_or_else(|| StoreFailure::Missing("run").into())
}

/// The active run is this one, or none where the run did not complete (OWN-04).
fn check_owner(head: &SessionHead, settlement: &Settlement) -> Result<(), Fault> {
    let is_allowed = match &head.pending {
        Some(pending) => pending.run_id == settlement.run_id,
        None => settlement.outcome != Outcome::Completed,
    };
    if is_allowed { Ok(()) } else { Err(StoreFailure::Missing("active run").into()) }
}

fn add_rows(
    connection: &Connection,
    head: &mut SessionHead,
    run: &RunFacts,
    settlement: &Settlement,
) -> Result<(), Fault> {
    head.revision = head.revision.plus(1);
    let pending = head.pending.take();
    let answer = fold_journal(connection, settlement.run_id, run)?;
    if answer.is_some() {
        head.activity_at = head.activity_at.max(settlement.at);
    }
    let added = rows(Ending {
        run_id: settlement.run_id,
        turn_id: settlement.turn_id,
        outcome: settlement.outcome,
        marker: settlement.marker,
        pending: pending.as_ref(),
        user_row_stored: messages::contains(connection, head.session_id, settlement.turn_id)?,
        answer,
        row_ids: settlement.row_ids,
        head_id: head.head_id,
        usage: settlement.usage,
        at: settlement.at,
        revision: head.revision,
    });
    for row in &added {
        messages::insert(connection, head.session_id, head.message_count, row)?;
        head.message_count += 1;
        head.head_id = Some(row.message_id);
    }
    head.usage = usage::add(head.usage, settlement.usage);
    Ok(())
}

/// What the journal holds up to its first row that cannot be trusted (JRN-11).
fn fold_journal(
    connection: &Connection,
    run_id: RunId,
    run: &RunFacts,
) -> Result<Option<Answer>, Fault> {
    let mut fold = AnswerFold::new();
    let unsound = journal::walk(connection, run_id, run, Seq::ZERO, |row| {
        fold.push(&row).map(|()| true).map_err(|error| error.to_string())
    })?;
    if let Some(reason) = unsound {
        tracing::warn!(%run_id, reason, "the journal is quarantined; settling the rows before");
    }
    Ok(fold.finish())
}

fn close_run(
    connection: &Connection,
    run: (RunId, &RunFacts),
    outcome: Outcome,
    reason: Option<Reason>,
    usage: Usage,
    at: Instant,
) -> rusqlite::Result<()> {
    journal::insert_step(connection, run, TurnStep::Terminal(outcome), at)?;
    connection
        .prepare_cached(
            "UPDATE runs SET outcome = ?2, reason = ?3, ended_at = ?4, usage_input = ?5,
                 usage_output = ?6, usage_cached = ?7, usage_cost = ?8, usage_context_used = ?9,
                 usage_context_max = ?10
             WHERE run_id = ?1",
        )?
        .execute(params![
            run.0.to_column(),
            outcome.as_str(),
            reason.map(Reason::as_str),
            at.to_column(),
            usage.input.map(Column::to_column),
            usage.output.map(Column::to_column),
            usage.cached.map(Column::to_column),
            usage.cost.map(Column::to_column),
            usage.context_used.map(Column::to_column),
            usage.context_max.map(Column::to_column),
        ])?;
    Ok(())
}

fn record_settlement(connection: &Connection, settlement: &Settlement) -> rusqlite::Result<()> {
    connection
        .prepare_cached(
            "INSERT INTO settlements (session_id, run_id, turn_id, outcome, reason, at, error)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        )?
        .execute(params![
            settlement.session_id.to_column(),
            settlement.run_id.to_column(),
            settlement.turn_id.to_column(),
            settlement.outcome.as_str(),
            settlement.reason.map(Reason::as_str),
            settlement.at.to_column(),
            settlement.error.as_ref().map(|error| error.data.as_str()),
        ])?;
    connection
        .prepare_cached(
            "DELETE FROM settlements WHERE session_id = ?1 AND settled <= (
                 SELECT settled FROM settlements WHERE session_id = ?1
                 ORDER BY settled DESC LIMIT 1 OFFSET ?2)",
        )?
        .execute(params![settlement.session_id.to_column(), SETTLEMENTS_KEPT.to_column()])?;
    Ok(())
}

/// The content-free record of a recovery (INV-11, RST-06).
fn record_recovery(
    connection: &Connection,
    settlement: &Settlement,
    rows_before: u64,
    rows_after: u64,
) -> rusqlite::Result<()> {
    connection
        .prepare_cached(
            "INSERT INTO provenance (session_id, run_id, at, reason, source, target, rows_before,
                 rows_after)
             VALUES (?1, ?2, ?3, ?4, 'journal', 'transcript', ?5, ?6)",
        )?
        .execute(params![
            settlement.session_id.to_column(),
            settlement.run_id.to_column(),
            settlement.at.to_column(),
            settlement.reason.map_or(settlement.outcome.as_str(), Reason::as_str),
            rows_before.to_column(),
            rows_after.to_column(),
        ])?;
    connection
        .prepare_cached("DELETE FROM provenance WHERE recorded <= ?1")?
        .execute([connection.last_insert_rowid().saturating_sub(PROVENANCE_KEPT)])?;
    Ok(())
}

pub(super) fn committed(head: &SessionHead, terminal_seq: Option<Seq>) -> Committed {
    Committed { revision: head.revision, terminal_seq, head: Box::new(head.clone()) }
}
