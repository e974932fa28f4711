//! The durable store on SQLite: sessions and journals in one file, user errors in another.
//!
//! One thread writes, with group commit; another reads from the write-ahead log, so that a long read
//! delays no commit and still sees everything that was answered before it.

mod changes;
mod column;
mod commits;
mod conversations;
mod deletion;
mod errors;
mod fault;
mod figures;
pub mod inspect;
mod journal;
mod keys;
mod logins;
mod messages;
mod meta;
mod open;
mod queue;
mod retention;
mod rewrite;
mod room;
mod schema;
mod sessions;
#[cfg(test)]
mod tests;
mod thread;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use async_channel::{Receiver, Sender};
use runwarden_protocol::ids::{MessageId, PrincipalId, RunId, Seq, SessionId, StoreId, TurnId};
use runwarden_protocol::instant::{Duration, Instant};
use runwarden_protocol::session::record::SessionHead;
use runwarden_protocol::session::rewrite::Target;
use runwarden_runtime::ports::StoreFailure;
use runwarden_runtime::ports::agent::ContextMessage;
use runwarden_runtime::ports::store::{
    Append, ChainTail, Commit, Committed, JournalPage, KeyRecord, KeyScope, ListErrors,
    ListSessions, Login, Persisted, ReadRows, RowPage, RunFacts, Store, StoredError, StoredQueue,
    UnsettledRun,
};
use rusqlite::Connection;

pub use self::figures::StoreFigures;
pub use self::open::OpenError;

use self::errors::ErrorStore;
use self::fault::Fault;
use self::figures::Counters;
use self::thread::{Read, Work, Write, Writer};
use crate::state_dir::StateDir;

/// Calls that may wait for the writing thread; a further caller waits for room.
const WORK_MAX: usize = 1_024;

/// Reads that may wait for the reading thread.
const READS_MAX: usize = 1_024;

/// The store of one state directory. Clones share it; it ends with [`SqliteStore::close`] or with its
/// last clone, which is as if the process had been killed.
#[derive(Clone, Debug)]
pub struct SqliteStore {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    path: PathBuf,
    store_id: StoreId,
    greatest_time: Arc<AtomicU64>,
    counters: Arc<Counters>,
    work: Sender<Work>,
    reads: Sender<Read>,
    /// The writer, and behind it the reader.
    threads: Mutex<Vec<JoinHandle<()>>>,
}

/// Opens the store of a state directory, and makes it where there is none.
///
/// # Errors
/// [`OpenError`] says what to do.
pub fn open(state_dir: &StateDir) -> Result<SqliteStore, OpenError> {
    open_in_boot(state_dir, meta::boot_id().as_deref())
}

/// [`open`] as if the system's boot had this identity.
fn open_in_boot(state_dir: &StateDir, boot_id: Option<&str>) -> Result<SqliteStore, OpenError> {
    let path = state_dir.sessions_db();
    let failed = |detail: String| OpenError::Failed { path: path.clone(), detail };
    let writer = open::open_writer(&path, open::SESSIONS_FILE)?;
    let errors = ErrorStore::open(state_dir.errors_db())?;
    let fresh = getrandom::u64().map_err(|error| failed(error.to_string()))?;
    let identity = meta::mark_open(&writer, boot_id, StoreId::new(fresh))
        .map_err(|error| OpenError::new(&path, &error))?;
    let reader = open::open_reader(&path)?;
    let greatest = errors.greatest_time().unwrap_or_default().max(identity.greatest_time);
    let greatest_time = Arc::new(AtomicU64::new(greatest.as_micros()));
    let counters = Arc::<Counters>::default();
    let (work, work_queue) = async_channel::bounded(WORK_MAX);
    let (reads, read_queue) = async_channel::bounded(READS_MAX);
    let writer = Writer::new(
        writer,
        errors,
        identity.epoch,
        Arc::clone(&greatest_time),
        Arc::clone(&counters),
    );
    let threads = vec![
        spawn("store", &path, move || writer.run(&work_queue))?,
        spawn("store-read", &path, move || thread::read_all(&reader, &read_queue))?,
    ];
    let threads = Mutex::new(threads);
    let store_id = identity.store_id;
    let shared = Shared { path, store_id, greatest_time, counters, work, reads, threads };
    Ok(SqliteStore { shared: Arc::new(shared) })
}

