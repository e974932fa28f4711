//! The scope of a schedule: how many of what it may have.

use std::collections::BTreeMap;
use std::fmt;

use super::error::Problem;

/// What a scope counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ScopeKey {
    /// Clients.
    Clients,
    /// Events of the agent.
    Events,
    /// Stops.
    Stops,
    /// Lost connections or messages.
    Drops,
    /// Crashes of the server.
    Crashes,
    /// Capacity of a queue.
    Cap,
}

impl ScopeKey {
    /// All keys in the order they are written.
    pub const ALL: [Self; 6] =
        [Self::Clients, Self::Events, Self::Stops, Self::Drops, Self::Crashes, Self::Cap];

    /// The name in a file.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Clients => "clients",
            Self::Events => "events",
            Self::Stops => "stops",
            Self::Drops => "drops",
            Self::Crashes => "crashes",
            Self::Cap => "cap",
        }
    }
}

/// Counts by key; at least one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scope(BTreeMap<ScopeKey, u64>);

impl Scope {
    /// A scope with these counts; `None` without any.
    pub fn new(counts: BTreeMap<ScopeKey, u64>) -> Option<Self> {
        (!counts.is_empty()).then_some(Self(counts))
    }

    /// The count of `key`, if the scope states one.
    pub fn get(&self, key: ScopeKey) -> Option<u64> {
        self.0.get(&key).copied()
    }

    /// Reads `key:number` entries between commas.
    ///
    /// # Errors
    /// The first wrong entry.
    pub fn parse(text: &str) -> Result<Self, Problem> {
        let mut counts = BTreeMap::new();
        for entry in text.split(',') {
            let wrong = || Problem::Scope(entry.chars().take(40).collect());
            let (name, count) = entry.split_once(':').ok_or_else(wrong)?;
            let key = ScopeKey::ALL.into_iter().find(|key| key.as_str() == name);
            let key = key.ok_or_else(wrong)?;
            let count = super::parse::number(count).ok_or_else(wrong)?;
            if counts.insert(key, count).is_some() {
                return Err(wrong());
            }
        }
        Ok(Self(counts))
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (key, count)) in self.0.iter().enumerate() {
            let comma = if index == 0 { "" } else { "," };
            write!(f, "{comma}{}:{count}", key.as_str())?;
        }
        Ok(())
    }
}
