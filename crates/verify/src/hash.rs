//! Everything random about a world is a hash of what it is asked, so that it answers by prefix.

/// A well-mixed function of one number (the finalizer of splitmix64).
pub(crate) const fn mix(value: u64) -> u64 {
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

/// Takes one more value into a hash; order matters.
pub(crate) const fn fold(hash: u64, value: u64) -> u64 {
    mix(hash.wrapping_mul(3).wrapping_add(value).wrapping_add(0x9e37_79b9_7f4a_7c15))
}

/// Takes a text into a hash.
pub(crate) fn fold_text(hash: u64, text: &str) -> u64 {
    text.bytes().fold(fold(hash, text.len() as u64), |hash, byte| fold(hash, u64::from(byte)))
}

/// A part of a hash as a number below `bound`; different `part`s are independent.
pub(crate) const fn below(hash: u64, part: u64, bound: u64) -> u64 {
    if bound == 0 { 0 } else { fold(hash, part) % bound }
}
