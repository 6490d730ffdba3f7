//! `respool dialect`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// What a model folder is asked.
#[derive(Debug, Subcommand)]
pub(crate) enum DialectCommand {
    /// Tell what a model folder does: calls, tokens, template, reasoning, continuations, and what can go wrong.
    Check(DialectArgs),
    /// Print a chat as the model reads it: the text of the chat template, and its ids.
    Render(RenderArgs),
}

/// Whose dialect.
#[derive(Debug, Args)]
pub(crate) struct DialectArgs {
    /// Model folder with tokenizer and chat template; without it the built-in dialect.
    #[arg(long, value_name = "DIR", env = "RESPOOL_MODEL")]
    pub(crate) model: Option<PathBuf>,
    /// Name of the tool-call format [default: told from the model folder].
    #[arg(long, value_name = "NAME")]
    pub(crate) format: Option<String>,
    /// One JSON object, for machines.
    #[arg(long)]
    pub(crate) json: bool,
}

/// `respool dialect render`.
#[derive(Debug, Args)]
pub(crate) struct RenderArgs {
    #[command(flatten)]
    pub(crate) dialect: DialectArgs,
    /// JSON: a list of messages, or an object with `messages` and, if wanted, `tools`.
    #[arg(long, value_name = "FILE")]
    pub(crate) messages: PathBuf,
    /// JSON: a list of tools as `{"type": "function", "function": {...}}`.
    #[arg(long, value_name = "FILE")]
    pub(crate) tools: Option<PathBuf>,
    /// Further arguments of the chat template, as in `{"enable_thinking": false}`.
    #[arg(long, value_name = "JSON", default_value = "{}")]
    pub(crate) template_args: String,
    /// Stop after the last message, without the beginning of the next turn.
    #[arg(long)]
    pub(crate) no_generation_prompt: bool,
}
