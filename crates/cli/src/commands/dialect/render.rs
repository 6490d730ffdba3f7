//! `respool dialect render`.

use std::process::ExitCode;

use anyhow::Context;
use respool_core::{Dialect, JsonText};
use respool_dialect::{RenderInput, StringArguments};
use serde::Serialize;

use super::{chat_file::ChatFile, options};
use crate::{args::RenderArgs, dialect::load_from, screen};

/// A chat as a model reads it.
#[derive(Debug, Serialize)]
struct Rendered {
    /// What the template wrote.
    text: String,
    ids: Vec<u32>,
    /// The text of each id; bytes that are no text by themselves are replaced.
    tokens: Vec<String>,
}

pub(super) fn command(args: &RenderArgs) -> anyhow::Result<ExitCode> {
    let rendered = Rendered::of(args)?;
    screen::say(&if args.dialect.json { serde_json::to_string(&rendered)? } else { rendered.for_people() });
    Ok(ExitCode::SUCCESS)
}

impl Rendered {
    fn of(args: &RenderArgs) -> anyhow::Result<Self> {
        let template_args = JsonText::new(args.template_args.as_str())
            .with_context(|| format!("--template-args {}", args.template_args))?;
        anyhow::ensure!(
            template_args.is_object(),
            "--template-args: expected a JSON object such as {{\"enable_thinking\": false}}, found {}",
            args.template_args
        );
        let chat = ChatFile::read(&args.messages, args.tools.as_deref())?;
        let dialect = load_from(args.dialect.model.as_deref(), options(&args.dialect))?;
        let input = RenderInput {
            messages: &chat.messages,
            tools: chat.tools.as_ref(),
            template_args: &template_args,
            special_tokens: dialect.special_tokens(),
            add_generation_prompt: !args.no_generation_prompt,
            string_arguments: StringArguments::default(),
        };
        let refused = || args.messages.display().to_string();
        let text = dialect.template(chat.has_tools()).render(&input).with_context(refused)?;
        let ids = dialect.encode_json(&input).with_context(refused)?.tokens;
        Ok(Self { text, tokens: ids.iter().map(|id| dialect.decode(&[*id])).collect(), ids })
    }

    fn for_people(&self) -> String {
        let ids: Vec<_> = self.ids.iter().map(u32::to_string).collect();
        format!("{}\n\n{} tokens: {}", self.text, ids.len(), ids.join(" "))
    }
}
