//! Pruning: journals of runs that were settled long ago go, a few rows at a time (JRN-18, KEEP-5).

use runwarden_protocol::ids::{RunId, Seq, SessionId};
use runwarden_protocol::instant::{Duration, Instant};
use runwarden_protocol::journal::retention::{holds, is_due};
use runwarden_protocol::session::settle::AnswerFold;
use runwarden_runtime::ports::store::{JournalFate, RunFacts};
use rusqlite::{Connection, OptionalExtension, Row, params};

use super::column::{Column, read};
use super::fault::Fault;
use super::{journal, messages, sessions};

/// Most rows that one step removes.
pub(super) const ROWS_PER_STEP: usize = 256;

/// `journal_fate` of a run whose journal has not been judged.
const UNJUDGED: i64 = 0;
/// Its rows are going; nobody reads them any more.
const GOING: i64 = 1;
/// It has no rows.
const GONE: i64 = 2;
/// It stays, because its settlement does not hold its content.
const STAYS: i64 = 3;

/// What is to become of a journal that is old enough.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Its settlement holds its content.
    Prune,
    /// It does not, for this reason.
    Keep {
        /// Why.
        reason: String,
    },
}

/// What the row of a run says of its journal.
pub(super) fn fate(row: &Row<'_>) -> rusqlite::Result<JournalFate> {
    Ok(match row.get::<_, i64>("journal_fate")? {
        GOING | GONE => JournalFate::Pruned,
        _ => JournalFate::Kept,
    })
}

/// Removes rows of a journal that is going. `false` when none is.
pub(super) fn remove_some(connection: &Connection) -> Result<bool, Fault> {
    let sql = format!("SELECT run_id FROM runs WHERE journal_fate = {GOING} LIMIT 1");
    let going: Option<i64> =
        connection.prepare_cached(&sql)?.query_row([], |row| row.get(0)).optional()?;
    let Some(run) = going else { return Ok(false) };
    let removed = connection
        .prepare_cached(
            "DELETE FROM journal WHERE run_id = ?1 AND seq IN (
                 SELECT seq FROM journal WHERE run_id = ?1 ORDER BY seq LIMIT ?2)",
        )?
        .execute(params![run, (ROWS_PER_STEP as u64).to_column()])?;
    if removed < ROWS_PER_STEP {
        set_fate(connection, RunId::from_column(run), GONE)?;
    }
    Ok(true)
}

/// The oldest journal that has not been judged and is old enough, and what is to become of it.
pub(super) fn judge(
    connection: &Connection,
    now: Instant,
    retention: Duration,
) -> Result<Option<(RunId, Verdict)>, Fault> {
    let sql = format!(
        "SELECT run_id, ended_at FROM runs WHERE outcome IS NOT NULL AND journal_fate = {UNJUDGED}
         ORDER BY ended_at LIMIT 1"
    );
    let oldest: Option<(RunId, Instant)> = connection
        .prepare_cached(&sql)?
        .query_row([], |row| Ok((read(row, "run_id")?, read(row, "ended_at")?)))
        .optional()?;
    let Some((run_id, _)) = oldest.filter(|(_, ended)| is_due(*ended, now, retention)) else {
        return Ok(None);
    };
    let Some(run) = journal::facts(connection, run_id)? else { return Ok(None) };
    Ok(Some((run_id, verdict(connection, run_id, &run)?)))
}

/// Notes what is to become of a journal.
pub(super) fn note(connection: &Connection, run_id: RunId, verdict: &Verdict) -> Result<(), Fault> {
    let fate = match verdict {
        Verdict::Prune => GOING,
        Verdict::Keep { .. } => STAYS,
    };
    Ok(set_fate(connection, run_id, fate)?)
}

fn verdict(connection: &Connection, run_id: RunId, run: &RunFacts) -> Result<Verdict, Fault> {
    let mut fold = AnswerFold::new();
    let unsound = journal::walk(connection, run_id, run, Seq::ZERO, |row| {
        fold.push(&row).map(|()| true).map_err(|error| error.to_string())
    })?;
    if let Some(reason) = unsound {
        return Ok(Verdict::Keep { reason });
    }
    let answer = messages::answer_of(connection, run.session_id, run_id)?;
    let is_held = holds(answer.as_ref(), fold.finish().as_ref())
        || was_removed(connection, run.session_id, run)?;
    Ok(if is_held {
        Verdict::Prune
    } else {
        Verdict::Keep { reason: "the transcript lacks some of it".to_owned() }
    })
}

/// Whether the turn was settled and then removed from the transcript on purpose (LIFE-05).
fn was_removed(
    connection: &Connection,
    session_id: SessionId,
    run: &RunFacts,
) -> Result<bool, Fault> {
    let head = sessions::head(connection, session_id)?;
    let is_reduced = head.is_some_and(|head| head.transcript_generation > 0);
    Ok(is_reduced && !messages::contains(connection, session_id, run.turn_id)?)
}

fn set_fate(connection: &Connection, run_id: RunId, fate: i64) -> rusqlite::Result<()> {
    connection
        .prepare_cached("UPDATE runs SET journal_fate = ?2 WHERE run_id = ?1")?
        .execute(params![run_id.to_column(), fate])?;
    Ok(())
}
