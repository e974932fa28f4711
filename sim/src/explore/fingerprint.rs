//! Eight bytes that stand for a state, with every time taken relative to now.

use std::hash::{BuildHasherDefault, Hasher};

use runwarden_protocol::instant::Instant;

const MULTIPLIER: u64 = 0x9e37_79b9_7f4a_7c15;

/// From this number on one byte does not hold a number.
const WIDE: u64 = u8::MAX as u64;

/// Hashes a world. Two states that differ only by a shift in time get one fingerprint, since machines
/// decide by differences of times alone.
///
/// Nearly all numbers of a world are small, and a small one takes one byte of a word that is mixed when
/// it is full; a wide one leaves a mark there and is mixed itself.
pub(super) struct Fingerprint {
    state: u64,
    now: Instant,
    word: u64,
    bits: u32,
}

/// A set of fingerprints: they are hashed already.
pub(super) type FingerprintSet = std::collections::HashSet<u64, BuildHasherDefault<Identity>>;

impl Fingerprint {
    pub(super) fn at(now: Instant) -> Self {
        Self { state: 0x243f_6a88_85a3_08d3, now, word: 0, bits: 0 }
    }

    #[inline]
    fn number(&mut self, number: u64) {
        if number < WIDE {
            self.byte(number);
        } else {
            self.byte(WIDE);
            self.state = mixed(!self.state, number);
        }
    }

    #[inline]
    fn byte(&mut self, byte: u64) {
        self.word |= byte << self.bits;
        self.bits += 8;
        if self.bits == u64::BITS {
            self.state = mixed(self.state, self.word);
            self.word = 0;
            self.bits = 0;
        }
    }
}

fn mixed(state: u64, word: u64) -> u64 {
    let product = u128::from(state ^ word) * u128::from(MULTIPLIER);
    let (low, high) = (product as u64, (product >> 64) as u64);
    (low ^ high).rotate_left(23).wrapping_add(MULTIPLIER)
}

impl Hasher for Fingerprint {
    fn finish(&self) -> u64 {
        let last = mixed(self.state, self.word);
        mixed(mixed(last, u64::from(self.bits)), 1)
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.number(u64::from(*byte));
        }
    }

    fn write_u8(&mut self, number: u8) {
        self.number(u64::from(number));
    }

    fn write_u32(&mut self, number: u32) {
        self.number(u64::from(number));
    }

    fn write_u64(&mut self, number: u64) {
        self.number(number);
    }

    fn write_usize(&mut self, number: usize) {
        self.number(number as u64);
    }

    fn write_isize(&mut self, number: isize) {
        self.number(number as u64);
    }

    /// A time, the only thing that is hashed as 128 bits.
    fn write_u128(&mut self, number: u128) {
        self.number((number as u64).wrapping_sub(self.now.as_micros()));
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
    fn wide_numbers_are_told_from_what_they_are_written_as() {
        let wide = [254, 255, 256, u64::MAX - 1, u64::MAX];
        for a in wide {
            for b in wide {
                assert_eq!(of(0, a) == of(0, b), a == b, "{a} {b}");
                assert_eq!(of(0, (a, b)) == of(0, (b, a)), a == b, "{a} {b}");
            }
        }
        assert_ne!(of(0, 0_u8), of(0, (0_u8, 0_u8)));
        assert_ne!(of(0, 1_u64 << 8), of(0, (0_u8, 1_u8)));
    }

    #[test]
    fn times_are_relative_and_numbers_are_not() {
        let at = Instant::from_micros;
        assert_eq!(of(5, (at(7), 1_u64)), of(105, (at(107), 1_u64)));
        assert_ne!(of(5, at(7)), of(5, at(8)));
        assert_ne!(of(5, 7_u64), of(105, 107_u64));
    }
}
