//! SIGTERM and ctrl-c, as something any task can wait for.

use std::convert::Infallible;
use std::io;

use async_channel::{Receiver, Sender};
use async_signal::{Signal, Signals};
use futures_lite::StreamExt;

/// Resolves in every clone once the process was asked to stop.
#[derive(Clone, Debug)]
pub struct Shutdown(Receiver<Infallible>);

/// Asks for the shutdown when dropped; for tests and for failures that end the server.
#[derive(Debug)]
pub struct Trigger(Sender<Infallible>);

/// Exit code of a second signal, which ends the process at once.
pub const EXIT_FORCED: i32 = 1;

impl Shutdown {
    /// A shutdown without signals.
    pub fn manual() -> (Trigger, Self) {
        let (sender, receiver) = async_channel::bounded(1);
        (Trigger(sender), Self(receiver))
    }

    /// Waits for the request to stop.
    pub async fn requested(&self) {
        let Err(_closed) = self.0.recv().await;
    }

    /// Whether the process was asked to stop.
    pub fn is_requested(&self) -> bool {
        self.0.is_closed()
    }
}

impl Trigger {
    /// Asks for the shutdown.
    pub fn request(&self) {
        self.0.close();
    }
}

/// Turns the first SIGTERM or ctrl-c into a shutdown, and the second one into an exit without drain.
/// The second part of the result must be spawned.
///
/// # Errors
/// When the operating system refuses the handlers.
pub fn on_signals() -> io::Result<(Shutdown, impl Future<Output = ()> + Send + 'static)> {
    let mut signals = Signals::new([Signal::Term, Signal::Int])?;
    let (trigger, shutdown) = Shutdown::manual();
    let watch = async move {
        if signals.next().await.is_none() {
            return;
        }
        tracing::info!("asked to stop");
        trigger.request();
        if signals.next().await.is_some() {
            tracing::warn!("asked to stop again; ending without drain");
            std::process::exit(EXIT_FORCED);
        }
    };
    Ok((shutdown, watch))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_clone_sees_the_request() {
        let (trigger, shutdown) = Shutdown::manual();
        let clone = shutdown.clone();
        assert!(!clone.is_requested());
        trigger.request();
        assert!(clone.is_requested());
        smol::block_on(async {
            shutdown.requested().await;
            clone.requested().await;
        });
    }

    #[test]
    fn a_dropped_trigger_is_a_request() {
        let (trigger, shutdown) = Shutdown::manual();
        drop(trigger);
        smol::block_on(shutdown.requested());
    }
}
