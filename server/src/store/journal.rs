//! Run journals and the rows of runs and turns.

use runwarden_protocol::ids::{ItemId, QuestionId, RunId, Seq, SessionId, SteerId, TurnId};
use runwarden_protocol::instant::Instant;
use runwarden_protocol::journal::row::{
    ItemKind, JournalRow, Outcome, Reason, RowEvent, SteerFate,
};
use runwarden_protocol::journal::soundness::{RowCheck, Unsound};
use runwarden_protocol::session::record::Usage;
use runwarden_runtime::ports::StoreFailure;
use runwarden_runtime::ports::steer::SteerEnd;
use runwarden_runtime::ports::store::{
    Append, JournalFate, JournalPage, NewRow, PAGE_BYTES_MAX, PAGE_ROWS_MAX, Persisted, RunFacts,
};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OptionalExtension, Row, params};

use super::column::{Column, read, read_opt, read_outcome, read_usage_at, unreadable};
use super::fault::{Fault, misuse};
use super::{deletion, retention};

/// Steps of a turn, in the order of their rows (TRN-01).
#[derive(Clone, Copy, Debug)]
pub(super) enum TurnStep {
    /// The turn was accepted.
    Submitted,
    /// Its worker started.
    WorkerStarted,
    /// It ended.
    Terminal(Outcome),
}

/// Appends rows under the next numbers (JRN-01). Refused after a semantic terminal (JRN-09).
pub(super) fn append(connection: &Connection, append: &Append) -> Result<Persisted, Fault> {
    if append.rows.iter().any(|row| row.event.is_terminal()) {
        return Err(misuse("a terminal is written by a settlement"));
    }
    let Some(run) = facts(connection, append.run_id)? else {
        // The journal of a deleted session keeps its one outcome (JRN-12).
        return Err(match deletion::tombstone(connection, append.run_id)? {
            Some(outcome) => StoreFailure::Ended { outcome },
            None => StoreFailure::Missing("run"),
        }
        .into());
    };
    if run.session_id != append.session_id {
        return Err(StoreFailure::Missing("run of this session").into());
    }
    refuse_ended(connection, append.run_id, &run)?;
    let mut seq = run.last_seq;
    for row in &append.rows {
        seq = seq.plus(1);
        insert(connection, append.run_id, append.session_id, seq, row)?;
    }
    set_last_seq(connection, append.run_id, seq)?;
    let count = u32::try_from(append.rows.len()).map_err(|_| misuse("too many rows"))?;
    Ok(Persisted { first_seq: run.last_seq.plus(1), count })
}

/// Adds the semantic terminal of a run and returns its number; an equal one that stands already is kept.
pub(super) fn terminate(
    connection: &Connection,
    run_id: RunId,
    run: &RunFacts,
    outcome: Outcome,
    reason: Option<Reason>,
    at: Instant,
) -> Result<Seq, Fault> {
    if let Some((seq, standing)) = terminal(connection, run_id)? {
        return if standing == outcome {
            Ok(seq)
        } else {
            Err(StoreFailure::Ended { outcome: standing }.into())
        };
    }
    let body = serde_json::json!({ "reason": reason.map(Reason::as_str) }).to_string();
    let event = RowEvent::Terminal { outcome };
    let seq = run.last_seq.plus(1);
    let row = NewRow { event, created_at: at, body: body.into() };
    insert(connection, run_id, run.session_id, seq, &row)?;
    set_last_seq(connection, run_id, seq)?;
    Ok(seq)
}

/// Adds the rows of the steers that a settlement settles, before its terminal (STR-04).
pub(super) fn settle_steers(
    connection: &Connection,
    run_id: RunId,
    run: &mut RunFacts,
    steers: &[SteerEnd],
    at: Instant,
) -> rusqlite::Result<()> {
    if steers.is_empty() {
        return Ok(());
    }
    for steer in steers {
        let (event, body) = steer.row();
        let row = NewRow { event, created_at: at, body: body.into() };
        run.last_seq = run.last_seq.plus(1);
        insert(connection, run_id, run.session_id, run.last_seq, &row)?;
    }
    set_last_seq(connection, run_id, run.last_seq)
}

