//! Makes control strings in message text opaque: the template sees a placeholder, so that neither
//! its logic nor the tokenizer takes them for control tokens.

use std::ops::Range;

use minijinja::value::{Value, ValueKind};

use crate::controls::Controls;
use crate::python::{Dict, List};

/// Letters that no chat uses (cuneiform, 1024 of them): printable, without case, no white space, so
/// that no template changes them. One that is absent from the chat at hand is chosen.
const CANDIDATES: std::ops::RangeInclusive<char> = '\u{12000}'..='\u{123ff}';

/// Every candidate occurs in the chat.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NoUnusedLetter;

/// Two letters that occur in none of the values.
pub(crate) fn unused_letters<'a>(
    values: impl Iterator<Item = &'a Value> + Clone,
) -> Result<[char; 2], NoUnusedLetter> {
    let mut unused = CANDIDATES.filter(|letter| !values.clone().any(|value| mentions(value, *letter)));
    unused.next().zip(unused.next()).map(|(first, second)| [first, second]).ok_or(NoUnusedLetter)
}

fn mentions(value: &Value, letter: char) -> bool {
    match value.kind() {
        ValueKind::String => value.as_str().is_some_and(|text| text.contains(letter)),
        ValueKind::Map => value.downcast_object_ref::<Dict>().is_some_and(|dict| {
            dict.0.iter().any(|(key, value)| key.contains(letter) || mentions(value, letter))
        }),
        ValueKind::Seq => value
            .downcast_object_ref::<List>()
            .is_some_and(|list| list.0.iter().any(|item| mentions(item, letter))),
        _ => false,
    }
}

/// The control strings that were replaced, by the number in their placeholder.
#[derive(Debug)]
pub(crate) struct Opaque<'a> {
    controls: &'a Controls,
    bracket: char,
    hidden: Vec<&'a str>,
}

/// A text, and the byte ranges in it that are plain text whatever they spell.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Guarded {
    pub(crate) text: String,
    pub(crate) plain: Vec<Range<usize>>,
}

impl<'a> Opaque<'a> {
    /// Placeholders stand between two `bracket`s, a letter that the chat does not use.
    pub(crate) fn new(controls: &'a Controls, bracket: char) -> Self {
        Self { controls, bracket, hidden: Vec::new() }
    }

    /// The message with the control strings of its text hidden. Assistant messages stay as they
    /// are: what the policy writes are its own control tokens.
    pub(crate) fn hide_message(&mut self, message: &Value) -> Value {
        let Some(dict) = message.downcast_object_ref::<Dict>() else { return message.clone() };
        if dict.text("role") == Some("assistant") {
            return message.clone();
        }
        let Some(content) = dict.0.get("content") else { return message.clone() };
        let mut dict = dict.clone();
        dict.set("content", self.hide_content(content));
        dict.into_value()
    }

    fn hide_content(&mut self, content: &Value) -> Value {
        if let Some(text) = content.as_str() {
            return self.hide(text).map_or_else(|| content.clone(), Value::from);
        }
        let Some(parts) = content.downcast_object_ref::<List>() else { return content.clone() };
        let parts = parts.0.iter().map(|part| match part.downcast_object_ref::<Dict>() {
            Some(dict) if dict.text("text").is_some() => {
                let mut dict = dict.clone();
                if let Some(text) = dict.text("text").and_then(|text| self.hide(text)) {
                    dict.set("text", text);
                }
                dict.into_value()
            }
            _ => part.clone(),
        });
        List::value(parts.collect())
    }

    /// The text with placeholders, or `None` if there is nothing to hide.
    fn hide(&mut self, text: &str) -> Option<String> {
        let mut out = String::new();
        let mut at = 0;
        while let Some((range, control)) = self.controls.find(text, at) {
            out.push_str(&text[at..range.start]);
            out.push_str(&format!("{0}{1}{0}", self.bracket, self.hidden.len()));
            self.hidden.push(&control.spelling);
            at = range.end;
        }
        (at > 0).then(|| out + &text[at..])
    }

    /// A rendered text with the control strings back in their places.
    pub(crate) fn reveal(&self, rendered: &str) -> Guarded {
        let mut pieces = rendered.split(self.bracket);
        let mut guarded = Guarded { text: pieces.next().unwrap_or_default().to_owned(), plain: Vec::new() };
        while let (Some(number), Some(after)) = (pieces.next(), pieces.next()) {
            let hidden = number.parse().ok().and_then(|number: usize| self.hidden.get(number));
            let start = guarded.text.len();
            guarded.text.push_str(hidden.copied().unwrap_or_default());
            guarded.plain.push(start..guarded.text.len());
            guarded.text.push_str(after);
        }
        guarded
    }
}
