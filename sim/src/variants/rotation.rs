//! Faulty variants of the rotation to a continuation.

use runwarden_protocol::run::guards::Guards;

/// The ownership stays under the parent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct OwnerLeftBehind;

impl Guards for OwnerLeftBehind {
    fn moves_owner() -> bool {
        false
    }
}

/// What waits in the parent is forgotten.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct QueueForgotten;

impl Guards for QueueForgotten {
    fn moves_queue() -> bool {
        false
    }
}
