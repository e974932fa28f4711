use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use runwarden_protocol::instant::{Duration, Instant};
use runwarden_runtime::ports::{LaunchRefused, World};

use super::executor::{Executor, Host};

/// The world of one process of a simulation.
#[derive(Clone)]
pub struct SimWorld {
    executor: Executor,
    host: Host,
}

impl SimWorld {
    /// The world of process `host`.
    pub const fn new(executor: Executor, host: Host) -> Self {
        Self { executor, host }
    }

    /// Resolves after this time.
    pub fn sleep(&self, time: Duration) -> Sleep {
        Sleep::until(self.executor.clone(), self.executor.now().plus(time))
    }
}

impl World for SimWorld {
    fn now(&self) -> Instant {
        self.executor.now()
    }

    fn sleep_until(&self, at: Instant) -> impl Future<Output = ()> + Send + 'static {
        Sleep::until(self.executor.clone(), at)
    }

    fn random(&self) -> u64 {
        self.executor.random()
    }

    fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        self.executor.spawn(self.host, task);
    }

    fn launch(
        &self,
        worker: impl Future<Output = ()> + Send + 'static,
    ) -> Result<(), LaunchRefused> {
        if !self.executor.launches() {
            return Err(LaunchRefused { running: 0 });
        }
        self.spawn(worker);
        Ok(())
    }
}

/// Resolves once the clock has reached its time.
pub struct Sleep {
    executor: Executor,
    at: Instant,
    timer: Option<u64>,
}

impl Sleep {
    pub(super) const fn until(executor: Executor, at: Instant) -> Self {
        Self { executor, at, timer: None }
    }

    fn clear(&mut self) {
        if let Some(timer) = self.timer.take() {
            self.executor.clear_timer(self.at, timer);
        }
    }
}

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        self.clear();
        if self.executor.now() >= self.at {
            return Poll::Ready(());
        }
        self.timer = Some(self.executor.set_timer(self.at, cx.waker()));
        Poll::Pending
    }
}

impl Drop for Sleep {
    fn drop(&mut self) {
        self.clear();
    }
}
