//! How a signal reaches the invocation that runs now.

use std::convert::Infallible;
use std::sync::{Mutex, PoisonError};

use async_channel::{Receiver, Sender};
use runwarden_runtime::ports::Signal;

/// The agent's end: remembers the running invocation, at most one.
#[derive(Debug, Default)]
pub(crate) struct Interrupts {
    running: Mutex<Option<Raiser>>,
}

/// The invocation's end. A signal that was raised once stays raised.
#[derive(Debug)]
pub(crate) struct Interrupt {
    asked: Receiver<Infallible>,
    killed: Receiver<Infallible>,
}

/// Closing a channel is the notification: it never blocks and is seen by a later look too.
#[derive(Debug)]
struct Raiser {
    asked: Sender<Infallible>,
    killed: Sender<Infallible>,
}

impl Interrupts {
    /// Begins an invocation; later signals are meant for it.
    pub(crate) fn begin(&self) -> Interrupt {
        let (asked_raiser, asked) = async_channel::bounded(1);
        let (killed_raiser, killed) = async_channel::bounded(1);
        let raiser = Raiser { asked: asked_raiser, killed: killed_raiser };
        *self.running.lock().unwrap_or_else(PoisonError::into_inner) = Some(raiser);
        Interrupt { asked, killed }
    }

    /// Passes a signal to the running invocation; without one it does nothing.
    pub(crate) fn raise(&self, signal: Signal) {
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(raiser) = running.as_ref() else { return };
        raiser.asked.close();
        match signal {
            Signal::Interrupt | Signal::Terminate => {}
            Signal::Kill => {
                raiser.killed.close();
            }
        }
    }
}

impl Interrupt {
    /// Resolves once any signal was raised.
    pub(crate) async fn asked(&self) {
        let Err(_closed) = self.asked.recv().await;
    }

    /// Resolves once [`Signal::Kill`] was raised.
    pub(crate) async fn killed(&self) {
        let Err(_closed) = self.killed.recv().await;
    }
}

#[cfg(test)]
mod tests {
    use futures_lite::future::{block_on, poll_once};

    use super::*;

    #[test]
    fn a_signal_stays_raised_and_only_kill_kills() {
        block_on(async {
            let interrupts = Interrupts::default();
            interrupts.raise(Signal::Kill);
            let interrupt = interrupts.begin();
            assert_eq!(poll_once(interrupt.asked()).await, None);
            interrupts.raise(Signal::Interrupt);
            interrupts.raise(Signal::Terminate);
            assert_eq!(poll_once(interrupt.asked()).await, Some(()));
            assert_eq!(poll_once(interrupt.asked()).await, Some(()));
            assert_eq!(poll_once(interrupt.killed()).await, None);
            interrupts.raise(Signal::Kill);
            assert_eq!(poll_once(interrupt.killed()).await, Some(()));
        });
    }

    #[test]
    fn a_signal_is_not_carried_over_to_the_next_invocation() {
        block_on(async {
            let interrupts = Interrupts::default();
            let _first = interrupts.begin();
            interrupts.raise(Signal::Interrupt);
            let second = interrupts.begin();
            assert_eq!(poll_once(second.asked()).await, None);
        });
    }
}
