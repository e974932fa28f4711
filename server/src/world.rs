//! Clock, timer, chance and tasks of the real server.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant as Monotonic, SystemTime, UNIX_EPOCH};

use runwarden_protocol::instant::Instant;
use runwarden_protocol::run::guards::Rules;
use runwarden_runtime::ports::{LaunchRefused, World};
use smol::{Executor, Timer};

/// Most workers at once, those of runs that were given up included: their agents have not ended yet.
pub const WORKERS_MAX: usize = 8_192;

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
    workers: Arc<AtomicUsize>,
    workers_max: usize,
}

/// Counts one worker for as long as it lives.
struct Counted(Arc<AtomicUsize>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

impl SmolWorld {
    /// A world whose clock says at least `not_before`: what the store saw last (guarded wall clock).
    pub fn new(executor: Arc<Executor<'static>>, not_before: Instant) -> Self {
        Self::with_workers_max(executor, not_before, WORKERS_MAX)
    }

    fn with_workers_max(
        executor: Arc<Executor<'static>>,
        not_before: Instant,
        workers_max: usize,
    ) -> Self {
        let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let wall_us = u64::try_from(wall.as_micros()).unwrap_or(u64::MAX);
        let started_us = wall_us.max(not_before.as_micros());
        let latest_us = AtomicU64::new(started_us);
        let inner = Inner {
            executor,
            started: Monotonic::now(),
            started_us,
            latest_us,
            workers: Arc::default(),
            workers_max,
        };
        Self { inner: Arc::new(inner) }
    }
}

impl World for SmolWorld {
    type Guards = Rules;

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

    fn launch(
        &self,
        worker: impl Future<Output = ()> + Send + 'static,
    ) -> Result<(), LaunchRefused> {
        let running = self.inner.workers.fetch_add(1, Ordering::AcqRel);
        let counted = Counted(self.inner.workers.clone());
        if running >= self.inner.workers_max {
            return Err(LaunchRefused { running });
        }
        self.spawn(async move {
            let _counted = counted;
            worker.await;
        });
        Ok(())
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
    fn workers_have_a_bound_and_free_their_place_when_they_end() {
        let executor = Arc::new(Executor::new());
        let world = SmolWorld::with_workers_max(executor.clone(), Instant::ZERO, 2);
        let (ends, ended) = async_channel::bounded::<()>(1);
        for _ in 0..2 {
            let ended = ended.clone();
            let standing = async move {
                let _ = ended.recv().await;
            };
            assert_eq!(world.launch(standing), Ok(()));
        }
        let refused = world.launch(async {});
        assert_eq!(refused, Err(LaunchRefused { running: 2 }));
        drop(ends);
        while executor.try_tick() {}
        assert_eq!(world.launch(async {}), Ok(()));
    }

    #[test]
    fn a_sleep_ends_when_its_time_has_come() {
        let world = SmolWorld::new(Arc::new(Executor::new()), Instant::ZERO);
        let at = world.now().plus(runwarden_protocol::instant::Duration::from_millis(5));
        smol::block_on(world.sleep_until(at));
        assert!(world.now() >= at);
    }
}