impl SqliteStore {
    /// The greatest time any answered change or stored error carries; the guarded clock starts no earlier.
    pub fn greatest_time(&self) -> Instant {
        Instant::from_micros(self.shared.greatest_time.load(Ordering::Acquire))
    }

    /// What was committed since the store was opened.
    pub fn figures(&self) -> StoreFigures {
        self.shared.counters.read()
    }

    /// Finishes the work that waits, marks the store as closed cleanly, and ends its threads. Blocks until
    /// they have ended; calls on other clones fail from then on.
    ///
    /// # Errors
    /// [`StoreFailure`] when the mark could not be written; the next opening then treats the end of the
    /// process like a kill.
    pub fn close(self) -> Result<(), StoreFailure> {
        let mut threads = self.shared.threads.lock().unwrap_or_else(PoisonError::into_inner);
        // The reader goes first: the last connection moves the log into the file, and a reader cannot.
        self.shared.reads.close();
        threads.pop().into_iter().for_each(join);
        let (answer, closed) = async_channel::bounded(1);
        let asked = self.shared.work.send_blocking(Work::Close(answer));
        let marked = match asked {
            Ok(()) => closed.recv_blocking().unwrap_or_else(|_| Err(gone())),
            Err(_) => Err(gone()),
        };
        self.shared.work.close();
        threads.drain(..).for_each(join);
        marked
    }

    /// Takes one step of pruning the journals whose runs ended before `due` (JRN-18): it looks at one journal, or
    /// removes at most 256 rows of one. `false` when nothing is left to do.
    ///
    /// # Errors
    /// [`StoreFailure`] when the store cannot be read or written.
    pub async fn prune(&self, now: Instant, retention: Duration) -> Result<bool, StoreFailure> {
        let removed = self.write(1, false, None, retention::remove_some).await?;
        if removed {
            return Ok(true);
        }
        let found =
            self.read(move |connection| retention::judge(connection, now, retention)).await?;
        let Some((run_id, verdict)) = found else { return Ok(false) };
        if let retention::Verdict::Keep { reason } = &verdict {
            tracing::warn!(%run_id, reason, "the journal is kept: its settlement does not hold it");
        }
        self.write(1, false, None, move |connection| retention::note(connection, run_id, &verdict))
            .await?;
        Ok(true)
    }

    async fn write<T: Send + 'static>(
        &self,
        rows: usize,
        stable: bool,
        at: Option<Instant>,
        change: impl FnOnce(&Connection) -> Result<T, Fault> + Send + 'static,
    ) -> Result<T, StoreFailure> {
        let (write, answer) = Write::new(rows, stable, at, change);
        self.send(write, &answer).await
    }

    async fn send<T>(
        &self,
        write: Write,
        answer: &Receiver<Result<T, StoreFailure>>,
    ) -> Result<T, StoreFailure> {
        self.shared.work.send(Work::Write(write)).await.map_err(|_| gone())?;
        answer.recv().await.map_err(|_| gone())?
    }

    async fn read<T: Send + 'static>(
        &self,
        read: impl FnOnce(&Connection) -> Result<T, Fault> + Send + 'static,
    ) -> Result<T, StoreFailure> {
        let (sender, answer) = async_channel::bounded(1);
        let job: Read = Box::new(move |connection| {
            // Nobody waits for the answer any more when this fails.
            let _ = sender.try_send(in_snapshot(connection, read).map_err(StoreFailure::from));
        });
        self.shared.reads.send(job).await.map_err(|_| gone())?;
        answer.recv().await.map_err(|_| gone())?
    }

    async fn with_errors<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut ErrorStore) -> Result<T, StoreFailure> + Send + 'static,
    ) -> Result<T, StoreFailure> {
        let (sender, answer) = async_channel::bounded(1);
        let job = Box::new(move |errors: &mut ErrorStore| {
            // Nobody waits for the answer any more when this fails.
            let _ = sender.try_send(work(errors));
        });
        self.shared.work.send(Work::Errors(job)).await.map_err(|_| gone())?;
        answer.recv().await.map_err(|_| gone())?
    }
}

