//! The store's threads: one writes with group commit, one reads.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use async_channel::{Receiver, Sender};
use runwarden_protocol::instant::Instant;
use runwarden_protocol::journal::lease::Epoch;
use runwarden_runtime::ports::StoreFailure;
use runwarden_runtime::ports::store::BATCH_ROWS_MAX;
use rusqlite::Connection;

use super::errors::ErrorStore;
use super::fault::Fault;
use super::figures::Counters;
use super::meta;

/// Work for the writing thread.
pub(super) enum Work {
    /// A change of the session store, committed together with its neighbours.
    Write(Write),
    /// Work on the error store.
    Errors(Box<dyn FnOnce(&mut ErrorStore) + Send>),
    /// Mark the store as closed cleanly and end the thread.
    Close(Sender<Result<(), StoreFailure>>),
}

/// Work for the reading thread.
pub(super) type Read = Box<dyn FnOnce(&Connection) + Send>;

/// The open transaction, or `None` when a failure has ended it.
type Transaction<'a> = Option<&'a Connection>;

/// Tells the caller, once the transaction was committed or not.
type Answer = Box<dyn FnOnce(Result<(), StoreFailure>) + Send>;

/// One change of the session store. It is answered only after the transaction that holds it.
pub(super) struct Write {
    rows: usize,
    stable: bool,
    /// Whether it may leave something for the error store to take over.
    leaves_errors: bool,
    at: Option<Instant>,
    carry_out: Box<dyn FnOnce(Transaction<'_>) -> Answer + Send>,
}

impl Write {
    /// A change that writes about `rows` rows of time `at`, and where its answer arrives.
    pub(super) fn new<T: Send + 'static>(
        rows: usize,
        stable: bool,
        at: Option<Instant>,
        change: impl FnOnce(&Connection) -> Result<T, Fault> + Send + 'static,
    ) -> (Self, Receiver<Result<T, StoreFailure>>) {
        let (sender, receiver) = async_channel::bounded(1);
        let carry_out = Box::new(move |transaction: Transaction<'_>| -> Answer {
            let done = transaction
                .map(|connection| in_savepoint(connection, change).map_err(StoreFailure::from));
            Box::new(move |committed| {
                let answer = match (done, committed) {
                    (Some(done), committed) => done.and_then(|value| committed.map(|()| value)),
                    (None, Err(failure)) => Err(failure),
                    (None, Ok(())) => {
                        Err(StoreFailure::Unavailable("the transaction is gone".to_owned()))
                    }
                };
                // Nobody waits any more when this fails; the change stands all the same.
                let _ = sender.try_send(answer);
            })
        });
        (Self { rows, stable, leaves_errors: false, at, carry_out }, receiver)
    }
}

impl Write {
    /// The same, which may leave something for the error store to take over.
    pub(super) fn leaving_errors(mut self, leaves_errors: bool) -> Self {
        self.leaves_errors = leaves_errors;
        self
    }
}

/// What the writing thread holds.
pub(super) struct Writer {
    connection: Connection,
    errors: ErrorStore,
    epoch: Epoch,
    greatest_time: Arc<AtomicU64>,
    counters: Arc<Counters>,
    is_full_sync: bool,
    is_outbox_checked: bool,
}

impl Writer {
    /// A writer on open files, under the epoch it opened them with; `greatest_time` and `counters` are shared
    /// with the store's handles. The connection is set to full synchronisation.
    pub(super) fn new(
        connection: Connection,
        errors: ErrorStore,
        epoch: Epoch,
        greatest_time: Arc<AtomicU64>,
        counters: Arc<Counters>,
    ) -> Self {
        let (is_full_sync, is_outbox_checked) = (true, false);
        Self { connection, errors, epoch, greatest_time, counters, is_full_sync, is_outbox_checked }
    }

    /// Does the work that arrives until the store is closed or its last handle is gone.
    pub(super) fn run(mut self, work: &Receiver<Work>) {
        self.take_over_errors();
        let mut carried = None;
        while let Some(next) = carried.take().or_else(|| work.recv_blocking().ok()) {
            match next {
                Work::Write(first) => {
                    let batch;
                    (batch, carried) = gather(first, work);
                    self.commit(batch);
                }
                Work::Errors(job) => {
                    self.take_over_errors();
                    job(&mut self.errors);
                }
                Work::Close(answer) => {
                    let _ = answer.try_send(self.close());
                    return;
                }
            }
        }
    }

