//! Tasks in an order that is decided, and time that passes only when none can run.

use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

use runwarden_protocol::instant::Instant;

use super::choices::{Actor, Choices};
use crate::random::Random;

/// When a simulation begins; not zero, so that a forgotten time shows.
const START: Instant = Instant::from_millis(1_000_000);

/// Polls of one simulation, beyond which it counts as one that never ends.
const POLLS_MAX: u64 = 2_000_000;

type Task = Pin<Box<dyn Future<Output = ()> + Send>>;

/// How far a runnable task can be held back: behind every other that is held back less, as long as the clock
/// stands still.
const HOLDS: u32 = 4;

/// One incarnation of a process: its tasks end together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Host(pub u32);

/// A single-threaded executor whose every choice is decided by name. Cheap to clone.
#[derive(Clone)]
pub struct Executor {
    choices: Choices,
    state: Arc<Mutex<State>>,
    woken: Arc<Mutex<Vec<u64>>>,
}

struct State {
    /// So many workers are not launched from now on.
    launches_refused: u32,
    entropy: Random,
    now: Instant,
    tasks: BTreeMap<u64, Slot>,
    next_task: u64,
    /// By how far they are held back, then in the order in which they became runnable.
    runnable: BTreeMap<(u32, u64), u64>,
    next_turn: u64,
    names: BTreeMap<&'static str, u32>,
    timers: BTreeMap<(Instant, u64), Waker>,
    next_timer: u64,
    dead: BTreeSet<Host>,
    polls: u64,
    is_halted: bool,
}

struct Slot {
    host: Host,
    name: Actor,
    is_runnable: bool,
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
    /// Somebody called [`Executor::halt`].
    #[error("halted")]
    Halted,
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
    /// An executor without tasks: `seed` is its entropy, `choices` decides.
    pub fn new(seed: u64, choices: Choices) -> Self {
        choices.set_now(START);
        let state = State {
            launches_refused: 0,
            entropy: Random::new(seed),
            now: START,
            tasks: BTreeMap::new(),
            next_task: 0,
            runnable: BTreeMap::new(),
            next_turn: 0,
            names: BTreeMap::new(),
            timers: BTreeMap::new(),
            next_timer: 0,
            dead: BTreeSet::new(),
            polls: 0,
            is_halted: false,
        };
        Self { choices, state: Arc::new(Mutex::new(state)), woken: Arc::default() }
    }

    /// What decides.
    pub const fn choices(&self) -> &Choices {
        &self.choices
    }

    /// Tasks polled so far.
    pub fn polls(&self) -> u64 {
        lock(&self.state).polls
    }

    /// Ends the simulation before its next step.
    pub fn halt(&self) {
        lock(&self.state).is_halted = true;
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

    /// Adds a task of a process; tasks of one name are numbered. A process that was killed starts none.
    pub fn spawn(
        &self,
        host: Host,
        name: &'static str,
        task: impl Future<Output = ()> + Send + 'static,
    ) {
        let mut state = lock(&self.state);
        if state.dead.contains(&host) {
            drop(state);
            return;
        }
        let id = state.next_task;
        state.next_task += 1;
        let waker = Waker::from(Arc::new(Woken { id, queue: Arc::clone(&self.woken) }));
        let number = state.names.entry(name).or_default();
        *number += 1;
        let name = Actor::numbered(name, *number);
        let task: Option<Task> = Some(Box::pin(task));
        state.tasks.insert(id, Slot { host, name, is_runnable: false, task, waker });
        state.enter(id, &self.choices);
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
        self.spawn(Host(0), "scenario", async move {
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
            state.enter(id, &self.choices);
        }
        if state.is_halted {
            return Err(Stuck::Halted);
        }
        let Some((_, id)) = state.runnable.pop_first() else {
            return state.pass(horizon, &self.choices);
        };
        state.polls += 1;
        if state.polls > POLLS_MAX {
            return Err(Stuck::Endless);
        }
        let Some(slot) = state.tasks.get_mut(&id) else { return Ok(()) };
        let Some(mut task) = slot.task.take() else { return Ok(()) };
        let waker = slot.waker.clone();
        slot.is_runnable = false;
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
    /// Makes a task runnable, if it is there and not runnable yet.
    fn enter(&mut self, id: u64, choices: &Choices) {
        let Some(slot) = self.tasks.get_mut(&id).filter(|slot| !slot.is_runnable) else { return };
        slot.is_runnable = true;
        let hold = choices.number(slot.name.clone(), "hold", "poll", HOLDS);
        self.runnable.insert((hold, self.next_turn), id);
        self.next_turn += 1;
    }

    /// Moves the clock to the next timer and wakes everybody who waited for it.
    fn pass(&mut self, horizon: Instant, choices: &Choices) -> Result<(), Stuck> {
        let Some((&(at, _), _)) = self.timers.first_key_value() else { return Err(Stuck::Idle) };
        if at > horizon {
            return Err(Stuck::Late);
        }
        self.now = self.now.max(at);
        choices.set_now(self.now);
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
