//! Constants of the run rules (run-state section 6).

use crate::instant::Duration;

/// A `cancelling` row without a channel is reclaimable at this age (UNWIND_WINDOW).
pub const UNWIND: Duration = Duration::from_secs(180);
/// An interrupted agent is asked to end this long after the interrupt (STOP_TERM_AFTER).
pub const STOP_TERM_AFTER: Duration = Duration::from_secs(5);
/// It is ended by force this long after it was asked (STOP_KILL_AFTER).
pub const STOP_KILL_AFTER: Duration = Duration::from_secs(5);
/// A failed settlement save is tried again this often (SAVE_RETRIES).
pub const SAVE_RETRIES: u8 = 3;
/// Agents a run builds in place of lost ones (SELF_HEAL_MAX).
pub const SELF_HEAL_MAX: u8 = 2;
/// An unsettled session is tried again after this time (UNSETTLED_RETRY).
pub const UNSETTLED_RETRY: Duration = Duration::from_secs(30);
/// A pending turn of a shared store is left to the process that accepted it until this age (PENDING_GRACE).
pub const PENDING_GRACE: Duration = Duration::from_secs(30);
/// A run whose agent produced nothing for this long is ended (AGENT_SILENCE_MAX).
pub const AGENT_SILENCE_MAX: Duration = Duration::from_secs(600);
/// An effect that is not answered within this time has failed (EFFECT_DEADLINE).
pub const EFFECT_DEADLINE: Duration = Duration::from_secs(20);
/// The row of a stopped run is gone within this time (STOP_FREE, STOP-20).
pub const STOP_FREE: Duration = Duration::from_secs(12);
/// A run whose agent is not there after this time is reported as wedged; the slowest agents load a conversation.
pub const START_SLOW_AFTER: Duration = Duration::from_secs(300);
/// Stops of one run that wait for one answer.
pub const STOPS_WAITING_MAX: usize = 64;
/// Changes of a session that wait until the one before was answered.
pub const CHANGES_WAITING_MAX: usize = 64;
/// Entries of runs one lineage holds: the row, and workers of reclaimed runs that still live.
pub const RUN_ENTRIES_MAX: usize = 8;
