//! Rows of many runs into the store's journals, as the store groups and syncs them (JRN-20).

use std::path::Path;
use std::time::{Duration as Span, Instant as Clock};

use runwarden::state_dir::StateDir;
use runwarden::store::{self, SqliteStore, StoreFigures};
use runwarden_protocol::ids::{ItemId, MessageId, PrincipalId, Revision, RunId, SessionId};
use runwarden_protocol::instant::Instant;
use runwarden_protocol::journal::row::{ItemKind, RowEvent};
use runwarden_runtime::ports::change::{Change, FieldsChange, SessionChange};
use runwarden_runtime::ports::store::{
    Admission, Append, BATCH_ROWS_MAX, Commit, NewRow, NewSession, Store,
};
use smol::Timer;

use crate::Problem;
use crate::figures::{Durations, spread};

/// Time between two changes of the session beside the runs, each of which is to be stable.
const CHANGE_EVERY: Span = Span::from_millis(20);

/// What is appended.
pub(crate) struct Load {
    /// Runs, each with one batch on its way (JRN-01).
    pub(crate) runs: u64,
    /// Rows of a batch.
    pub(crate) rows: usize,
    /// Bytes of a row.
    pub(crate) bytes: usize,
}

/// What was measured.
struct Measured {
    figures: StoreFigures,
    /// Rows of each whole second.
    row_rates: Vec<f64>,
    appends: Durations,
    changes: Durations,
}

/// Runs it in a folder of its own and prints the figures; whether every transaction kept its bounds.
///
/// # Errors
/// When the store cannot be opened or written.
pub(crate) fn run(load: &Load, duration: Span) -> Result<bool, Problem> {
    let folder = tempfile::tempdir_in(".").map_err(Problem::io("a folder for the store"))?;
    let measured = measure(folder.path(), load, duration)?;
    let Measured { figures, appends, changes, .. } = &measured;
    let (median, lowest, highest) = spread(measured.row_rates.clone());
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    println!(
        "{} runs, batches of {} rows of {} bytes, for {} s; {} {}, {cores} cores",
        load.runs,
        load.rows,
        load.bytes,
        duration.as_secs(),
        std::env::consts::OS,
        std::env::consts::ARCH,
    );
    println!("rows: each second {median:.0} (median), {lowest:.0} to {highest:.0}");
    println!(
        "transactions: {}, of {:.1} rows on average and {} at most; {} synced, for {} changes to be stable",
        figures.transactions,
        figures.rows as f64 / figures.transactions.max(1) as f64,
        figures.rows_max,
        figures.synced,
        changes.count(),
    );
    for (name, durations) in [("append answered", appends), ("change answered", changes)] {
        println!(
            "{name}: p50 {:.2} ms, p99 {:.2} ms of {}",
            durations.percentile_ms(50),
            durations.percentile_ms(99),
            durations.count()
        );
    }
    Ok(keeps_bounds(&measured))
}

/// No transaction is too large, and none is synced but for what is to be stable in it.
fn keeps_bounds(measured: &Measured) -> bool {
    let stable = measured.changes.count() as u64;
    measured.figures.rows_max <= BATCH_ROWS_MAX as u64
        && measured.figures.synced <= stable
        && (stable == 0) == (measured.figures.synced == 0)
}

fn measure(folder: &Path, load: &Load, duration: Span) -> Result<Measured, Problem> {
    let state = StateDir::open(folder).map_err(|error| Problem::io("the store")(to_io(error)))?;
    let store = store::open(&state).map_err(|error| Problem::io("the store")(to_io(error)))?;
    let measured = smol::block_on(work(&store, load, duration));
    store.close()?;
    measured
}

async fn work(store: &SqliteStore, load: &Load, duration: Span) -> Result<Measured, Problem> {
    for run in 0..=load.runs {
        begin(store, run).await?;
    }
    let executor = smol::LocalExecutor::new();
    let before = store.figures();
    let began = Clock::now();
    let appending: Vec<_> = (0..load.runs)
        .map(|run| executor.spawn(append(store, load, run, began, duration)))
        .collect();
    let changing = executor.spawn(change(store, SessionId::new(load.runs), began, duration));
    let rates = executor.spawn(count(store, began, duration));
    executor
        .run(async {
            let mut appends = Vec::new();
            for task in appending {
                appends.extend(task.await?);
            }
            let changes = Durations::of(changing.await?);
            let (row_rates, after) = (rates.await, store.figures());
            let figures = StoreFigures {
                transactions: after.transactions - before.transactions,
                synced: after.synced - before.synced,
                rows: after.rows - before.rows,
                rows_max: after.rows_max,
            };
            Ok(Measured { figures, row_rates, appends: Durations::of(appends), changes })
        })
        .await
}

