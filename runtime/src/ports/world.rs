//! Time, chance and tasks.

use std::future::Future;

use runwarden_protocol::instant::Instant;
use runwarden_protocol::run::guards::Guards;

/// Clock, timer, entropy and task spawner of one process. Cheap to clone.
pub trait World: Clone + Send + Sync + 'static {
    /// The decisions of its session machines: the rules, but in a simulation that gets one of them wrong.
    type Guards: Guards;

    /// The guarded wall clock: never less than it said before.
    fn now(&self) -> Instant;

    /// Resolves once `now() >= at`.
    fn sleep_until(&self, at: Instant) -> impl Future<Output = ()> + Send + 'static;

    /// A fresh random number.
    fn random(&self) -> u64;

    /// Runs `task` until it ends; nobody waits for it.
    fn spawn(&self, task: impl Future<Output = ()> + Send + 'static);

    /// Makes the worker of a run: runs `worker` until it ends, unless there is no room for one more.
    ///
    /// # Errors
    /// [`LaunchRefused`] when it was not made; its start is then undone (REC-08).
    fn launch(
        &self,
        worker: impl Future<Output = ()> + Send + 'static,
    ) -> Result<(), LaunchRefused> {
        self.spawn(worker);
        Ok(())
    }
}

/// A worker that was not made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{running} workers run, and no more may: agents that do not end hold them")]
pub struct LaunchRefused {
    /// Workers that run, those of reclaimed runs included.
    pub running: usize,
}
