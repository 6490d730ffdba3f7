//! How model families write tool calls. A format is a pure function of a turn's whole text.

pub mod hermes;
mod json_call;

use std::fmt;

use respool_core::{ParsedTurn, ToolCall};

/// How a model family writes tool calls and reasoning.
///
/// Formats work on text: a marker is found whether the tokenizer has it as one token or many.
pub trait ToolFormat: Send + Sync + fmt::Debug {
    /// Its name, as in the option `tool_format`.
    fn name(&self) -> &'static str;

    /// Reads a turn's text, stop tokens removed. Total, and linear in the text.
    fn parse(&self, text: &str, context: TurnContext) -> ParsedTurn;

    /// The text that a model of this family writes for a call.
    fn write(&self, call: &ToolCall) -> String;

    /// What opens a reasoning block.
    fn reasoning_start(&self) -> &'static str;

    /// Spellings of tokens that end a turn beside the model's own stop tokens.
    fn stop_tokens(&self) -> &'static [&'static str] {
        &[]
    }
}

/// What a turn's text alone does not say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TurnContext {
    /// The prompt already opened a reasoning block.
    pub reasoning_open: bool,
    /// The turn stopped by itself: `false` where a limit cut it.
    pub complete: bool,
}

impl Default for TurnContext {
    fn default() -> Self {
        Self { reasoning_open: false, complete: true }
    }
}

static FORMATS: [&dyn ToolFormat; 1] = [&hermes::Hermes];

/// The names of all formats.
pub fn tool_format_names() -> impl Iterator<Item = &'static str> {
    FORMATS.iter().map(|format| format.name())
}

/// The format of that name.
#[must_use]
pub fn tool_format(name: &str) -> Option<&'static dyn ToolFormat> {
    FORMATS.iter().copied().find(|format| format.name() == name)
}