/// Steers that a journal accepts and does not settle, in order, with their words.
pub(super) fn unsettled_steers(
    connection: &Connection,
    run_id: RunId,
) -> rusqlite::Result<Vec<(SteerId, String)>> {
    connection
        .prepare_cached(
            "SELECT subject, body FROM journal AS accepted
             WHERE run_id = ?1 AND event = 'steer_accepted' AND NOT EXISTS (
                 SELECT 1 FROM journal WHERE run_id = ?1 AND event = 'steer_settled'
                     AND subject = accepted.subject)
             ORDER BY seq",
        )?
        .query_map([run_id.to_column()], |row| {
            let body: String = row.get(1)?;
            // A damaged body is better given back as it is than not at all.
            let words = serde_json::from_str(&body).unwrap_or(body);
            Ok((SteerId::from_column(row.get(0)?), words))
        })?
        .collect()
}

/// Refuses what may not follow the end of a run.
pub(super) fn refuse_ended(
    connection: &Connection,
    run_id: RunId,
    run: &RunFacts,
) -> Result<(), Fault> {
    let standing = match run.outcome {
        Some(outcome) => Some(outcome),
        None => terminal(connection, run_id)?.map(|(_, outcome)| outcome),
    };
    match standing {
        Some(outcome) => Err(StoreFailure::Ended { outcome }.into()),
        None => Ok(()),
    }
}

/// The semantic terminal of a journal, wherever it stands (JRN-10).
pub(super) fn terminal(
    connection: &Connection,
    run_id: RunId,
) -> rusqlite::Result<Option<(Seq, Outcome)>> {
    connection
        .prepare_cached(
            "SELECT seq, outcome FROM journal WHERE run_id = ?1 AND event = 'terminal'
             ORDER BY seq LIMIT 1",
        )?
        .query_row([run_id.to_column()], |row| {
            let outcome = read_outcome(row, "outcome")?;
            Ok((read(row, "seq")?, outcome.ok_or_else(|| unreadable("outcome", ""))?))
        })
        .optional()
}

/// What is known of a run, without its error.
pub(super) fn facts(connection: &Connection, run_id: RunId) -> rusqlite::Result<Option<RunFacts>> {
    connection
        .prepare_cached(
            "SELECT session_id, outcome, reason, last_seq, turn_id, usage_input, usage_output,
                 usage_cached, usage_cost, usage_context_used, usage_context_max, journal_fate
             FROM runs WHERE run_id = ?1",
        )?
        .query_row([run_id.to_column()], |row| {
            let reason: Option<String> = row.get(2)?;
            let reason = reason
                .map(|name| Reason::from_name(&name).ok_or_else(|| unreadable("reason", &name)));
            Ok(RunFacts {
                session_id: read(row, 0)?,
                outcome: read_outcome(row, 1)?,
                reason: reason.transpose()?,
                last_seq: read(row, 3)?,
                turn_id: read(row, 4)?,
                usage: read_usage_at(row, 5)?,
                error: None,
                journal: retention::fate(row)?,
            })
        })
        .optional()
}

/// Adds a run that has no rows yet.
pub(super) fn insert_run(
    connection: &Connection,
    run_id: RunId,
    session_id: SessionId,
    turn_id: TurnId,
    at: Instant,
) -> rusqlite::Result<()> {
    connection
        .prepare_cached(
            "INSERT INTO runs (run_id, session_id, turn_id, started_at) VALUES (?1, ?2, ?3, ?4)",
        )?
        .execute(params![
            run_id.to_column(),
            session_id.to_column(),
            turn_id.to_column(),
            at.to_column()
        ])?;
    Ok(())
}

/// Sets what a settled run used.
pub(super) fn set_usage(
    connection: &Connection,
    run_id: RunId,
    usage: Usage,
) -> rusqlite::Result<()> {
    connection
        .prepare_cached(
            "UPDATE runs SET usage_input = ?2, usage_output = ?3, usage_cached = ?4,
                 usage_cost = ?5, usage_context_used = ?6, usage_context_max = ?7
             WHERE run_id = ?1",
        )?
        .execute(params![
            run_id.to_column(),
            usage.input.map(Column::to_column),
            usage.output.map(Column::to_column),
            usage.cached.map(Column::to_column),
            usage.cost.map(Column::to_column),
            usage.context_used.map(Column::to_column),
            usage.context_max.map(Column::to_column),
        ])?;
    Ok(())
}

