//! Eight bytes that stand for a state, with every time taken relative to now.

use std::hash::{BuildHasherDefault, Hasher};

use runwarden_protocol::instant::Instant;

const MULTIPLIER: u64 = 0x9e37_79b9_7f4a_7c15;

/// Hashes a world. Two states that differ only by a shift in time get one fingerprint, since machines
/// decide by differences of times alone.
pub(super) struct Fingerprint {
    state: u64,
    now: Instant,
}

/// A set of fingerprints: they are hashed already.
pub(super) type FingerprintSet = std::collections::HashSet<u64, BuildHasherDefault<Identity>>;

impl Fingerprint {
    pub(super) fn at(now: Instant) -> Self {
        Self { state: 0x243f_6a88_85a3_08d3, now }
    }

    fn mix(&mut self, word: u64) {
        let product = u128::from(self.state ^ word) * u128::from(MULTIPLIER);
        let (low, high) = (product as u64, (product >> 64) as u64);
        self.state = (low ^ high).rotate_left(23).wrapping_add(MULTIPLIER);
    }
}

impl Hasher for Fingerprint {
    fn finish(&self) -> u64 {
        let mut last = Self { state: self.state, now: self.now };
        last.mix(0);
        last.mix(1);
        last.state
    }

    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.mix(u64::from_le_bytes(word));
        }
    }

    fn write_u8(&mut self, number: u8) {
        self.mix(u64::from(number));
    }

    fn write_u32(&mut self, number: u32) {
        self.mix(u64::from(number));
    }

    fn write_u64(&mut self, number: u64) {
        self.mix(number);
    }

    fn write_usize(&mut self, number: usize) {
        self.mix(number as u64);
    }

    fn write_isize(&mut self, number: isize) {
        self.mix(number as u64);
    }

    /// A time, the only thing that is hashed as 128 bits.
    fn write_u128(&mut self, number: u128) {
        self.mix((number as u64).wrapping_sub(self.now.as_micros()));
    }
}

/// The hasher of what is a hash.
#[derive(Default)]
pub(super) struct Identity(u64);

impl Hasher for Identity {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 << 8) | u64::from(*byte);
        }
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = number;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::hash::Hash;

    fn of(now: u64, value: impl Hash) -> u64 {
        let mut hasher = Fingerprint::at(Instant::from_micros(now));
        value.hash(&mut hasher);
        hasher.finish()
    }

    #[test]
    fn times_are_relative_and_numbers_are_not() {
        let at = Instant::from_micros;
        assert_eq!(of(5, (at(7), 1_u64)), of(105, (at(107), 1_u64)));
        assert_ne!(of(5, at(7)), of(5, at(8)));
        assert_ne!(of(5, 7_u64), of(105, 107_u64));
    }
}
