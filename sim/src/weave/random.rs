/// A seeded stream of numbers (SplitMix64).
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// The stream of a seed.
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next number.
    pub const fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `bound`; 0 when that is 0.
    pub fn below(&mut self, bound: usize) -> usize {
        let bound = bound as u64;
        usize::try_from(self.number().checked_rem(bound).unwrap_or(0)).expect("below a usize")
    }

    /// Whether something happens that happens `permille` times in a thousand.
    pub fn chance(&mut self, permille: u32) -> bool {
        self.below(1_000) < permille as usize
    }

    /// Another stream that this one decides.
    pub const fn fork(&mut self) -> Self {
        Self(self.number())
    }
}
