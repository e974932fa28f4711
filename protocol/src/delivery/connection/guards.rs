//! The decisions of a connection, one method per guard; the defaults are the rules.

use std::fmt::Debug;
use std::hash::Hash;

use super::Lane;
use crate::delivery::limits::{
    READS_PARALLEL, REPLIES_QUEUED_BYTES_MAX, SESSIONS_OPEN_MAX, UNANSWERED_ACTIONS_MAX,
    UNANSWERED_BYTES_MAX,
};
use crate::wire::actions::ActionName;

/// The guards of a connection. A faulty variant overrides one of them.
pub trait ConnectionGuards: Clone + Eq + Hash + Debug + Default + 'static {
    /// Whether an action of `lane` may start (ACT-9, ACT-15): `changes_before` earlier changes of its session are
    /// unanswered, `reads_running` reads and loads run, `reply_bytes` of replies are queued.
    fn may_start(
        lane: Lane,
        changes_before: usize,
        reads_running: usize,
        reply_bytes: usize,
    ) -> bool {
        match lane {
            Lane::Prompt => true,
            Lane::Change => changes_before == 0,
            Lane::Read => reads_running < READS_PARALLEL,
            Lane::Load => reads_running < READS_PARALLEL && reply_bytes < REPLIES_QUEUED_BYTES_MAX,
        }
    }

    /// Whether the connection is read while so much is unanswered (ACT-14).
    fn may_read(actions: usize, bytes: usize) -> bool {
        actions < UNANSWERED_ACTIONS_MAX && bytes < UNANSWERED_BYTES_MAX
    }

    /// Whether one more session may be opened beside `sessions` others (RATE-10).
    fn may_open(sessions: usize) -> bool {
        sessions < SESSIONS_OPEN_MAX
    }

    /// Whether an action is served by a stopping server (ACT-10).
    fn serves_while_stopping(name: ActionName) -> bool {
        matches!(name, ActionName::Ping | ActionName::StopRun | ActionName::GetRequestResult)
    }
}

/// The rules as they are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Rules;

impl ConnectionGuards for Rules {}