/// Adds a row of the turn journal; each step is there at most once.
pub(super) fn insert_step(
    connection: &Connection,
    run: (RunId, &RunFacts),
    step: TurnStep,
    at: Instant,
) -> rusqlite::Result<()> {
    let (step, outcome) = match step {
        TurnStep::Submitted => (0, None),
        TurnStep::WorkerStarted => (1, None),
        TurnStep::Terminal(outcome) => (2, Some(outcome.as_str())),
    };
    let (run_id, facts) = run;
    connection
        .prepare_cached("INSERT OR IGNORE INTO turn_journal VALUES (?1, ?2, ?3, ?4, ?5, ?6)")?
        .execute(params![
            facts.turn_id.to_column(),
            step,
            facts.session_id.to_column(),
            run_id.to_column(),
            at.to_column(),
            outcome
        ])?;
    Ok(())
}

/// Reads a page after a row (JRN-15). A malformed, foreign or missing row quarantines the run (JRN-11): the page
/// ends before it, and the next one fails.
pub(super) fn page(
    connection: &Connection,
    run_id: RunId,
    after: Seq,
) -> Result<JournalPage, Fault> {
    let run = facts(connection, run_id)?.ok_or(StoreFailure::Missing("run"))?;
    if run.journal == JournalFate::Pruned {
        return Err(StoreFailure::Missing("journal: it was pruned").into());
    }
    let mut page = JournalPage { rows: Vec::new(), more: false };
    let mut bytes = 0_usize;
    let unsound = walk(connection, run_id, &run, after, |row| {
        bytes = bytes.saturating_add(row.body.len());
        let is_full = page.rows.len() == PAGE_ROWS_MAX || bytes > PAGE_BYTES_MAX;
        page.more = is_full && !page.rows.is_empty();
        if !page.more {
            page.rows.push(row);
        }
        Ok(!page.more)
    })?;
    match unsound {
        Some(reason) if page.rows.is_empty() => {
            Err(StoreFailure::Quarantined { run_id, reason }.into())
        }
        Some(_) => Ok(JournalPage { more: true, ..page }),
        None => Ok(page),
    }
}

/// Hands the rows after `after` to `take` until it returns `false`, and checks each one. Returns what is
/// wrong with the first row that is not sound; no row from there on is handed over.
pub(super) fn walk(
    connection: &Connection,
    run_id: RunId,
    run: &RunFacts,
    after: Seq,
    mut take: impl FnMut(JournalRow) -> Result<bool, String>,
) -> rusqlite::Result<Option<String>> {
    let mut statement = connection.prepare_cached(
        "SELECT seq, session_id, created_at, event, subject, outcome, body FROM journal
         WHERE run_id = ?1 AND seq > ?2 ORDER BY seq",
    )?;
    let mut stored = statement.query(params![run_id.to_column(), after.to_column()])?;
    let mut check = RowCheck::behind(run_id, run.session_id, after);
    while let Some(row) = stored.next()? {
        let seq: Seq = read(row, "seq")?;
        let checked = check
            .expect(seq)
            .and_then(|seq| decode(row, run_id).map_err(|what| Unsound::Malformed { seq, what }))
            .and_then(|row| check.take(&row).map(|()| row));
        let taken = match checked {
            Ok(row) => take(row),
            Err(unsound) => return Ok(Some(unsound.to_string())),
        };
        match taken {
            Ok(true) => {}
            Ok(false) => return Ok(None),
            Err(what) => return Ok(Some(Unsound::Malformed { seq, what }.to_string())),
        }
    }
    let is_gone = run.journal == JournalFate::Pruned;
    Ok(check.end(run.last_seq).err().filter(|_| !is_gone).map(|missing| missing.to_string()))
}

