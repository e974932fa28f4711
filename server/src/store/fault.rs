//! What can go wrong inside the store's threads.

use runwarden_runtime::ports::StoreFailure;

/// Why a piece of work was not done: refused, or failed by the database.
#[derive(Debug, thiserror::Error)]
pub(super) enum Fault {
    /// The caller gets this answer.
    #[error(transparent)]
    Refused(#[from] StoreFailure),
    /// The database failed.
    #[error(transparent)]
    Sqlite(#[from] rusqlite::Error),
}

impl From<Fault> for StoreFailure {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Refused(failure) => failure,
            Fault::Sqlite(error) => Self::Unavailable(error.to_string()),
        }
    }
}

/// A call that the port's contract rules out.
pub(super) fn misuse(what: &str) -> Fault {
    Fault::Refused(StoreFailure::Unavailable(what.to_owned()))
}
