//! Clock, timer, chance and tasks of the real server.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant as Monotonic, SystemTime, UNIX_EPOCH};

use runwarden_protocol::instant::Instant;
use runwarden_runtime::ports::World;
use smol::{Executor, Timer};

/// The world of one process. Cheap to clone.
#[derive(Clone)]
pub struct SmolWorld {
    inner: Arc<Inner>,
}

struct Inner {
    executor: Arc<Executor<'static>>,
    started: Monotonic,
    started_us: u64,
    latest_us: AtomicU64,
}

impl SmolWorld {
    /// A world whose clock says at least `not_before`: what the store saw last (guarded wall clock).
    pub fn new(executor: Arc<Executor<'static>>, not_before: Instant) -> Self {
        let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let wall_us = u64::try_from(wall.as_micros()).unwrap_or(u64::MAX);
        let started_us = wall_us.max(not_before.as_micros());
        let latest_us = AtomicU64::new(started_us);
        let inner = Inner { executor, started: Monotonic::now(), started_us, latest_us };
        Self { inner: Arc::new(inner) }
    }
}

impl World for SmolWorld {
    fn now(&self) -> Instant {
        let elapsed = u64::try_from(self.inner.started.elapsed().as_micros()).unwrap_or(u64::MAX);
        let now_us = self.inner.started_us.saturating_add(elapsed);
        let before = self.inner.latest_us.fetch_max(now_us, Ordering::AcqRel);
        Instant::from_micros(before.max(now_us))
    }

    fn sleep_until(&self, at: Instant) -> impl Future<Output = ()> + Send + 'static {
        let micros = at.age_of(self.now()).as_micros();
        // The timer may fire a little early by this clock's measure; the caller looks at the clock again.
        let timer = Timer::after(Duration::from_micros(micros));
        async move {
            timer.await;
        }
    }

    fn random(&self) -> u64 {
        getrandom::u64().expect("the operating system gives random numbers")
    }

    fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        self.inner.executor.spawn(task).detach();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_never_says_less_than_the_store_saw() {
        let future = Instant::from_micros(u64::MAX / 2);
        let world = SmolWorld::new(Arc::new(Executor::new()), future);
        let first = world.now();
        assert!(first >= future && world.now() >= first);
    }

    #[test]
    fn a_sleep_ends_when_its_time_has_come() {
        let world = SmolWorld::new(Arc::new(Executor::new()), Instant::ZERO);
        let at = world.now().plus(runwarden_protocol::instant::Duration::from_millis(5));
        smol::block_on(world.sleep_until(at));
        assert!(world.now() >= at);
    }
}
