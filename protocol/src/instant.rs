//! Time as the machines see it: an integer that arrives with each input.

use std::hash::{Hash, Hasher};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A point in time: microseconds since 1970 UTC on the guarded wall clock, which never runs backwards.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(transparent)]
pub struct Instant(u64);

/// A length of time in microseconds.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    JsonSchema,
)]
#[serde(transparent)]
pub struct Duration(u64);

/// As 128 bits, which nothing else here is: a hasher can tell a time from a number, and a search
/// that compares states takes it relative to its own clock.
impl Hash for Instant {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u128(u128::from(self.0));
    }
}

impl Instant {
    /// The earliest instant.
    pub const ZERO: Self = Self(0);

    /// An instant from microseconds since 1970 UTC.
    pub const fn from_micros(micros: u64) -> Self {
        Self(micros)
    }

    /// An instant from milliseconds since 1970 UTC.
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis.saturating_mul(1_000))
    }

    /// Microseconds since 1970 UTC.
    pub const fn as_micros(self) -> u64 {
        self.0
    }

    /// Whole milliseconds since 1970 UTC, as the wire states times.
    pub const fn as_millis(self) -> u64 {
        self.0 / 1_000
    }

    /// Age of `anchor` now. A negative age (clock moved back) counts as 0 (run-state 1.1).
    pub const fn age_of(self, anchor: Self) -> Duration {
        Duration(self.0.saturating_sub(anchor.0))
    }

    /// This instant moved forward by `by`, saturating.
    pub const fn plus(self, by: Duration) -> Self {
        Self(self.0.saturating_add(by.0))
    }
}

impl Duration {
    /// No time at all.
    pub const ZERO: Self = Self(0);

    /// A duration of whole seconds.
    pub const fn from_secs(secs: u64) -> Self {
        Self(secs.saturating_mul(1_000_000))
    }

    /// A duration of whole milliseconds.
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis.saturating_mul(1_000))
    }

    /// A duration of microseconds.
    pub const fn from_micros(micros: u64) -> Self {
        Self(micros)
    }

    /// Microseconds.
    pub const fn as_micros(self) -> u64 {
        self.0
    }

    /// Whole milliseconds.
    pub const fn as_millis(self) -> u64 {
        self.0 / 1_000
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_negative_age_counts_as_zero() {
        let now = Instant::from_millis(5);
        assert_eq!(now.age_of(Instant::from_millis(7)), Duration::ZERO);
        assert_eq!(now.age_of(Instant::from_millis(2)), Duration::from_millis(3));
    }

    #[test]
    fn sums_saturate_instead_of_wrapping() {
        let end = Instant::from_micros(u64::MAX);
        assert_eq!(end.plus(Duration::from_micros(1)), end);
    }
}
