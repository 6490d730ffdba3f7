//! Where a sampled turn ends in the rendering of a longer chat (R8): a marker at the turn's end
//! finds the stop token after it, and what follows is the suffix.

use std::ops::Range;

use minijinja::value::Value;

use crate::python::{Dict, List};
use crate::template::{Scene, Template, TemplateError};

/// A chat with a sampled turn in it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sampled<'a> {
    /// What came before the turn.
    pub(crate) prefix: &'a [Value],
    /// The turn.
    pub(crate) turn: &'a Value,
    /// What comes after it.
    pub(crate) new: &'a [Value],
}

/// The rendering of the whole chat, cut behind the sampled turn's stop token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cut {
    /// Everything up to the stop token.
    pub(crate) head: String,
    /// The stop token that the template writes.
    pub(crate) stop: String,
    /// Everything after it, generation prompt included.
    pub(crate) suffix: String,
}

/// Why there is no suffix.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum CutError {
    #[error(transparent)]
    Template(#[from] TemplateError),
    #[error("it does not write the end of the sampled turn, so what follows it cannot be told")]
    MarkerLost,
    #[error("it writes no stop token after the sampled turn")]
    NoStop,
    #[error("what it writes after the sampled turn depends on the turn's text")]
    Ambiguous,
}

impl Sampled<'_> {
    fn with_turn(&self, turn: Value) -> Vec<Value> {
        self.prefix.iter().cloned().chain([turn]).chain(self.new.iter().cloned()).collect()
    }

    /// Everything that the template writes after the last letter of the turn, stop token included.
    pub(crate) fn after_turn(
        &self,
        template: &Template,
        scene: &Scene,
        marker: char,
    ) -> Result<String, CutError> {
        let rendered = |turn| template.render_values(scene, self.with_turn(turn), true);
        let in_calls = marked_calls(self.turn, marker).map(rendered).transpose()?;
        if let Some((_, after)) = in_calls.as_deref().and_then(|text| text.rsplit_once(marker)) {
            return Ok(after.to_owned());
        }
        // There are no calls, or the template does not write them: then the turn ends with its text.
        let in_text = rendered(marked_text(self.turn, marker))?;
        let (_, after) = in_text.rsplit_once(marker).ok_or(CutError::MarkerLost)?;
        Ok(after.to_owned())
    }

    /// Cuts the rendering behind the turn's stop token, which `find_stop` finds after the turn.
    pub(crate) fn cut(
        &self,
        template: &Template,
        scene: &Scene,
        marker: char,
        find_stop: impl FnOnce(&str) -> Option<Range<usize>>,
    ) -> Result<Cut, CutError> {
        let after = self.after_turn(template, scene, marker)?;
        let stop = find_stop(&after).ok_or(CutError::NoStop)?;
        let suffix = &after[stop.end..];
        let mut full = template.render_values(scene, self.with_turn(self.turn.clone()), true)?;
        if !full.ends_with(&after[stop.start..]) {
            return Err(CutError::Ambiguous);
        }
        full.truncate(full.len() - suffix.len());
        Ok(Cut { head: full, stop: after[stop.clone()].to_owned(), suffix: suffix.to_owned() })
    }
}

/// The turn with the marker at the end of its calls; `None` if it has none.
fn marked_calls(turn: &Value, marker: char) -> Option<Value> {
    let turn = turn.downcast_object_ref::<Dict>()?;
    let calls = turn.0.get("tool_calls")?.downcast_object_ref::<List>()?;
    if calls.0.is_empty() {
        return None;
    }
    let calls = calls.0.iter().map(|call| marked_call(call, marker)).collect();
    let mut turn = turn.clone();
    turn.set("tool_calls", List::value(calls));
    Some(turn.into_value())
}

/// The turn with the marker at the end of its text, before white space there, which some templates trim.
fn marked_text(turn: &Value, marker: char) -> Value {
    let Some(turn) = turn.downcast_object_ref::<Dict>() else { return turn.clone() };
    let mut turn = turn.clone();
    let content = turn
        .0
        .get("content")
        .map_or_else(|| Value::from(marker.to_string()), |content| marked_content(content, marker));
    turn.set("content", content);
    turn.into_value()
}

fn marked_content(content: &Value, marker: char) -> Value {
    if let Some(parts) = content.downcast_object_ref::<List>() {
        let part = Dict::of([("type", "text".into()), ("text", marker.to_string().into())]);
        return List::value(parts.0.iter().cloned().chain([part.into_value()]).collect());
    }
    let text = content.as_str().unwrap_or_default();
    let (body, space) = text.split_at(text.trim_end().len());
    Value::from(format!("{body}{marker}{space}"))
}

fn marked_call(call: &Value, marker: char) -> Value {
    let Some(dict) = call.downcast_object_ref::<Dict>() else { return call.clone() };
    let mut call = dict.clone();
    if let Some(function) = dict.0.get("function") {
        call.set("function", marked_call(function, marker));
    }
    if let Some(arguments) = dict.0.get("arguments") {
        let marked = match (arguments.downcast_object_ref::<Dict>(), arguments.as_str()) {
            (Some(arguments), _) => {
                let mut arguments = arguments.clone();
                arguments.set(&marker.to_string(), marker.to_string());
                arguments.into_value()
            }
            (None, Some(text)) => Value::from(format!("{text}{marker}")),
            (None, None) => arguments.clone(),
        };
        call.set("arguments", marked);
    }
    call.into_value()
}
