//! Wakeups, as far as a driver meets them: no store keeps any, and no producer asks for one.

use super::driver::Driver;
use crate::dispatch::{PortAnswer, WakeupCall};
use crate::ports::{Store, World};

impl<W: World, S: Store> Driver<W, S> {
    /// A change is answered as not written; without a stored wakeup none is started.
    pub(super) fn call_wakeups(&mut self, call: WakeupCall) {
        match call {
            WakeupCall::Change { .. } => self.answer_next(PortAnswer::WakeupsCommitted(None)),
            WakeupCall::Start { .. } | WakeupCall::Answer { .. } => {}
        }
    }
}
