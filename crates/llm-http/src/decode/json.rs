//! JSON as Python writes it: with `NaN` and `Infinity`, and numbers that no float holds.

use std::borrow::Cow;
use std::fmt;

use respool_core::Logprob;
use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error, Visitor};

use super::Malformed;
use crate::error::quote;

/// Reads one JSON value. `spare` holds the text where it had to be repaired first.
pub(super) fn read<'a, S>(seed: S, text: &'a [u8], spare: &'a mut Vec<u8>) -> Result<S::Value, Malformed>
where
    S: DeserializeSeed<'a> + Copy,
{
    let error = match read_strictly(seed, text) {
        Ok(value) => return Ok(value),
        Err(error) => error,
    };
    let repaired = repair(text).ok_or_else(|| malformed(&error, text))?;
    *spare = repaired;
    read_strictly(seed, spare).map_err(|error| malformed(&error, text))
}

fn read_strictly<'a, S: DeserializeSeed<'a> + Copy>(seed: S, text: &'a [u8]) -> serde_json::Result<S::Value> {
    // Looked at once as a whole, rather than string by string.
    match str::from_utf8(text) {
        Ok(text) => read_to_end(seed, serde_json::Deserializer::from_str(text)),
        Err(_) => read_to_end(seed, serde_json::Deserializer::from_slice(text)),
    }
}

fn read_to_end<'a, S, R>(
    seed: S,
    mut deserializer: serde_json::Deserializer<R>,
) -> serde_json::Result<S::Value>
where
    S: DeserializeSeed<'a>,
    R: serde_json::de::Read<'a>,
{
    let value = seed.deserialize(&mut deserializer)?;
    deserializer.end()?;
    Ok(value)
}

fn malformed(error: &serde_json::Error, text: &[u8]) -> Malformed {
    Malformed::invalid(format!("{error}, in: {}", quote_event(text)))
}

/// The beginning of an event, for messages.
pub(crate) fn quote_event(text: &[u8]) -> String {
    quote(&String::from_utf8_lossy(&text[..text.len().min(1000)]))
}

/// The text with `null` for every bare number that is not finite; `None` if there is none.
fn repair(text: &[u8]) -> Option<Vec<u8>> {
    let mut repaired = Vec::with_capacity(text.len());
    let mut copied = 0;
    let mut at = 0;
    while at < text.len() {
        match text[at] {
            b'"' => at = string_end(text, at),
            byte if is_word(byte) => {
                let end = at + text[at..].iter().take_while(|&&byte| is_word(byte)).count();
                if is_not_finite(&text[at..end]) {
                    repaired.extend_from_slice(&text[copied..at]);
                    repaired.extend_from_slice(b"null");
                    copied = end;
                }
                at = end;
            }
            _ => at += 1,
        }
    }
    if copied == 0 {
        return None;
    }
    repaired.extend_from_slice(&text[copied..]);
    Some(repaired)
}

/// Where the string that begins at `start` ends.
fn string_end(text: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while let Some(&byte) = text.get(at) {
        match byte {
            b'"' => return at + 1,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    text.len()
}

const fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'+' | b'.')
}

fn is_not_finite(word: &[u8]) -> bool {
    let digits = word.strip_prefix(b"-").unwrap_or(word);
    let named = matches!(digits, b"NaN" | b"Infinity");
    let is_number = digits.first().is_some_and(u8::is_ascii_digit);
    named
        || is_number && {
            let text = str::from_utf8(word).unwrap_or_default();
            text.parse::<f64>().is_ok_and(f64::is_infinite)
        }
}

/// A log-probability: a number, or anything that stands for none.
#[derive(Clone, Copy, Debug)]
pub(super) struct Value(pub(super) Logprob);

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ValueVisitor)
    }
}

struct ValueVisitor;

impl Visitor<'_> for ValueVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a log-probability")
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        // What an f32 cannot hold becomes infinite, and so missing.
        Ok(Value(Logprob::new(value as f32)))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Value, E> {
        self.visit_f64(value as f64)
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Value, E> {
        self.visit_f64(value as f64)
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value(Logprob::MISSING))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Value, E> {
        match text.parse::<f64>() {
            Ok(value) if !value.is_finite() => Ok(Value(Logprob::MISSING)),
            _ => Err(E::invalid_type(serde::de::Unexpected::Str(text), &self)),
        }
    }
}

/// A text, or a number in its place; borrowed where it can be.
#[derive(Clone, Debug)]
pub(super) struct Text<'a>(pub(super) Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TextVisitor)
    }
}

struct TextVisitor;

impl<'de> Visitor<'de> for TextVisitor {
    type Value = Text<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text or a number")
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Text<'de>, E> {
        Ok(Text(Cow::Borrowed(text)))
    }

    fn visit_str<E>(self, text: &str) -> Result<Text<'de>, E> {
        Ok(Text(Cow::Owned(text.to_owned())))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Text<'de>, E> {
        Ok(Text(Cow::Owned(number.to_string())))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Text<'de>, E> {
        Ok(Text(Cow::Owned(number.to_string())))
    }
}
