//! How much of everything may still happen in a world.

use std::collections::BTreeMap;

use crate::race::{Scope, ScopeKey};

/// Most of one thing in an exhaustive scope; more is for random search.
pub const COUNT_MAX: u64 = 15;

/// What may still happen. A scope states it for the begin of a search.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Budget {
    /// Requests of clients beside Stops: starts, messages for the queue, changes of the queue.
    pub clients: u8,
    /// Rows the agents may produce.
    pub events: u8,
    /// Stops.
    pub stops: u8,
    /// Faults other than a crash: a lost connection or worker, a write, launch or construction that fails.
    pub drops: u8,
    /// Crashes of the server.
    pub crashes: u8,
}

/// A scope that this ring cannot take.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BudgetError {
    /// A count is too large.
    #[error("{key} is {count}: an exhaustive search takes at most {COUNT_MAX} of each")]
    TooLarge {
        /// Of what.
        key: &'static str,
        /// The count.
        count: u64,
    },
    /// A key that these worlds have nothing of.
    #[error("no scenario bounds its queue: leave `cap` out")]
    Cap,
}

impl Budget {
    /// This budget with the counts that `scope` states in their place.
    ///
    /// # Errors
    /// [`BudgetError`] when a count is too large.
    pub fn with(mut self, scope: &Scope) -> Result<Self, BudgetError> {
        for key in ScopeKey::ALL {
            let Some(count) = scope.get(key) else { continue };
            if count > COUNT_MAX {
                return Err(BudgetError::TooLarge { key: key.as_str(), count });
            }
            if key == ScopeKey::Cap {
                return Err(BudgetError::Cap);
            }
            self = self.with_count(key, count);
        }
        Ok(self)
    }

    /// This budget with `count` of `key`, at most [`COUNT_MAX`]; a key it does not have changes nothing.
    #[must_use]
    pub fn with_count(mut self, key: ScopeKey, count: u64) -> Self {
        let count = u8::try_from(count.min(COUNT_MAX)).expect("COUNT_MAX fits");
        match key {
            ScopeKey::Clients => self.clients = count,
            ScopeKey::Events => self.events = count,
            ScopeKey::Stops => self.stops = count,
            ScopeKey::Drops => self.drops = count,
            ScopeKey::Crashes => self.crashes = count,
            ScopeKey::Cap => {}
        }
        self
    }

    /// The scope that states this budget.
    pub fn scope(self) -> Scope {
        let counts = [
            (ScopeKey::Clients, self.clients),
            (ScopeKey::Events, self.events),
            (ScopeKey::Stops, self.stops),
            (ScopeKey::Drops, self.drops),
            (ScopeKey::Crashes, self.crashes),
        ];
        let counts: BTreeMap<_, _> =
            counts.into_iter().map(|(key, count)| (key, u64::from(count))).collect();
        Scope::new(counts).expect("five keys are stated")
    }
}
