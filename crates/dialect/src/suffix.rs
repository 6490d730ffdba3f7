//! Continuations of a template alone, as text, where there is no tokenizer.

use minijinja::value::Value;
use respool_core::JsonText;

use crate::cut::{CutError, Sampled};
use crate::opaque::unused_letters;
use crate::python::Dict;
use crate::template::{RenderInput, Template, TemplateError, messages};

/// The text to append after `generated`, the raw text of a turn that was sampled after
/// `input.messages` and ends with the engine's stop token; generation prompt included.
///
/// The stop token is what the generated text ends with and the template writes after a turn. Where
/// there is none, the text begins with all that the template writes after the turn.
///
/// # Errors
/// If the template refuses the messages, or does not write the turn's end.
pub fn suffix_text(
    template: &Template,
    input: &RenderInput<'_>,
    generated: &str,
    new_messages: &JsonText,
) -> Result<String, TemplateError> {
    let (scene, prefix) = input.values()?;
    let new = messages(new_messages, input.string_arguments)?;
    let text = Value::from(generated);
    let values = prefix.iter().chain(&new).chain(scene.context.0.values()).chain([&text]);
    let [marker, _] = unused_letters(values).map_err(|_| TemplateError::Input {
        field: "messages",
        expected: "a chat that leaves two letters of the cuneiform block unused",
    })?;
    let after = |content: &str| {
        let turn = Dict::of([("role", "assistant".into()), ("content", content.into())]).into_value();
        let sampled = Sampled { prefix: &prefix, turn: &turn, new: &new };
        sampled.after_turn(template, &scene, marker).map_err(|error| match error {
            CutError::Template(error) => error,
            other => {
                TemplateError::Render { template: template.name().to_owned(), message: other.to_string() }
            }
        })
    };
    let stop = overlap(generated, &after(generated)?);
    let suffix = after(&generated[..generated.len() - stop])?;
    Ok(suffix.get(stop..).unwrap_or_default().to_owned())
}

/// Length of the longest end of `text` that `next` begins with. Stop tokens are short.
fn overlap(text: &str, next: &str) -> usize {
    let longest = next.len().min(text.len()).min(256);
    (1..=longest).rev().find(|len| text.as_bytes().ends_with(&next.as_bytes()[..*len])).unwrap_or(0)
}
