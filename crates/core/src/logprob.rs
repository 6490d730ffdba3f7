//! Log-probabilities that are compared by bits and are never NaN.

use std::fmt;

/// The log-probability of a sampled token (natural logarithm), or an explicit *missing*.
///
/// Four bytes. Two are equal if their bits are equal, so `0.0` and `-0.0` differ.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Logprob(u32);

impl Logprob {
    /// The engine gave no usable value. Its bits are a NaN, which [`Self::new`] never stores.
    pub const MISSING: Self = Self(u32::MAX);

    /// A finite value as it is; NaN and the infinities become [`Self::MISSING`].
    #[must_use]
    pub const fn new(value: f32) -> Self {
        if value.is_finite() { Self(value.to_bits()) } else { Self::MISSING }
    }

    /// The finite value, or `None` if it is missing.
    #[must_use]
    pub fn get(self) -> Option<f32> {
        (self != Self::MISSING).then(|| f32::from_bits(self.0))
    }
}

impl From<Option<f32>> for Logprob {
    fn from(value: Option<f32>) -> Self {
        value.map_or(Self::MISSING, Self::new)
    }
}

impl fmt::Debug for Logprob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.get() {
            Some(value) => write!(f, "{value:?}"),
            None => f.write_str("missing"),
        }
    }
}
