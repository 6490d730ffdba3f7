//! JSON with its numbers as they are written, so that none is rounded before it is compared.

use std::collections::BTreeMap;
use std::fmt;

use respool_core::JsonText;
use serde::Deserialize;
use serde::de::{Error as _, MapAccess, Visitor};
use serde_json::value::RawValue;

/// A JSON value.
#[derive(Clone, Debug)]
pub(crate) enum Json {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number, as it was written.
    Number(String),
    /// A string, its escapes read.
    Text(String),
    /// A list.
    List(Vec<Self>),
    /// An object, its keys in order; of two equal keys both.
    Object(Vec<(String, Self)>),
}

impl Json {
    /// Reads a text.
    ///
    /// # Errors
    /// If it is not JSON.
    pub(crate) fn parse(text: &str) -> serde_json::Result<Self> {
        serde_json::from_str(text)
    }

    /// The keys of an object in order; none of anything else.
    pub(crate) fn keys(&self) -> Vec<&str> {
        match self {
            Self::Object(members) => members.iter().map(|(key, _)| key.as_str()).collect(),
            _ => Vec::new(),
        }
    }
}

/// Numbers by value, objects without regard to key order (of two equal keys the last counts).
impl PartialEq for Json {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Null, Self::Null) => true,
            (Self::Bool(a), Self::Bool(b)) => a == b,
            (Self::Number(a), Self::Number(b)) => decimal(a) == decimal(b),
            (Self::Text(a), Self::Text(b)) => a == b,
            (Self::List(a), Self::List(b)) => a == b,
            (Self::Object(a), Self::Object(b)) => by_key(a) == by_key(b),
            _ => false,
        }
    }
}

fn by_key(members: &[(String, Json)]) -> BTreeMap<&str, &Json> {
    members.iter().map(|(key, value)| (key.as_str(), value)).collect()
}

/// Sign, digits without zeros at either end, and the power of ten that the last digit stands for:
/// equal exactly for numbers of one value. An exponent that no `i64` holds stays text.
fn decimal(number: &str) -> (bool, String, Result<i64, &str>) {
    let (negative, number) = number.strip_prefix('-').map_or((false, number), |rest| (true, rest));
    let (mantissa, exponent) = number.split_once(['e', 'E']).unwrap_or((number, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = format!("{whole}{fraction}");
    let kept = digits.trim_end_matches('0');
    if kept.is_empty() {
        return (false, String::new(), Ok(0));
    }
    let shift = (digits.len() - kept.len()) as i64 - fraction.len() as i64;
    let power = exponent.parse::<i64>().ok().and_then(|power| power.checked_add(shift)).ok_or(exponent);
    (negative, kept.trim_start_matches('0').to_owned(), power)
}

impl fmt::Display for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("null"),
            Self::Bool(value) => value.fmt(f),
            Self::Number(number) => f.write_str(number),
            Self::Text(text) => write!(f, "{}", serde_json::Value::from(text.as_str())),
            Self::List(items) => {
                let items: Vec<String> = items.iter().map(Self::to_string).collect();
                write!(f, "[{}]", items.join(", "))
            }
            Self::Object(members) => {
                let member = |(key, value): &(String, Self)| {
                    format!("{}: {value}", serde_json::Value::from(key.as_str()))
                };
                write!(f, "{{{}}}", members.iter().map(member).collect::<Vec<_>>().join(", "))
            }
        }
    }
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = <&RawValue>::deserialize(deserializer)?.get().trim();
        // Also bounds the depth: each level is a call of this function.
        JsonText::new(raw).map_err(D::Error::custom)?;
        let read = match raw.as_bytes().first() {
            Some(b'n') => Ok(Self::Null),
            Some(b't' | b'f') => Ok(Self::Bool(raw == "true")),
            Some(b'"') => serde_json::from_str(raw).map(Self::Text),
            Some(b'[') => serde_json::from_str(raw).map(Self::List),
            Some(b'{') => serde_json::from_str(raw).map(|Members(members)| Self::Object(members)),
            _ => Ok(Self::Number(raw.to_owned())),
        };
        read.map_err(D::Error::custom)
    }
}

struct Members(Vec<(String, Json)>);

impl<'de> Deserialize<'de> for Members {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Read;
        impl<'de> Visitor<'de> for Read {
            type Value = Members;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(Read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(a: &str, b: &str, equal: bool) {
        assert_eq!(Json::parse(a).expect("json") == Json::parse(b).expect("json"), equal, "{a} and {b}");
    }

    #[test]
    fn numbers_compare_by_value_without_rounding() {
        check("9007199254740993", "9007199254740992", false);
        check("123456789012345678901234567890", "123456789012345678901234567891", false);
        check("1.0", "1", true);
        check("120e-1", "12", true);
        check("-0.0", "0", true);
        check("1e99999999999999999999", "2e99999999999999999999", false);
        check("1", "\"1\"", false);
        check("-1", "1", false);
    }

    #[test]
    fn deep_nesting_is_refused() {
        let deep = "[".repeat(100_000) + &"]".repeat(100_000);
        assert!(Json::parse(&deep).is_err());
    }

    #[test]
    fn key_order_is_kept_and_does_not_count() {
        let a = r#"{"zeta": [1, {"x": null}], "alpha": "caf\u00e9"}"#;
        check(a, r#"{"alpha": "café", "zeta": [1.0, {"x": null}]}"#, true);
        check(a, r#"{"alpha": "café", "zeta": [1]}"#, false);
        assert_eq!(Json::parse(a).expect("json").keys(), ["zeta", "alpha"]);
    }
}
