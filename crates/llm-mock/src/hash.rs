//! Small deterministic hashes: everything random here is a function of prefix and seed.

use respool_core::Token;

const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// Every bit of the result depends on every bit of the argument (the finalizer of SplitMix64).
pub(crate) const fn mix(mut bits: u64) -> u64 {
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

/// Takes one more value into a hash.
pub(crate) const fn fold(hash: u64, value: u64) -> u64 {
    (hash.rotate_left(5) ^ value).wrapping_mul(GOLDEN)
}

/// The hash of a seed and tokens.
pub(crate) fn hash_tokens(seed: u64, tokens: &[Token]) -> u64 {
    mix(tokens.iter().fold(mix(seed), |hash, token| fold(hash, u64::from(*token))))
}

/// The hash of a seed and a text.
pub(crate) fn hash_text(seed: u64, text: &str) -> u64 {
    mix(text.bytes().fold(mix(seed), |hash, byte| fold(hash, u64::from(byte))))
}

/// A hash as a number in `0.0 .. 1.0`.
pub(crate) fn unit(hash: u64) -> f64 {
    (hash >> 11) as f64 / (1_u64 << 53) as f64
}

/// A seed from numbers; each bit of it depends on each bit of them.
#[must_use]
pub fn seed_from(parts: &[u64]) -> u64 {
    mix(parts.iter().fold(GOLDEN, |hash, part| fold(hash, mix(*part))))
}

/// A sequence of random choices from one key.
#[derive(Clone, Debug)]
pub struct Draw(u64);

impl Draw {
    /// The sequence of this key.
    #[must_use]
    pub const fn new(key: u64) -> Self {
        Self(key)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(GOLDEN);
        mix(self.0)
    }

    /// A number in `0 .. n`, or 0 if there is none.
    pub fn below(&mut self, n: usize) -> usize {
        ((u128::from(self.next()) * n as u128) >> 64) as usize
    }

    /// True in so many of a hundred cases.
    pub(crate) fn percent(&mut self, percent: u8) -> bool {
        self.below(100) < usize::from(percent)
    }

    /// One of them, or nothing if there is none.
    pub(crate) fn pick<'a, T>(&mut self, items: &'a [T]) -> Option<&'a T> {
        items.get(self.below(items.len()))
    }

    /// A number in `0.0 .. 1.0`.
    pub fn unit(&mut self) -> f64 {
        unit(self.next())
    }
}
