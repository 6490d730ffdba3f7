//! Numbers from a seed (SplitMix64).

/// A sequence of draws that is the same for the same seed.
#[derive(Clone, Debug)]
pub(crate) struct Draws(u64);

impl Draws {
    /// What a draw adds to the state: the n-th draw is that of the seed plus n steps.
    pub(crate) const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

    pub(crate) const fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) const fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(Self::STEP);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    }

    /// A number in `0.0 .. 1.0`.
    pub(crate) const fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// An index under `len`, which is not 0.
    pub(crate) const fn below(&mut self, len: usize) -> usize {
        (self.next() % len as u64) as usize
    }
}
