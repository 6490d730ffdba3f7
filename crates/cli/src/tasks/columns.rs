//! The columns of a row, each read by itself, so that an error names its field.

use std::collections::BTreeMap;

use respool_core::JsonText;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

/// A field and what is wrong with it.
#[derive(Debug)]
pub(super) struct BadField {
    pub(super) field: Option<String>,
    pub(super) reason: String,
}

impl BadField {
    pub(super) fn new(field: impl Into<String>, reason: impl Into<String>) -> Self {
        Self { field: Some(field.into()), reason: reason.into() }
    }
}

/// A JSON object whose values are still text.
#[derive(Debug, Default)]
pub(super) struct Columns {
    /// Path of the object; empty for the row itself.
    path: String,
    values: BTreeMap<String, Box<RawValue>>,
}

impl Columns {
    /// A whole line.
    pub(super) fn of_line(line: &[u8]) -> Result<Self, BadField> {
        let whole = |reason| BadField { field: None, reason };
        let text = std::str::from_utf8(line).map_err(|error| {
            whole(format!("invalid UTF-8 at byte {} of the line", error.valid_up_to() + 1))
        })?;
        let values = serde_json::from_str(text).map_err(|error| {
            whole(format!("expected a JSON object: {} (column {})", without_line(&error), error.column()))
        })?;
        Ok(Self { path: String::new(), values })
    }

    /// The object in a column, which stays; an absent one is empty.
    pub(super) fn object(&self, name: &str) -> Result<Self, BadField> {
        let path = self.path_of(name);
        let Some(text) = self.peek(name) else { return Ok(Self { path, ..Self::default() }) };
        let values = serde_json::from_str(text).map_err(|error| {
            BadField::new(&path, format!("expected a JSON object: {}", without_line(&error)))
        })?;
        Ok(Self { path, values })
    }

    /// A column's value; null is absent.
    pub(super) fn take<T: DeserializeOwned>(&mut self, name: &str) -> Result<Option<T>, BadField> {
        let Some(raw) = self.take_raw(name) else { return Ok(None) };
        let value = serde_path_to_error::deserialize(&mut serde_json::Deserializer::from_str(raw.get()));
        value.map(Some).map_err(|error| {
            let (path, inner) = (self.path_of(name), error.path().to_string());
            let path = match inner.as_str() {
                "." => path,
                inner if inner.starts_with('[') => format!("{path}{inner}"),
                inner => format!("{path}.{inner}"),
            };
            BadField::new(path, without_line(error.inner()))
        })
    }

    /// A column's text as it is written; null is absent.
    pub(super) fn take_json(&mut self, name: &str) -> Result<Option<JsonText>, BadField> {
        let Some(raw) = self.take_raw(name) else { return Ok(None) };
        JsonText::new(raw.get())
            .map(Some)
            .map_err(|error| BadField::new(self.path_of(name), error.to_string()))
    }

    /// A column's text, which stays; null is absent.
    pub(super) fn peek(&self, name: &str) -> Option<&str> {
        self.values.get(name).map(|raw| raw.get()).filter(|text| *text != "null")
    }

    /// The names of all columns.
    pub(super) fn names(&self) -> Vec<String> {
        self.values.keys().cloned().collect()
    }

    /// Takes a column away.
    pub(super) fn forget(&mut self, name: &str) {
        self.values.remove(name);
    }

    /// The names that were not taken.
    pub(super) fn rest(self) -> impl Iterator<Item = String> {
        self.values.into_keys()
    }

    pub(super) fn path_of(&self, name: &str) -> String {
        if self.path.is_empty() { name.to_owned() } else { format!("{}.{name}", self.path) }
    }

    fn take_raw(&mut self, name: &str) -> Option<Box<RawValue>> {
        self.values.remove(name).filter(|raw| raw.get() != "null")
    }
}

/// Every row is one line, and in a column's value the position says nothing.
fn without_line(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.replace(&format!(" at line {} column {}", error.line(), error.column()), "")
}
