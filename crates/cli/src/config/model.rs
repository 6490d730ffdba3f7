//! `[model]`: how the model family writes.

use std::path::PathBuf;

use respool_dialect::ToolResults;
use serde::{Deserialize, Serialize};

/// Spellings of `tool_results`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ToolResultsKey {
    #[default]
    Template,
    Harmony,
}

impl From<ToolResultsKey> for ToolResults {
    fn from(key: ToolResultsKey) -> Self {
        match key {
            ToolResultsKey::Template => Self::Template,
            ToolResultsKey::Harmony => Self::Harmony,
        }
    }
}

/// Where tokenizer and template are. Without a path: the built-in dialect.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct ModelSection {
    /// The model folder; relative to the configuration file.
    pub(crate) path: Option<PathBuf>,
    /// Name of the tool-call format; without it told from the template.
    pub(crate) format: Option<String>,
    /// Name of the chat template, where the folder has several; without it `default`, and `tool_use` for
    /// chats with tools.
    pub(crate) template_name: Option<String>,
    /// How texts are split into words, where the folder has tiktoken ranks of a class that is not known.
    pub(crate) split_pattern: Option<String>,
    /// How tool results are written where the template of gpt-oss and Harmony disagree.
    pub(crate) tool_results: ToolResultsKey,
    /// Whether calls inside reasoning are run too.
    pub(crate) calls_in_reasoning: bool,
    /// Whether calls with Python's literals in place of JSON's, and the other way round, are read.
    pub(crate) lenient_literals: bool,
    /// Further arguments of the chat template, such as `enable_thinking`.
    pub(crate) apply_chat_template_kwargs: serde_json::Map<String, serde_json::Value>,
}