fn insert(
    connection: &Connection,
    run_id: RunId,
    session_id: SessionId,
    seq: Seq,
    row: &NewRow,
) -> rusqlite::Result<()> {
    let (subject, outcome) = match row.event {
        RowEvent::Content { item_id, .. } => (Some(item_id.to_column()), None),
        RowEvent::QuestionAsked { question_id } | RowEvent::QuestionResolved { question_id } => {
            (Some(question_id.to_column()), None)
        }
        RowEvent::SteerAccepted { steer_id } => (Some(steer_id.to_column()), None),
        RowEvent::SteerSettled { steer_id, fate } => {
            (Some(steer_id.to_column()), Some(fate.as_str()))
        }
        RowEvent::Terminal { outcome } => (None, Some(outcome.as_str())),
    };
    connection
        .prepare_cached("INSERT INTO journal VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)")?
        .execute(params![
            run_id.to_column(),
            seq.to_column(),
            session_id.to_column(),
            row.created_at.to_column(),
            row.event.name(),
            subject,
            outcome,
            &*row.body
        ])?;
    Ok(())
}

fn set_last_seq(connection: &Connection, run_id: RunId, seq: Seq) -> rusqlite::Result<()> {
    connection
        .prepare_cached("UPDATE runs SET last_seq = ?2 WHERE run_id = ?1")?
        .execute(params![run_id.to_column(), seq.to_column()])?;
    Ok(())
}

fn decode(row: &Row<'_>, run_id: RunId) -> Result<JournalRow, String> {
    let unsound = |error: rusqlite::Error| error.to_string();
    let session_id: SessionId = read(row, "session_id").map_err(unsound)?;
    let event = event_of(row).map_err(unsound)?;
    let ValueRef::Text(body) = row.get_ref("body").map_err(unsound)? else {
        return Err("its body is not text".to_owned());
    };
    let body = str::from_utf8(body).map_err(|_| "its body is not UTF-8".to_owned())?;
    Ok(JournalRow {
        run_id,
        session_id,
        seq: read(row, "seq").map_err(unsound)?,
        created_at: read(row, "created_at").map_err(unsound)?,
        event,
        body: body.to_owned(),
    })
}

fn event_of(row: &Row<'_>) -> rusqlite::Result<RowEvent> {
    let name = row.get_ref("event")?.as_str()?;
    let subject: Option<i64> = row.get("subject")?;
    let subject = || subject.ok_or_else(|| unreadable("subject", ""));
    if let Some(item_kind) = ItemKind::from_name(name) {
        return Ok(RowEvent::Content { item_id: ItemId::from_column(subject()?), item_kind });
    }
    match name {
        "question_asked" => {
            Ok(RowEvent::QuestionAsked { question_id: QuestionId::from_column(subject()?) })
        }
        "question_resolved" => {
            Ok(RowEvent::QuestionResolved { question_id: QuestionId::from_column(subject()?) })
        }
        "steer_accepted" => {
            Ok(RowEvent::SteerAccepted { steer_id: SteerId::from_column(subject()?) })
        }
        "steer_settled" => {
            let name: String = row.get("outcome")?;
            let fate = SteerFate::from_name(&name).ok_or_else(|| unreadable("outcome", &name))?;
            Ok(RowEvent::SteerSettled { steer_id: SteerId::from_column(subject()?), fate })
        }
        "terminal" => {
            let outcome = read_outcome(row, "outcome")?;
            let outcome = outcome.ok_or_else(|| unreadable("outcome", ""))?;
            Ok(RowEvent::Terminal { outcome })
        }
        other => Err(unreadable("event", other)),
    }
}

/// Every run without a settlement, of one session or of all, with its session and turn.
pub(super) fn unsettled(
    connection: &Connection,
    session_id: Option<SessionId>,
) -> rusqlite::Result<Vec<(RunId, SessionId, TurnId, Seq)>> {
    connection
        .prepare_cached(
            "SELECT * FROM runs WHERE outcome IS NULL AND (?1 IS NULL OR session_id = ?1)
             ORDER BY started_at, run_id",
        )?
        .query_map([session_id.map(Column::to_column)], |row| {
            Ok((
                read(row, "run_id")?,
                read(row, "session_id")?,
                read(row, "turn_id")?,
                read_opt(row, "last_seq")?.unwrap_or_default(),
            ))
        })?
        .collect()
}
