//! Random numbers of a seed. The sequence is part of the race file format: it must never change.

/// The generator SplitMix64: equal seeds give equal numbers on every machine and in every release.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Random(u64);

impl Random {
    /// The numbers of `seed`.
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next number.
    pub const fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ (word >> 31)
    }

    /// A number below `bound`, which is at least 1. Each is equally likely as far as 64 bits can tell.
    pub fn below(&mut self, bound: usize) -> usize {
        let product = u128::from(self.next()) * bound.max(1) as u128;
        usize::try_from(product >> 64).expect("it is below a usize")
    }

    /// Whether something happens that happens `permille` times in a thousand.
    pub fn chance(&mut self, permille: u32) -> bool {
        self.below(1_000) < permille as usize
    }

    /// Another stream that this one decides.
    pub const fn fork(&mut self) -> Self {
        Self(self.next())
    }

    /// True in one of `times` cases.
    pub fn one_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sequence_of_a_seed_is_fixed() {
        let mut random = Random::new(0);
        let numbers = [random.next(), random.next(), random.next()];
        assert_eq!(numbers, [0xe220_a839_7b1d_cdaf, 0x6e78_9e6a_a1b9_65f4, 0x06c4_5d18_8009_454f]);
    }

    #[test]
    fn a_number_is_below_its_bound() {
        let mut random = Random::new(7);
        let mut seen = [0_u32; 3];
        for _ in 0..3_000 {
            seen[random.below(3)] += 1;
        }
        assert!(seen.iter().all(|count| (800..1_200).contains(count)), "{seen:?}");
        assert_eq!((random.below(1), random.below(0)), (0, 0));
    }
}