/// A session with a run that is under way.
async fn begin(store: &SqliteStore, number: u64) -> Result<(), Problem> {
    let session_id = SessionId::new(number);
    let new = NewSession {
        session_id,
        owner: PrincipalId::new(1),
        title: String::new(),
        agent: "bench".to_owned(),
        model: None,
        at: Instant::from_millis(1),
        key: None,
    };
    store.commit(Commit::CreateSession(new)).await?;
    let admission = Admission {
        session_id,
        expected: Revision::new(1),
        run_id: RunId::new(number),
        turn_id: MessageId::new(number),
        text: "go".into(),
        is_head: false,
        at: Instant::from_millis(2),
        agent: "bench".to_owned(),
        model: None,
        key: None,
        reduction: None,
    };
    store.commit(Commit::Admit(admission)).await?;
    Ok(())
}

/// Appends one batch after the other; how long each took.
async fn append(
    store: &SqliteStore,
    load: &Load,
    run: u64,
    began: Clock,
    duration: Span,
) -> Result<Vec<Span>, Problem> {
    let event = RowEvent::Content { item_id: ItemId::new(1), item_kind: ItemKind::Text };
    let body = "x".repeat(load.bytes).into();
    let row = NewRow { event, created_at: Instant::from_millis(3), body };
    let (run_id, session_id) = (RunId::new(run), SessionId::new(run));
    let mut took = Vec::new();
    while began.elapsed() < duration {
        let asked = Clock::now();
        let rows = vec![row.clone(); load.rows];
        store.append(Append { run_id, session_id, rows }).await?;
        took.push(asked.elapsed());
    }
    Ok(took)
}

/// Changes a session again and again; how long each change took.
async fn change(
    store: &SqliteStore,
    session_id: SessionId,
    began: Clock,
    duration: Span,
) -> Result<Vec<Span>, Problem> {
    let mut took = Vec::new();
    for revision in 2.. {
        if began.elapsed() >= duration {
            break;
        }
        let fields =
            FieldsChange { title: Some(format!("title {revision}")), archived: None, choice: None };
        let change = SessionChange {
            session_id,
            expected: Revision::new(revision),
            at: Instant::from_millis(4),
            key: None,
            what: Change::Fields(fields),
        };
        let asked = Clock::now();
        store.commit(Commit::Change(change)).await?;
        took.push(asked.elapsed());
        Timer::after(CHANGE_EVERY).await;
    }
    Ok(took)
}

/// Rows that were committed in each second.
async fn count(store: &SqliteStore, began: Clock, duration: Span) -> Vec<f64> {
    let mut rates = Vec::new();
    let (mut rows, mut counted_at) = (store.figures().rows, Clock::now());
    while began.elapsed() < duration {
        Timer::after(Span::from_secs(1).min(duration)).await;
        let now = store.figures().rows;
        rates.push((now - rows) as f64 / counted_at.elapsed().as_secs_f64());
        (rows, counted_at) = (now, Clock::now());
    }
    rates
}

fn to_io(error: impl std::error::Error + Send + Sync + 'static) -> std::io::Error {
    std::io::Error::other(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// JRN-20 [bench]: under load a transaction holds at most 64 rows, many batches share one, and one is synced exactly for
    /// what is to be stable in it.
    #[test]
    fn transactions_keep_their_bounds_under_load() {
        let folder = tempfile::tempdir().unwrap();
        let load = Load { runs: 100, rows: 3, bytes: 200 };
        let measured = measure(folder.path(), &load, Span::from_millis(400)).unwrap();
        assert!(keeps_bounds(&measured), "{:?}", measured.figures);
        let StoreFigures { transactions, rows, synced, rows_max } = measured.figures;
        assert!(rows > 3 * transactions, "{rows} rows in {transactions} transactions");
        assert!(rows_max > 32 && synced > 0, "{rows_max} rows, {synced} synced");
        let stable = measured.changes.count() as u64;
        assert_eq!(synced, stable, "changes are asked for one after the other");
        assert_eq!(rows, 3 * measured.appends.count() as u64 + stable);
    }
}
