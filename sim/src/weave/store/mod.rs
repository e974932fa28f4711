//! A store in memory that takes its time, fails, and loses what was not stable when power is lost.

mod answers;
mod commits;
mod data;
mod deletion;
mod queue;
mod rewrite;
mod wrong;

use std::sync::{Arc, Mutex};

use futures_lite::future::yield_now;
use runwarden_protocol::ids::StoreId;
use runwarden_protocol::instant::{Duration, Instant};
use runwarden_protocol::journal::identity::LastOpening;
use runwarden_protocol::journal::lease::{Epoch, WriterLease};
use runwarden_runtime::ports::StoreFailure;

use super::choices::{Actor, Choices};
use super::executor::lock;
use super::world::SimWorld;
use super::wrong::Wrong;
use crate::random::Random;
pub use data::{Data, StoredMessage, StoredRun, StoredSession, TurnStep};

/// The longest a call takes before it is carried out, and again before it is answered, in milliseconds. Whole
/// ones, so that many things happen at the same time, in an order that is drawn.
const DELAY_MS_MAX: u32 = 3;

/// Who decides what becomes of a call.
const STORE: Actor = Actor::only("store");

/// A fault: rows of a run are not appended.
pub const APPEND_FAILED: &str = "append_failed";

/// A fault: a commit is not carried out.
pub const COMMIT_FAILED: &str = "commit_failed";

/// What a simulation keeps on its disk. Cheap to clone; outlives the processes that write it.
#[derive(Clone)]
pub struct Disk {
    shared: Arc<Mutex<Shared>>,
}

struct Shared {
    /// What a process finds after it was killed.
    durable: Data,
    /// What it finds after power was lost.
    stable: Data,
    free_bytes: u64,
    /// None in a disk that was restored and not opened since.
    name: Option<StoreId>,
    /// The name it goes on under when it needs another one.
    fresh_name: StoreId,
    was_closed: bool,
    /// Counts losses of power, and as it was at the last opening.
    boots: (u64, u64),
    lease: WriterLease,
    faults: Faults,
    random: Random,
    /// What was durable after each write, since somebody wants to know.
    history: Option<Vec<Data>>,
    choices: Choices,
    wrong: Option<Wrong>,
}

/// What goes wrong.
#[derive(Clone, Copy, Debug, Default)]
pub struct Faults {
    /// Of a thousand commits, those that fail.
    pub commit_permille: u32,
    /// Of a thousand appends, those that fail.
    pub append_permille: u32,
    /// No append succeeds before this time.
    pub no_append_before: Option<Instant>,
    /// So many settlements fail from now on.
    pub settlements_fail: u32,
    /// So many deletions fail from now on.
    pub deletions_fail: u32,
    /// So many admissions of turns fail from now on.
    pub admissions_fail: u32,
    /// So many reads of what is unsettled fail from now on.
    pub looks_fail: u32,
    /// So many reads of a model context fail from now on.
    pub contexts_fail: u32,
}

/// The store as one process has it open.
#[derive(Clone)]
pub struct ModelStore {
    disk: Disk,
    world: SimWorld,
    name: StoreId,
    epoch: Epoch,
}

impl Disk {
    /// An empty disk.
    pub fn new(mut random: Random, choices: Choices, wrong: Option<Wrong>) -> Self {
        let shared = Shared {
            durable: Data::default(),
            stable: Data::default(),
            free_bytes: u64::MAX,
            name: Some(StoreId::new(random.next())),
            fresh_name: StoreId::new(0),
            was_closed: true,
            boots: (0, 0),
            lease: WriterLease::exclusive(Epoch::default()),
            faults: Faults::default(),
            random,
            history: None,
            choices,
            wrong,
        };
        Self { shared: Arc::new(Mutex::new(shared)) }
    }

    /// What goes wrong from now on.
    pub fn set_faults(&self, faults: Faults) {
        lock(&self.shared).faults = faults;
    }

    /// So much space is free from now on.
    pub fn set_free_bytes(&self, free_bytes: u64) {
        lock(&self.shared).free_bytes = free_bytes;
    }

    /// Power is lost: what was not stable is gone.
    pub fn lose_power(&self) {
        let mut shared = lock(&self.shared);
        shared.durable = shared.stable.clone();
        shared.boots.0 += 1;
        shared.fresh_name = StoreId::new(shared.random.next());
    }

    /// The process that has it open closes it cleanly.
    pub fn close(&self) {
        let mut shared = lock(&self.shared);
        shared.stable = shared.durable.clone();
        shared.was_closed = true;
    }

    /// An older state is put back in place of the present one (JRN-22).
    pub fn restore(&self, backup: Data) {
        let mut shared = lock(&self.shared);
        shared.stable = backup.clone();
        shared.durable = backup;
        shared.name = None;
        shared.fresh_name = StoreId::new(shared.random.next());
    }

    /// From now on several processes share it, one of them writing at a time (JRN-14).
    pub fn share(&self) {
        lock(&self.shared).lease = WriterLease::shared();
    }

    /// From now on, what is durable after each write is kept.
    pub fn keep_history(&self) {
        let mut shared = lock(&self.shared);
        shared.history = Some(vec![shared.durable.clone()]);
    }

