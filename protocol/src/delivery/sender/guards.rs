//! The decisions of the queue, one method per guard; the defaults are the rules.

use std::fmt::Debug;
use std::hash::Hash;

use crate::delivery::frame::{FrameKey, QueuedFrame};
use crate::delivery::limits::{
    DRAINED_FRAMES_MAX, FOREIGN_FRAMES_MAX, MERGED_FRAME_BYTES_MAX, MERGED_PARTS_MAX,
    NOTE_NAMES_MAX, ORDINARY_CAP_BYTES,
};
use crate::wire::Class;

/// The guards of the sender queue. A faulty variant overrides one of them.
pub trait SenderGuards: Clone + Eq + Hash + Debug + Default + 'static {
    /// Whether a queue may hold `frames` and `bytes` after a frame of `class` was admitted (SND-3).
    fn admits(class: Class, frames: usize, bytes: usize) -> bool {
        frames <= class.frames_cap() && bytes <= class.bytes_cap()
    }

    /// Whether `frame` merges into `tail`, the newest queued frame of its session (SND-7).
    fn may_merge(tail: &QueuedFrame, frame: &QueuedFrame, merged_bytes: usize) -> bool {
        let parts = tail.parts.len() + frame.parts.len();
        let parts_max = match frame.key {
            FrameKey::StreamNote { .. } => NOTE_NAMES_MAX,
            _ => MERGED_PARTS_MAX,
        };
        tail.key == frame.key
            && tail.end == frame.begin
            && merged_bytes <= MERGED_FRAME_BYTES_MAX
            && parts <= parts_max
    }

    /// Whether `new` is newer than the queued frame of its key (SND-11, SND-12). Control frames always are.
    fn is_newer(queued: &QueuedFrame, new: &QueuedFrame) -> bool {
        new.key.class() == Class::Control || queued.version < new.version
    }

    /// Whether a queued frame may make room for a terminal one (SND-14, SND-15).
    fn evicts(frame: &QueuedFrame) -> bool {
        frame.key.is_delta()
    }

    /// Whether a frame of an entity that ended is turned away (SND-18).
    fn refuses_absorbed(frame: &QueuedFrame) -> bool {
        frame.key.class() != Class::Terminal
    }

    /// Whether a frame of a unit marked gap is turned away (SND-9).
    fn refuses_gap(frame: &QueuedFrame) -> bool {
        frame.key.is_delta()
    }

    /// Whether one more foreign frame may be queued beside `queued` others (SND-6).
    fn admits_foreign(queued: usize) -> bool {
        queued < FOREIGN_FRAMES_MAX
    }

    /// Whether the queue has drained enough to serve a mark of `refused_bytes` (SND-10, SND-13).
    fn drained(frames: usize, bytes: usize, refused_bytes: usize) -> bool {
        frames == 0
            || (frames <= DRAINED_FRAMES_MAX
                && bytes.saturating_add(refused_bytes) <= ORDINARY_CAP_BYTES)
    }

    /// `complete` of an entity's terminal frame: whether no row of it was lost here (SES-43).
    fn complete(gap: bool, evicted: bool) -> bool {
        !gap && !evicted
    }
}

/// The rules as they are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Rules;

impl SenderGuards for Rules {}
