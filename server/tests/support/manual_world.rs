//! A world whose clock moves only when the test says so, or whenever somebody sleeps.

#![allow(dead_code, reason = "each test binary uses its part")]

use std::future::Future;
use std::sync::{Arc, Mutex};

use async_channel::{Receiver, Sender};
use runwarden_protocol::instant::{Duration, Instant};
use runwarden_protocol::run::guards::Rules;
use runwarden_runtime::ports::World;

/// See the module.
#[derive(Clone)]
pub(crate) struct ManualWorld {
    state: Arc<Mutex<State>>,
    asleep: (Sender<()>, Receiver<()>),
}

struct State {
    now: Instant,
    /// Whether a sleep moves the clock itself.
    hurries: bool,
    sleepers: Vec<(Instant, Sender<()>)>,
    random: u64,
}

impl ManualWorld {
    /// A clock that each sleep moves to its own end: time passes as fast as the test runs.
    pub(crate) fn hurrying() -> Self {
        Self::new(true)
    }

    /// A clock that only [`ManualWorld::advance`] moves.
    pub(crate) fn standing() -> Self {
        Self::new(false)
    }

    /// Moves the clock and wakes whoever slept until then.
    pub(crate) fn advance(&self, by: Duration) {
        let mut state = self.state.lock().unwrap();
        state.now = state.now.plus(by);
        let now = state.now;
        // Dropping the sender wakes the sleeper.
        state.sleepers.retain(|(until, _)| *until > now);
    }

    /// Waits until somebody went to sleep; each sleep is reported once.
    pub(crate) async fn somebody_sleeps(&self) {
        self.asleep.1.recv().await.unwrap();
    }

    fn new(hurries: bool) -> Self {
        let now = Instant::from_millis(1_000);
        let state = State { now, hurries, sleepers: Vec::new(), random: 0 };
        Self { state: Arc::new(Mutex::new(state)), asleep: async_channel::unbounded() }
    }
}

impl World for ManualWorld {
    type Guards = Rules;

    fn now(&self) -> Instant {
        self.state.lock().unwrap().now
    }

    fn sleep_until(&self, at: Instant) -> impl Future<Output = ()> + Send + 'static {
        let mut state = self.state.lock().unwrap();
        if state.hurries {
            state.now = state.now.max(at);
        }
        let (sender, woken) = async_channel::bounded(1);
        if state.now < at {
            state.sleepers.push((at, sender));
            let _ = self.asleep.0.try_send(());
        }
        async move {
            // Even a sleep that is over gives others a turn, as a real timer does.
            futures_lite::future::yield_now().await;
            let _ = woken.recv().await;
        }
    }

    fn random(&self) -> u64 {
        let mut state = self.state.lock().unwrap();
        state.random += 1;
        state.random
    }

    fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        smol::spawn(task).detach();
    }
}