    /// Commits a batch as one transaction (JRN-20) and answers it.
    fn commit(&mut self, batch: Vec<Write>) {
        let stable = batch.iter().any(|write| write.stable);
        let leaves_errors = batch.iter().any(|write| write.leaves_errors);
        let newest = batch.iter().filter_map(|write| write.at).max();
        let rows: usize = batch.iter().map(|write| write.rows).sum();
        let mut answers = Vec::with_capacity(batch.len());
        let committed = self.transact(batch, stable, newest, &mut answers);
        if !self.connection.is_autocommit() {
            // A failed rollback leaves nothing to do: the next BEGIN fails and says so.
            let _ = self.connection.execute_batch("ROLLBACK");
        }
        let committed = committed.map_err(|error| {
            tracing::error!(%error, "a batch was not committed");
            StoreFailure::from(error)
        });
        if committed.is_ok() {
            self.counters.committed(rows as u64, stable);
        }
        for answer in answers {
            answer(committed.clone());
        }
        if leaves_errors {
            self.is_outbox_checked = false;
        }
        self.take_over_errors();
    }

    fn transact(
        &mut self,
        batch: Vec<Write>,
        stable: bool,
        newest: Option<Instant>,
        answers: &mut Vec<Answer>,
    ) -> Result<(), Fault> {
        let begun = self.begin(stable);
        for write in batch {
            // After a failure that ended the transaction nothing more may be written outside of one.
            let transaction = (!self.connection.is_autocommit()).then_some(&self.connection);
            answers.push((write.carry_out)(transaction));
        }
        begun?;
        let greatest = self.greatest_time.load(Ordering::Acquire);
        let newest = newest.map_or(0, Instant::as_micros);
        if newest > greatest && !self.connection.is_autocommit() {
            meta::set_greatest_time(&self.connection, Instant::from_micros(newest))?;
        }
        self.connection.prepare_cached("COMMIT")?.execute([])?;
        self.greatest_time.fetch_max(newest, Ordering::AcqRel);
        Ok(())
    }

    /// Begins a transaction, unless another process has taken the store over (JRN-14).
    fn begin(&mut self, stable: bool) -> Result<(), Fault> {
        if self.is_full_sync != stable {
            let level = if stable { "FULL" } else { "NORMAL" };
            self.connection.pragma_update(None, "synchronous", level)?;
            self.is_full_sync = stable;
        }
        self.connection.prepare_cached("BEGIN IMMEDIATE")?.execute([])?;
        let admitted = meta::admit(&self.connection, self.epoch);
        if admitted.is_err() {
            self.connection.prepare_cached("ROLLBACK")?.execute([])?;
        }
        admitted
    }

    /// Moves errors of settlements into the error store; what fails is tried again later (ERR-26).
    fn take_over_errors(&mut self) {
        if !self.is_outbox_checked {
            match self.errors.take_over(&self.connection) {
                Ok(()) => self.is_outbox_checked = true,
                Err(error) => tracing::error!(%error, "errors of settlements wait"),
            }
        }
    }

    fn close(&mut self) -> Result<(), StoreFailure> {
        self.begin(true)?;
        meta::mark_closed(&self.connection).map_err(Fault::from)?;
        self.connection.execute_batch("COMMIT").map_err(Fault::from)?;
        Ok(())
    }
}

/// Answers reads until the last handle of the store is gone.
pub(super) fn read_all(connection: &Connection, reads: &Receiver<Read>) {
    while let Ok(read) = reads.recv_blocking() {
        read(connection);
    }
}

/// Takes what waits behind `first`, up to [`BATCH_ROWS_MAX`] rows. It never waits for more: while a batch
/// is being synced the next one gathers by itself. Work that does not join is carried to the next turn.
fn gather(first: Write, work: &Receiver<Work>) -> (Vec<Write>, Option<Work>) {
    let mut rows = first.rows;
    let mut batch = vec![first];
    while rows < BATCH_ROWS_MAX {
        match work.try_recv() {
            Ok(Work::Write(write)) if rows + write.rows <= BATCH_ROWS_MAX => {
                rows += write.rows;
                batch.push(write);
            }
            Ok(other) => return (batch, Some(other)),
            Err(_) => break,
        }
    }
    (batch, None)
}

/// Runs a change so that its failure takes back its own writes and no others.
fn in_savepoint<T>(
    connection: &Connection,
    change: impl FnOnce(&Connection) -> Result<T, Fault>,
) -> Result<T, Fault> {
    connection.prepare_cached("SAVEPOINT change")?.execute([])?;
    let done = change(connection);
    if done.is_err() && !connection.is_autocommit() {
        connection.prepare_cached("ROLLBACK TO change")?.execute([])?;
    }
    if !connection.is_autocommit() {
        connection.prepare_cached("RELEASE change")?.execute([])?;
    }
    done
}