impl Store for SqliteStore {
    fn store_id(&self) -> StoreId {
        self.shared.store_id
    }

    async fn probe(&self) -> Result<(), StoreFailure> {
        let at = self.greatest_time();
        self.write(1, false, None, move |connection| Ok(meta::set_greatest_time(connection, at)?))
            .await
    }

    async fn free_bytes(&self) -> Result<u64, StoreFailure> {
        let path = self.shared.path.clone();
        self.read(move |_| Ok(room::free_bytes(&path)?)).await
    }

    async fn append(&self, append: Append) -> Result<Persisted, StoreFailure> {
        let newest = append.rows.iter().map(|row| row.created_at).max();
        let rows = append.rows.len();
        self.write(rows, false, newest, move |connection| journal::append(connection, &append))
            .await
    }

    async fn commit(&self, commit: Commit) -> Result<Committed, StoreFailure> {
        let at = Some(commits::time_of(&commit));
        let (stable, leaves_errors) =
            (commits::is_stable(&commit), commits::leaves_errors(&commit));
        let change = move |connection: &Connection| commits::carry_out(connection, &commit);
        let (write, answer) = Write::new(1, stable, at, change);
        self.send(write.leaving_errors(leaves_errors), &answer).await
    }

    async fn session(&self, session_id: SessionId) -> Result<Option<SessionHead>, StoreFailure> {
        self.read(move |connection| Ok(sessions::head(connection, session_id)?)).await
    }

    async fn sessions(&self, list: ListSessions) -> Result<Vec<SessionHead>, StoreFailure> {
        self.read(move |connection| Ok(sessions::list(connection, &list)?)).await
    }

    async fn chain_tail(
        &self,
        session_id: SessionId,
        ids_max: usize,
    ) -> Result<ChainTail, StoreFailure> {
        self.read(move |connection| sessions::chain_tail(connection, session_id, ids_max)).await
    }

    async fn rows(&self, read: ReadRows) -> Result<RowPage, StoreFailure> {
        self.read(move |connection| messages::page(connection, &read)).await
    }

    async fn context(&self, session_id: SessionId) -> Result<Vec<ContextMessage>, StoreFailure> {
        self.read(move |connection| messages::context(connection, session_id)).await
    }

    async fn conversation(
        &self,
        session_id: SessionId,
        agent: String,
    ) -> Result<Option<String>, StoreFailure> {
        self.read(move |connection| Ok(conversations::find(connection, session_id, &agent)?)).await
    }

    async fn rewrite_target(
        &self,
        session_id: SessionId,
        named: Option<MessageId>,
    ) -> Result<Target, StoreFailure> {
        self.read(move |connection| rewrite::target(connection, session_id, named)).await
    }

    async fn journal(&self, run_id: RunId, after: Seq) -> Result<JournalPage, StoreFailure> {
        self.read(move |connection| journal::page(connection, run_id, after)).await
    }

    async fn run(&self, run_id: RunId) -> Result<Option<RunFacts>, StoreFailure> {
        self.read(move |connection| {
            let mut facts = journal::facts(connection, run_id)?;
            if let Some(facts) = &mut facts {
                facts.error = commits::error_of(connection, run_id)?;
            }
            Ok(facts)
        })
        .await
    }

    async fn queue(&self, session_id: SessionId) -> Result<StoredQueue, StoreFailure> {
        self.read(move |connection| queue::list(connection, session_id)).await
    }

    async fn queued_text(
        &self,
        session_id: SessionId,
        turn_id: TurnId,
    ) -> Result<Option<Arc<str>>, StoreFailure> {
        self.read(move |connection| Ok(queue::text_of(connection, session_id, turn_id)?)).await
    }

    async fn waiting(&self) -> Result<Vec<SessionHead>, StoreFailure> {
        self.read(|connection| Ok(sessions::waiting(connection)?)).await
    }

