//! The decisions of the registry, one method per guard; the defaults are the rules.

use std::fmt::Debug;
use std::hash::Hash;

use crate::delivery::limits::{RESULT_AGE_MAX, RESULT_INLINE_BYTES_MAX, RESULTS_KEPT};
use crate::ids::PayloadRef;
use crate::instant::Duration;

/// The guards of the registry. A faulty variant overrides one of them.
pub trait RequestGuards: Clone + Eq + Hash + Debug + Default + 'static {
    /// Whether a finished outcome is kept at this age, with so many newer ones (REQ-8).
    fn keeps(age: Duration, newer: usize) -> bool {
        age <= RESULT_AGE_MAX && newer < RESULTS_KEPT
    }

    /// Whether a reply is kept to be repeated (REQ-7).
    fn repeats(reply: PayloadRef) -> bool {
        reply.json_bytes as usize <= RESULT_INLINE_BYTES_MAX
    }

    /// Whether two uses of one key are the same change (REQ-10, REQ-15).
    fn same_fields(known: u64, offered: u64) -> bool {
        known == offered
    }

    /// Whether a use of a key joins the execution that is under way (REQ-16).
    fn shares() -> bool {
        true
    }
}

/// The rules as they are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Rules;

impl RequestGuards for Rules {}
