//! A waker of its own for one source, so that only that source is polled when it woke the task.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Wake, Waker};

/// Remembers that its waker fired. It is open at first, so that the source is polled once.
#[derive(Debug)]
pub(super) struct Gate {
    fired: AtomicBool,
    task: Mutex<Option<Waker>>,
}

impl Gate {
    /// A gate and the waker to poll its source with.
    pub(super) fn new() -> (Arc<Self>, Waker) {
        let gate = Arc::new(Self { fired: AtomicBool::new(true), task: Mutex::new(None) });
        let waker = Waker::from(gate.clone());
        (gate, waker)
    }

    /// Whether the source woke since the last call. From now on its waker wakes `task`.
    pub(super) fn pass(&self, task: &Waker) -> bool {
        let mut known = self.task.lock().unwrap_or_else(PoisonError::into_inner);
        if known.as_ref().is_none_or(|known| !known.will_wake(task)) {
            *known = Some(task.clone());
        }
        drop(known);
        self.fired.swap(false, Ordering::AcqRel)
    }
}

impl Wake for Gate {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.fired.store(true, Ordering::Release);
        let task = self.task.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(task) = task {
            task.wake();
        }
    }
}
