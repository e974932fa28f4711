//! What a store can promise (run-state 1.1).

use serde::{Deserialize, Serialize};

/// The kind of a server's store. The product's store is exclusive; rules for the other kinds bind there alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StoreKind {
    /// One process holds it, and session record, run journal and turn journal commit together.
    #[default]
    Exclusive,
    /// Several live processes use it.
    Shared,
    /// One process holds it, and its parts do not commit together.
    Split,
}

impl StoreKind {
    /// Whether other processes may be alive on it.
    pub const fn is_shared(self) -> bool {
        match self {
            Self::Shared => true,
            Self::Exclusive | Self::Split => false,
        }
    }

    /// Whether a settlement takes more than one commit.
    pub const fn is_split(self) -> bool {
        match self {
            Self::Split => true,
            Self::Exclusive | Self::Shared => false,
        }
    }

    pub(super) fn is_exclusive(&self) -> bool {
        *self == Self::Exclusive
    }
}
