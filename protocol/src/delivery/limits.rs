//! Limits of delivery (delivery.md section 6): those of the wire, lengths of time as durations, and the bounds of
//! what the queue keeps for its own use. All are inclusive.

use crate::instant::Duration;
use crate::wire::limits::{
    CONNECTION_LEASE_MS, HEARTBEAT_AFTER_MS, RESULTS_KEPT_MS, SEND_STALL_MS, SHUTDOWN_DRAIN_MS,
};

pub use crate::wire::limits::{
    ABSORBED_MAX, ACTION_BYTES_MAX, BATCH_BYTES_MAX, BATCH_FRAMES_MAX, DRAINED_FRAMES_MAX,
    FOREIGN_FRAMES_MAX, MARKS_MAX, MERGED_FRAME_BYTES_MAX, NOTE_NAMES_MAX, ORDINARY_CAP_BYTES,
    QUEUE_BYTES_MAX, READS_PARALLEL, REPLIES_QUEUED_BYTES_MAX, RESULT_INLINE_BYTES_MAX,
    RESULTS_KEPT, SESSIONS_OPEN_MAX, UNANSWERED_ACTIONS_MAX, UNANSWERED_BYTES_MAX,
};

/// Without write progress for this long while bytes wait, the transport has failed (SND-27).
pub const SEND_STALL: Duration = Duration::from_millis(SEND_STALL_MS);
/// Without a received byte for this long, a connection is closed (SND-27).
pub const CONNECTION_LEASE: Duration = Duration::from_millis(CONNECTION_LEASE_MS);
/// A connection handed nothing for this long is offered a heartbeat (SND-30).
pub const HEARTBEAT_AFTER: Duration = Duration::from_millis(HEARTBEAT_AFTER_MS);
/// Time a stopping connection has to send what is queued (table 5.1).
pub const SHUTDOWN_DRAIN: Duration = Duration::from_millis(SHUTDOWN_DRAIN_MS);
/// Age up to which a finished result is kept (REQ-8).
pub const RESULT_AGE_MAX: Duration = Duration::from_millis(RESULTS_KEPT_MS);

/// Parts of a merged frame, which bounds the references a queue holds; beyond, a new frame begins.
pub const MERGED_PARTS_MAX: usize = 1_024;
/// Waiters on one connection; an offer with one more is rejected as our own caller's error.
pub const WAITERS_MAX: usize = 4_096;
