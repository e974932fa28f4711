//! Tasks in a drawn order, and time that passes only when none can run.

use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

use runwarden_protocol::instant::Instant;

use crate::random::Random;

/// When a simulation begins; not zero, so that a forgotten time shows.
const START: Instant = Instant::from_millis(1_000_000);

/// Polls of one simulation, beyond which it counts as one that never ends.
const POLLS_MAX: u64 = 2_000_000;

type Task = Pin<Box<dyn Future<Output = ()> + Send>>;

/// One incarnation of a process: its tasks end together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Host(pub u32);

/// A single-threaded executor whose every choice is drawn from a seed. Cheap to clone.
#[derive(Clone)]
pub struct Executor {
    state: Arc<Mutex<State>>,
    woken: Arc<Mutex<Vec<u64>>>,
}

struct State {
    /// So many workers are not launched from now on.
    launches_refused: u32,
    order: Random,
    entropy: Random,
    now: Instant,
    tasks: BTreeMap<u64, Slot>,
    next_task: u64,
    runnable: Vec<u64>,
    timers: BTreeMap<(Instant, u64), Waker>,
    next_timer: u64,
    dead: BTreeSet<Host>,
    polls: u64,
}

struct Slot {
    host: Host,
    /// Out while it is polled.
    task: Option<Task>,
    waker: Waker,
}

struct Woken {
    id: u64,
    queue: Arc<Mutex<Vec<u64>>>,
}

/// A simulation that came to no end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Stuck {
    /// Nothing can run and nobody sleeps.
    #[error("nothing can run and nobody sleeps")]
    Idle,
    /// The clock passed its horizon.
    #[error("the clock passed its horizon")]
    Late,
    /// More polls than a simulation may take.
    #[error("more than {POLLS_MAX} polls")]
    Endless,
}

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        lock(&self.queue).push(self.id);
    }
}

impl Executor {
    /// An executor without tasks.
    pub fn new(seed: u64) -> Self {
        let mut seeds = Random::new(seed);
        let state = State {
            launches_refused: 0,
            order: seeds.fork(),
            entropy: seeds.fork(),
            now: START,
            tasks: BTreeMap::new(),
            next_task: 0,
            runnable: Vec::new(),
            timers: BTreeMap::new(),
            next_timer: 0,
            dead: BTreeSet::new(),
            polls: 0,
        };
        Self { state: Arc::new(Mutex::new(state)), woken: Arc::default() }
    }

    /// The time.
    pub fn now(&self) -> Instant {
        lock(&self.state).now
    }

    /// A number for whoever needs a random one.
    pub fn random(&self) -> u64 {
        lock(&self.state).entropy.next()
    }

    /// A stream of its own for one part of the simulation.
    pub fn stream(&self) -> Random {
        lock(&self.state).entropy.fork()
    }

    /// Adds a task of a process. A process that was killed starts none.
    pub fn spawn(&self, host: Host, task: impl Future<Output = ()> + Send + 'static) {
        let mut state = lock(&self.state);
        if state.dead.contains(&host) {
            drop(state);
            return;
        }
        let id = state.next_task;
        state.next_task += 1;
        let waker = Waker::from(Arc::new(Woken { id, queue: Arc::clone(&self.woken) }));
        state.tasks.insert(id, Slot { host, task: Some(Box::pin(task)), waker });
        state.runnable.push(id);
    }

    /// From now on so many workers are not launched.
    pub fn refuse_launches(&self, launches: u32) {
        lock(&self.state).launches_refused = launches;
    }

    /// Whether the next worker is launched.
    pub(super) fn launches(&self) -> bool {
        let mut state = lock(&self.state);
        let is_refused = state.launches_refused > 0;
        state.launches_refused = state.launches_refused.saturating_sub(1);
        !is_refused
    }

    /// Ends every task of a process where it stands.
    pub fn kill(&self, host: Host) {
        let mut state = lock(&self.state);
        state.dead.insert(host);
        let ids: Vec<_> =
            state.tasks.iter().filter(|(_, slot)| slot.host == host).map(|(id, _)| *id).collect();
        let ended: Vec<_> = ids.iter().filter_map(|id| state.tasks.remove(id)).collect();
        drop(state);
        // What a task holds may wake others when it goes.
        drop(ended);
    }

    /// Runs everything until `root` has ended, at most up to `horizon`.
    ///
    /// # Errors
    /// [`Stuck`] when it cannot end.
    pub fn run<T: Send + 'static>(
        &self,
        root: impl Future<Output = T> + Send + 'static,
        horizon: Instant,
    ) -> Result<T, Stuck> {
        let slot = Arc::new(Mutex::new(None));
        let result = Arc::clone(&slot);
        self.spawn(Host(0), async move {
            let value = root.await;
            *lock(&result) = Some(value);
        });
        loop {
            if let Some(value) = lock(&slot).take() {
                return Ok(value);
            }
            self.step(horizon)?;
        }
    }

    /// Polls one task, or moves the clock to the next timer.
    fn step(&self, horizon: Instant) -> Result<(), Stuck> {
        let woken = std::mem::take(&mut *lock(&self.woken));
        let mut state = lock(&self.state);
        for id in woken {
            if state.tasks.contains_key(&id) && !state.runnable.contains(&id) {
                state.runnable.push(id);
            }
        }
        if state.runnable.is_empty() {
            return state.pass(horizon);
        }
        state.polls += 1;
        if state.polls > POLLS_MAX {
            return Err(Stuck::Endless);
        }
        let count = state.runnable.len();
        let next = state.order.below(count);
        let id = state.runnable.swap_remove(next);
        let Some(slot) = state.tasks.get_mut(&id) else { return Ok(()) };
        let Some(mut task) = slot.task.take() else { return Ok(()) };
        let waker = slot.waker.clone();
        drop(state);
        let polled = task.as_mut().poll(&mut Context::from_waker(&waker));
        let mut state = lock(&self.state);
        let slot = match (polled, state.tasks.get_mut(&id)) {
            (Poll::Pending, Some(slot)) => {
                slot.task = Some(task);
                None
            }
            // It ended, or its process was killed by what it did.
            (Poll::Ready(()), _) | (Poll::Pending, None) => {
                let slot = state.tasks.remove(&id);
                drop(state);
                drop(task);
                slot
            }
        };
        drop(slot);
        Ok(())
    }

    pub(super) fn set_timer(&self, at: Instant, waker: &Waker) -> u64 {
        let mut state = lock(&self.state);
        let timer = state.next_timer;
        state.next_timer += 1;
        state.timers.insert((at, timer), waker.clone());
        timer
    }

    pub(super) fn clear_timer(&self, at: Instant, timer: u64) {
        let waker = lock(&self.state).timers.remove(&(at, timer));
        drop(waker);
    }
}

impl State {
    /// Moves the clock to the next timer and wakes everybody who waited for it.
    fn pass(&mut self, horizon: Instant) -> Result<(), Stuck> {
        let Some((&(at, _), _)) = self.timers.first_key_value() else { return Err(Stuck::Idle) };
        if at > horizon {
            return Err(Stuck::Late);
        }
        self.now = self.now.max(at);
        while let Some(entry) = self.timers.first_entry() {
            if entry.key().0 > self.now {
                break;
            }
            entry.remove().wake();
        }
        Ok(())
    }
}

/// A lock of a simulation whose holder never panics between two consistent states.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