    /// What was durable after each write since [`Disk::keep_history`], the state of then first.
    pub fn history(&self) -> Vec<Data> {
        lock(&self.shared).history.clone().unwrap_or_default()
    }

    /// Changes what is stored behind the back of every process, as another one or a mishap would.
    pub fn alter(&self, change: impl FnOnce(&mut Data)) {
        let mut shared = lock(&self.shared);
        change(&mut shared.durable);
        shared.stable = shared.durable.clone();
    }

    /// What is stored.
    pub fn data(&self) -> Data {
        lock(&self.shared).durable.clone()
    }
}

impl ModelStore {
    /// Opens the disk for a process, which takes it over from whoever wrote it before.
    pub fn open(disk: &Disk, world: SimWorld) -> Self {
        disk.spoil_start();
        let mut shared = lock(&disk.shared);
        let last = LastOpening {
            store_id: shared.name,
            was_closed: shared.was_closed,
            is_same_boot: shared.boots.0 == shared.boots.1,
        };
        let name = last.store_id(shared.fresh_name);
        shared.name = Some(name);
        shared.was_closed = false;
        shared.boots.1 = shared.boots.0;
        let epoch = shared.lease.take_over();
        Self { disk: disk.clone(), world, name, epoch }
    }

    /// Joins a disk that is shared; the process may read it, and write it once it has the lease.
    pub fn join(disk: &Disk, world: SimWorld) -> Self {
        let name = lock(&disk.shared).name.expect("a shared disk was opened once");
        Self { disk: disk.clone(), world, name, epoch: Epoch::default() }
    }

    /// Takes the lease of a shared disk. `false` while another process holds it.
    pub async fn take_lease(&mut self) -> bool {
        self.pass("lease").await;
        let taken = lock(&self.disk.shared).lease.take(self.now());
        self.epoch = taken.unwrap_or(self.epoch);
        taken.is_some()
    }

    /// Renews the lease of a shared disk. `false` when it was lost.
    pub async fn renew_lease(&self) -> bool {
        self.pass("lease").await;
        lock(&self.disk.shared).lease.renew(self.now(), self.epoch).is_ok()
    }

    /// The epoch under which it writes.
    pub const fn epoch(&self) -> Epoch {
        self.epoch
    }

    fn now(&self) -> Instant {
        runwarden_runtime::ports::World::now(&self.world)
    }

    /// Reads after a while.
    async fn read<T>(&self, read: impl FnOnce(&Data) -> T) -> T {
        self.pass("call").await;
        let value = read(&lock(&self.disk.shared).durable);
        self.pass("answer").await;
        value
    }

    /// Writes after a while, all or nothing; what is stable outlives a loss of power, with all before it.
    async fn write<T>(
        &self,
        is_stable: bool,
        fails: impl FnOnce(&mut Shared, Instant) -> bool,
        write: impl FnOnce(&mut Data) -> Result<T, StoreFailure>,
    ) -> Result<T, StoreFailure> {
        self.pass("call").await;
        let written = {
            let now = self.now();
            let mut shared = lock(&self.disk.shared);
            if let Err(lost) = shared.lease.admit(now, self.epoch) {
                Err(StoreFailure::Unavailable(lost.to_string()))
            } else if fails(&mut shared, now) {
                Err(StoreFailure::Unavailable("a fault of the simulation".to_owned()))
            } else {
                let mut data = shared.durable.clone();
                let written = write(&mut data);
                if written.is_ok() {
                    if let Some(history) = &mut shared.history {
                        history.push(data.clone());
                    }
                    shared.durable = data;
                }
                if written.is_ok() && is_stable {
                    shared.stable = shared.durable.clone();
                }
                written
            }
        };
        self.pass("answer").await;
        written
    }

    async fn pass(&self, part: &'static str) {
        let choices = lock(&self.disk.shared).choices.clone();
        let time = choices.number(STORE, "delay", part, DELAY_MS_MAX + 1);
        yield_now().await;
        self.world.sleep(Duration::from_millis(time.into())).await;
    }
}

impl Shared {
    fn commit_fails(&mut self, fault: impl FnOnce(&mut Faults) -> Option<&mut u32>) -> bool {
        match fault(&mut self.faults) {
            Some(left) if *left > 0 => {
                *left -= 1;
                true
            }
            Some(_) | None => {
                self.random.chance(self.faults.commit_permille)
                    || self.choices.fault(STORE, COMMIT_FAILED)
            }
        }
    }

    fn context_fails(&mut self) -> bool {
        let fails = self.faults.contexts_fail > 0;
        self.faults.contexts_fail = self.faults.contexts_fail.saturating_sub(1);
        fails
    }

    fn look_fails(&mut self) -> bool {
        let fails = self.faults.looks_fail > 0;
        self.faults.looks_fail = self.faults.looks_fail.saturating_sub(1);
        fails
    }

    fn append_fails(&mut self, now: Instant) -> bool {
        let is_out = self.faults.no_append_before.is_some_and(|end| now < end);
        is_out
            || self.random.chance(self.faults.append_permille)
            || self.choices.fault(STORE, APPEND_FAILED)
    }
}
