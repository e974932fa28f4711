//! Choices that a seed makes, so that a failing run can be repeated.
#![allow(dead_code, reason = "each test binary uses a part of these")]

use std::ops::RangeInclusive;
use std::time::{SystemTime, UNIX_EPOCH};

/// Environment variable that fixes the seed.
pub(crate) const SEED: &str = "RUNWARDEN_SEED";

/// A small generator; equal seeds choose equally.
#[derive(Clone, Debug)]
pub(crate) struct Seeded {
    state: u64,
}

impl Seeded {
    /// A generator with the seed of the environment, else with a fresh one; prints the seed.
    ///
    /// # Panics
    /// When the variable holds no number.
    pub(crate) fn announced(test: &str) -> Self {
        let named = std::env::var(SEED).ok();
        let seed = match named {
            Some(text) => text.parse().unwrap_or_else(|_| panic!("{SEED}={text} is no number")),
            None => {
                let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
                u64::try_from(since.as_micros()).unwrap()
            }
        };
        println!("{test}: {SEED}={seed}");
        Self { state: seed }
    }

    /// A generator of its own for a part whose number of choices nobody knows.
    pub(crate) fn fork(&mut self) -> Self {
        Self { state: self.next() }
    }

    /// A number of the range.
    pub(crate) fn within(&mut self, range: RangeInclusive<u64>) -> u64 {
        let span = range.end() - range.start() + 1;
        range.start() + self.next() % span
    }

    /// Heads or tails.
    pub(crate) fn flip(&mut self) -> bool {
        self.next() & 1 == 1
    }

    /// Puts the values into another order.
    pub(crate) fn shuffle<T>(&mut self, values: &mut [T]) {
        for last in (1..values.len()).rev() {
            let other = usize::try_from(self.within(0..=last as u64)).unwrap();
            values.swap(last, other);
        }
    }

    /// SplitMix64.
    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}
