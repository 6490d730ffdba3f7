//! How a dialect is to behave.

use respool_core::{ContinuationMode, ControlTokens};

use crate::format::ToolFormat;
use crate::python::Clock;

/// How results of tools are written where a template and its format disagree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ToolResults {
    /// As the template does.
    #[default]
    Template,
    /// As the Harmony format of gpt-oss has it: each with the name of its tool, its text as it is.
    Harmony,
}

/// How a dialect is to behave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DialectOptions {
    /// How new messages are appended (R8): `continuation`.
    pub continuation: ContinuationMode,
    /// What control tokens spelled out in message text become (R8): `control_tokens`.
    pub control_tokens: ControlTokens,
    /// What `strftime_now` sees, from the first prompt to the last turn.
    pub clock: Clock,
    /// Name of the tool-call format, or `auto` to tell it from the template: `tool_format`.
    pub tool_format: String,
    /// A format of your own, which wins over `tool_format`. Its name is all of it that the dialect's
    /// fingerprint knows, so change the name whenever you change what it reads.
    pub own_format: Option<&'static dyn ToolFormat>,
    /// How results are written where the template of gpt-oss and Harmony disagree: `tool_results`.
    pub tool_results: ToolResults,
    /// Whether calls inside reasoning count: `calls_in_reasoning`.
    pub calls_in_reasoning: bool,
    /// Whether Python's literals are read where a format wants JSON, and JSON's where it wants Python's:
    /// `lenient_literals`.
    pub lenient_literals: bool,
    /// Name of the model folder's template to be used for all chats, where it has several; without it
    /// `default`, and `tool_use` for chats with tools if it is there: `template_name`.
    pub template_name: Option<String>,
    /// How texts are split into words where a folder has tiktoken ranks in place of a `tokenizer.json`:
    /// a regular expression; without it the one of the tokenizer's class: `split_pattern`.
    pub split_pattern: Option<String>,
    /// Jinja source to be used instead of the model folder's template.
    pub template: Option<String>,
}

impl DialectOptions {
    /// The defaults, with that date for templates that ask for one.
    #[must_use]
    pub fn new(clock: Clock) -> Self {
        Self {
            continuation: ContinuationMode::default(),
            control_tokens: ControlTokens::default(),
            clock,
            tool_format: "auto".to_owned(),
            own_format: None,
            tool_results: ToolResults::default(),
            calls_in_reasoning: false,
            lenient_literals: false,
            template_name: None,
            split_pattern: None,
            template: None,
        }
    }
}
