use std::future::Future;
use std::marker::PhantomData;
use std::panic::Location;
use std::path::Path;
use std::pin::Pin;
use std::task::{Context, Poll};

use runwarden_protocol::instant::{Duration, Instant};
use runwarden_protocol::run::guards::{Guards, Rules};
use runwarden_runtime::ports::{LaunchRefused, World};

use super::executor::{Executor, Host};

/// The world of one process of a simulation.
#[derive(Clone)]
pub struct SimWorld<G: Guards = Rules> {
    executor: Executor,
    host: Host,
    guards: PhantomData<G>,
}

impl<G: Guards> SimWorld<G> {
    /// The world of process `host`.
    pub const fn new(executor: Executor, host: Host) -> Self {
        Self { executor, host, guards: PhantomData }
    }

    /// Resolves after this time.
    pub fn sleep(&self, time: Duration) -> Sleep {
        Sleep::until(self.executor.clone(), self.executor.now().plus(time))
    }
}

impl<G: Guards> World for SimWorld<G> {
    type Guards = G;

    fn now(&self) -> Instant {
        self.executor.now()
    }

    fn sleep_until(&self, at: Instant) -> impl Future<Output = ()> + Send + 'static {
        Sleep::until(self.executor.clone(), at)
    }

    fn random(&self) -> u64 {
        self.executor.random()
    }

    #[track_caller]
    fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        self.executor.spawn(self.host, name_of(Location::caller()), task);
    }

    fn launch(
        &self,
        worker: impl Future<Output = ()> + Send + 'static,
    ) -> Result<(), LaunchRefused> {
        if !self.executor.launches() {
            return Err(LaunchRefused { running: 0 });
        }
        self.executor.spawn(self.host, "worker", worker);
        Ok(())
    }
}

/// What tasks are called that are spawned here: as the part of the server that does it.
fn name_of(place: &'static Location<'static>) -> &'static str {
    let path = Path::new(place.file());
    let stem = |path: &'static Path| path.file_stem().and_then(|stem| stem.to_str());
    match stem(path).unwrap_or_default() {
        "hub" => "session",
        "backend" => "reply",
        "mod" => path.parent().and_then(stem).unwrap_or("task"),
        other => other,
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
