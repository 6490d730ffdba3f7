//! Writing a rational number in decimal.

use num_bigint::{BigInt, BigUint};
use num_rational::BigRational;
use num_traits::{One, Signed, Zero};

/// Digits after the point that are written exactly.
const EXACT_PLACES: u32 = 12;
/// Significant digits of what is rounded.
const SIGNIFICANT: i64 = 12;

pub(super) fn write(value: &BigRational) -> String {
    if value.is_integer() {
        return value.numer().to_string();
    }
    let places = exact_places(value.denom()).unwrap_or_else(|| rounded_places(value));
    let scaled = (value * BigRational::from_integer(BigInt::from(10).pow(places))).round();
    let digits = format!("{:0>width$}", scaled.numer().abs().to_string(), width = places as usize + 1);
    let (whole, fraction) = digits.split_at(digits.len() - places as usize);
    let sign = if scaled.is_negative() { "-" } else { "" };
    match fraction.trim_end_matches('0') {
        "" => format!("{sign}{whole}"),
        fraction => format!("{sign}{whole}.{fraction}"),
    }
}

/// How many digits after the point write a value with this denominator exactly, if few do.
fn exact_places(denominator: &BigInt) -> Option<u32> {
    (1..=EXACT_PLACES).find(|places| (BigInt::from(10).pow(*places) % denominator).is_zero())
}

/// How many digits after the point leave the significant ones.
fn rounded_places(value: &BigRational) -> u32 {
    let places = SIGNIFICANT - 1 - exponent(value.numer().magnitude(), value.denom().magnitude());
    u32::try_from(places).unwrap_or(0)
}

/// The `e` of `10^e <= numerator / denominator < 10^(e + 1)`.
fn exponent(numerator: &BigUint, denominator: &BigUint) -> i64 {
    let guess = decimal_len(numerator) - decimal_len(denominator);
    let power = u32::try_from(guess.abs()).map_or_else(|_| BigUint::one(), |e| BigUint::from(10u8).pow(e));
    let reached =
        if guess < 0 { numerator * power >= *denominator } else { *numerator >= denominator * power };
    if reached { guess } else { guess - 1 }
}

fn decimal_len(number: &BigUint) -> i64 {
    i64::try_from(number.to_string().len()).unwrap_or(i64::MAX)
}