    async fn key(
        &self,
        scope: KeyScope,
        key: String,
        now: Instant,
    ) -> Result<Option<KeyRecord>, StoreFailure> {
        self.read(move |connection| Ok(keys::find(connection, scope, &key, now)?)).await
    }

    async fn unsettled(&self) -> Result<Vec<UnsettledRun>, StoreFailure> {
        self.read(|connection| unsettled(connection, None)).await
    }

    async fn unsettled_of(&self, session_id: SessionId) -> Result<Vec<UnsettledRun>, StoreFailure> {
        self.read(move |connection| unsettled(connection, Some(session_id))).await
    }

    async fn record_error(
        &self,
        principal: PrincipalId,
        error: StoredError,
    ) -> Result<(), StoreFailure> {
        self.with_errors(move |errors| errors.record(principal, &error)).await
    }

    async fn errors(&self, list: ListErrors) -> Result<Vec<StoredError>, StoreFailure> {
        self.with_errors(move |errors| errors.list(&list)).await
    }

    async fn count_errors(
        &self,
        principal: PrincipalId,
        session_id: Option<SessionId>,
    ) -> Result<u64, StoreFailure> {
        self.with_errors(move |errors| errors.count(principal, session_id)).await
    }

    async fn errors_closed_by_deletion(
        &self,
        principal: PrincipalId,
        session_id: SessionId,
        at: Instant,
    ) -> Result<Vec<StoredError>, StoreFailure> {
        self.with_errors(move |errors| errors.closed_by_deletion(principal, session_id, at)).await
    }

    async fn acknowledge_error(
        &self,
        principal: PrincipalId,
        error_id: String,
        now: Instant,
    ) -> Result<Option<StoredError>, StoreFailure> {
        self.with_errors(move |errors| errors.acknowledge(principal, &error_id, now)).await
    }

    async fn put_login(&self, login: Login) -> Result<(), StoreFailure> {
        self.write(1, true, None, move |connection| Ok(logins::put(connection, &login)?)).await
    }

    async fn login(
        &self,
        token_hash: [u8; 32],
        now: Instant,
    ) -> Result<Option<Login>, StoreFailure> {
        self.read(move |connection| Ok(logins::find(connection, token_hash, now)?)).await
    }

    async fn revoke_login(&self, token_hash: [u8; 32]) -> Result<(), StoreFailure> {
        self.write(1, true, None, move |connection| Ok(logins::revoke(connection, token_hash)?))
            .await
    }
}

/// Runs a read against one state of the database.
fn unsettled(
    connection: &Connection,
    session_id: Option<SessionId>,
) -> Result<Vec<UnsettledRun>, Fault> {
    let mut runs = Vec::new();
    for (run_id, session_id, turn_id, last_seq) in journal::unsettled(connection, session_id)? {
        let head = sessions::head(connection, session_id)?;
        runs.push(UnsettledRun {
            head: head.ok_or(StoreFailure::Missing("session"))?,
            run_id,
            turn_id,
            last_seq,
            settled: None,
            terminal: journal::terminal(connection, run_id)?.map(|(_, outcome)| outcome),
            steers: journal::unsettled_steers(connection, run_id)?,
        });
    }
    Ok(runs)
}

fn in_snapshot<T>(
    connection: &Connection,
    read: impl FnOnce(&Connection) -> Result<T, Fault>,
) -> Result<T, Fault> {
    connection.prepare_cached("BEGIN")?.execute([])?;
    let done = read(connection);
    if !connection.is_autocommit() {
        connection.prepare_cached("ROLLBACK")?.execute([])?;
    }
    done
}

fn spawn(
    name: &str,
    path: &Path,
    work: impl FnOnce() + Send + 'static,
) -> Result<JoinHandle<()>, OpenError> {
    std::thread::Builder::new()
        .name(name.to_owned())
        .spawn(work)
        .map_err(|error| OpenError::Failed { path: path.to_owned(), detail: error.to_string() })
}

fn join(thread: JoinHandle<()>) {
    if thread.join().is_err() {
        tracing::error!("a thread of the store panicked");
    }
}

fn gone() -> StoreFailure {
    StoreFailure::Unavailable("the store is closed".to_owned())
}
