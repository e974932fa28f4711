//! Faulty variants of the deletion of a session.

use runwarden_protocol::run::guards::Guards;

/// The record is deleted and the run that it meets works on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct DeletedBesideItsRun;

impl Guards for DeletedBesideItsRun {
    fn ends_run_with_deletion() -> bool {
        false
    }
}

/// A deleted session answers as if it were there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct DeletedStillKnown;

impl Guards for DeletedStillKnown {
    fn forgets_deleted() -> bool {
        false
    }
}
