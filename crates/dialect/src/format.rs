//! How model families write tool calls and reasoning.

mod deepseek;
mod event;
mod framing;
mod glm;
mod harmony;
mod input;
mod json_call;
mod json_formats;
mod kimi;
mod literal;
mod mistral;
mod parser;
mod pythonic;
mod qwen3_coder;
mod skim;
mod tagged;
mod write;

use std::fmt;

use respool_core::{ParsedCall, ToolCall, ToolSpec};

pub(crate) use event::Collected;
pub use event::{Event, EventKind};
pub use framing::{Ending, Framing, ValueFraming};
pub use parser::{ReadOptions, RestoreError, TurnContext, TurnParser, parse};
pub(crate) use write::write_turn;

/// How a model family writes tool calls and reasoning.
///
/// A format says which markers begin a call and how its end is told ([`Framing`]); the reader finds
/// the calls in a stream. What a call says is read from its whole text, so it cannot depend on how
/// the stream was cut.
pub trait ToolFormat: Send + Sync + fmt::Debug {
    /// Its name, as in the option `tool_format`.
    fn name(&self) -> &'static str;

    /// Markers that begin a call, or a message that may be one.
    fn openers(&self) -> &'static [&'static str];

    /// How the end of a call is told that this opener began; `None` is one without a marker.
    fn framing(&self, opener: Option<usize>) -> Framing;

    /// Reads the text of one framed call. Total, and linear in the text.
    fn read(&self, block: &Block<'_>) -> Vec<Item>;

    /// The text that a model of this family writes for the calls of a turn.
    ///
    /// # Errors
    /// If the format has no way to say one of them.
    fn write(&self, calls: &[ToolCall], tools: &[ToolSpec]) -> Result<String, Unwritable>;

    /// How it writes a turn that only says something.
    fn say(&self, text: &str) -> String {
        text.to_owned()
    }

    /// How it writes a turn that says something before its written calls.
    fn join(&self, said: &str, calls: &str) -> String {
        format!("{said}\n{calls}")
    }

    /// Letters that begin a call where nothing but white space comes before.
    fn bare(&self) -> &'static [char] {
        &[]
    }

    /// What of the text is skipped before a call of [`Self::bare`] is looked for.
    fn trim_before_bare<'a>(&self, text: &'a str, _after_call: bool) -> &'a str {
        text.trim_start()
    }

    /// The opener that the prompt has already written.
    fn opens_with(&self) -> Option<usize> {
        None
    }

    /// Markers outside calls that mean nothing by themselves.
    fn silent(&self) -> &'static [&'static str] {
        &[]
    }

    /// What begins and ends a reasoning block.
    fn reasoning(&self) -> Option<[&'static str; 2]> {
        Some(["<think>", "</think>"])
    }

    /// Spellings of tokens that end a turn beside the model's own stop tokens.
    fn stop_tokens(&self) -> &'static [&'static str] {
        &[]
    }

    /// All spellings that mean something to it beside the openers.
    fn other_markers(&self) -> &'static [&'static str] {
        &[]
    }
}

/// A format is what its name says.
impl PartialEq for dyn ToolFormat {
    fn eq(&self, other: &Self) -> bool {
        self.name() == other.name()
    }
}

impl Eq for dyn ToolFormat {}

/// The text of one framed call.
#[derive(Clone, Copy, Debug)]
pub struct Block<'a> {
    /// The marker that began it, where there is one.
    pub opener: Option<&'static str>,
    /// The text between opener and end marker.
    pub body: &'a str,
    /// How it ended.
    pub ending: Ending,
    /// The tools that the prompt shows.
    pub tools: &'a [ToolSpec],
    /// Whether the literals of the other language are read too.
    pub is_lenient: bool,
}

/// What a framed text says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Item {
    /// It is no call: text.
    Text(String),
    /// Reasoning.
    Reasoning(String),
    /// A call attempt. Its slot is set by the reader.
    Call {
        /// The attempt.
        call: ParsedCall,
        /// Whether it was readable only with the lenient option.
        is_lenient: bool,
    },
}

impl Item {
    /// A call attempt in the strict form.
    #[must_use]
    pub const fn call(call: ParsedCall) -> Self {
        Self::Call { call, is_lenient: false }
    }

    /// An attempt that cannot be read.
    #[must_use]
    pub fn malformed(reason: impl Into<String>, text: &str) -> Self {
        Self::call(ParsedCall::Malformed { reason: reason.into(), text: text.trim().to_owned() })
    }
}

/// A format has no way to say a call or a turn.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the format {format} cannot write {what}: {reason}")]
pub struct Unwritable {
    /// The format's name.
    pub format: &'static str,
    /// What it cannot write, as in `a call of look_up`.
    pub what: String,
    /// Why.
    pub reason: String,
}

impl Unwritable {
    /// A call of that tool cannot be written.
    #[must_use]
    pub fn call(format: &'static str, tool: &str, reason: impl Into<String>) -> Self {
        Self { format, what: format!("a call of {tool}"), reason: reason.into() }
    }
}

static FORMATS: [&dyn ToolFormat; 15] = [
    &json_formats::HERMES,
    &qwen3_coder::QWEN3_CODER,
    &json_formats::LLAMA3_JSON,
    &pythonic::Pythonic,
    &mistral::Mistral,
    &deepseek::V3,
    &deepseek::V3_1,
    &kimi::KimiK2,
    &glm::GLM4_5,
    &glm::GLM4_7,
    &qwen3_coder::MINIMAX_M2,
    &harmony::GptOss,
    &json_formats::PHI4,
    &json_formats::GRANITE,
    &json_formats::PLAIN_JSON,
];

/// The names of all formats.
pub fn tool_format_names() -> impl Iterator<Item = &'static str> {
    FORMATS.iter().map(|format| format.name())
}

/// The format of that name; `glm47`, `glm45` and `harmony` are other spellings that people know.
#[must_use]
pub fn tool_format(name: &str) -> Option<&'static dyn ToolFormat> {
    let name = match name {
        "glm45" => "glm4_5",
        "glm47" => "glm4_7",
        "harmony" => "gpt_oss",
        name => name,
    };
    FORMATS.iter().copied().find(|format| format.name() == name)
}

#[cfg(test)]
mod tests;
