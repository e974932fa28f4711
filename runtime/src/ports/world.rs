//! Time, chance and tasks.

use std::future::Future;

use runwarden_protocol::instant::Instant;

/// Clock, timer, entropy and task spawner of one process. Cheap to clone.
pub trait World: Clone + Send + Sync + 'static {
    /// The guarded wall clock: never less than it said before.
    fn now(&self) -> Instant;

    /// Resolves once `now() >= at`.
    fn sleep_until(&self, at: Instant) -> impl Future<Output = ()> + Send + 'static;

    /// A fresh random number.
    fn random(&self) -> u64;

    /// Runs `task` until it ends; nobody waits for it.
    fn spawn(&self, task: impl Future<Output = ()> + Send + 'static);
}
