//! `respool dialect check`.

use std::{
    fmt::{self, Write as _},
    process::ExitCode,
};

use respool_dialect::{
    DialectCheck, ExamplePiece, FormatCheck, FormatEvidence, Hazard, MarkerCheck, NewMessages, Reference,
    SpecialToken, SystemMessage, TemplateCheck, ThinkingCheck, TokenCheck,
};

use super::options;
use crate::{
    args::DialectArgs,
    dialect::load_from,
    paint::{Ink, Paint},
    screen,
};

pub(super) fn command(args: &DialectArgs) -> anyhow::Result<ExitCode> {
    let check = load_from(args.model.as_deref(), options(args))?.check();
    screen::say(&if args.json { serde_json::to_string(&check)? } else { for_people(&check)? });
    Ok(ExitCode::SUCCESS)
}

fn for_people(check: &DialectCheck) -> Result<String, fmt::Error> {
    let mut page = Page { text: String::new(), paint: Paint::for_stdout() };
    page.title(&check.model)?;
    page.format(&check.tool_format)?;
    page.tokens(&check.tokens)?;
    page.template(&check.template)?;
    page.thinking(&check.thinking)?;
    page.title("after a sampled turn")?;
    page.new_messages("tool results", &check.continuation.tool)?;
    page.new_messages("a user message", &check.continuation.user)?;
    page.example(&check.example)?;
    page.hazards(&check.hazards)?;
    Ok(page.text.trim_end().to_owned())
}

struct Page {
    text: String,
    paint: Paint,
}

impl Page {
    fn title(&mut self, title: &str) -> fmt::Result {
        let before = if self.text.is_empty() { "" } else { "\n" };
        writeln!(self.text, "{before}{}", self.paint.ink(Ink::Title, title))
    }

    fn line(&mut self, line: fmt::Arguments<'_>) -> fmt::Result {
        writeln!(self.text, "  {line}")
    }

    fn format(&mut self, format: &FormatCheck) -> fmt::Result {
        let because = match &format.evidence {
            FormatEvidence::Option => "it was asked for".to_owned(),
            FormatEvidence::Template(signs) => format!("the template has {}", signs.join(" and ")),
            FormatEvidence::Architecture(name) => format!("the architecture is {name}"),
            FormatEvidence::Nothing => "nothing says otherwise".to_owned(),
        };
        self.line(format_args!("tool calls: {}, because {because}", format.name))?;
        let markers: Vec<_> = format.markers.iter().map(marker).collect();
        let markers = if markers.is_empty() { "none".to_owned() } else { markers.join(", ") };
        self.line(format_args!("its markers: {markers}"))
    }

    fn tokens(&mut self, tokens: &TokenCheck) -> fmt::Result {
        let TokenCheck { vocabulary, control_tokens, special, stop, changed } = tokens;
        self.line(format_args!("{vocabulary} ids, {control_tokens} of them control tokens"))?;
        for token in special {
            self.line(format_args!("{}: {}", token.name, spelled(token)))?;
        }
        let stops: Vec<_> = stop.iter().map(spelled).collect();
        self.line(format_args!("a turn stops at {}", stops.join(", ")))?;
        for [before, after] in changed {
            self.line(format_args!("encoding changes {before:?} to {after:?}"))?;
        }
        Ok(())
    }

    fn template(&mut self, template: &TemplateCheck) -> fmt::Result {
        self.title("template")?;
        let own = if template.has_tool_template { "; chats with tools have one of their own" } else { "" };
        self.line(format_args!("{}{own}", template.names.join(", ")))?;
        let reads = if template.reads.is_empty() { "nothing".to_owned() } else { template.reads.join(", ") };
        self.line(format_args!("beside messages and tools it reads {reads}"))?;
        match &template.system {
            SystemMessage::AsGiven => self.line(format_args!("system messages: as given"))?,
            SystemMessage::Adds { text } => {
                self.line(format_args!("without a system message it writes {text:?}"))?;
            }
            SystemMessage::Refuses { reason } => {
                self.line(format_args!("system messages: refused: {reason}"))?
            }
        }
        let shows = if template.shows_tools { "shown" } else { "not shown" };
        let writes = if template.writes_calls { "written" } else { "not written" };
        self.line(format_args!("tools: {shows}; calls of earlier turns: {writes}"))?;
        match template.generation_prompt.as_str() {
            "" => self.line(format_args!("a turn begins right after the message before it")),
            opening => self.line(format_args!("a turn begins after {opening:?}")),
        }
    }

    fn thinking(&mut self, thinking: &ThinkingCheck) -> fmt::Result {
        self.title("reasoning")?;
        let markers = thinking
            .markers
            .map_or_else(|| "in channels".to_owned(), |[open, close]| format!("{open} … {close}"));
        let begins = if thinking.prompt_opens { ", opened by the prompt" } else { "" };
        self.line(format_args!("{markers}{begins}"))?;
        let fields =
            if thinking.fields.is_empty() { "content".to_owned() } else { thinking.fields.join(", ") };
        self.line(format_args!("the template takes it from {fields}"))?;
        if let Some(without) = &thinking.without {
            self.line(format_args!("with enable_thinking = false a turn begins after {without:?}"))?;
        }
        for (kept, when) in [
            (thinking.kept_after_tool_results, "tool results"),
            (thinking.kept_after_user, "the next user message"),
        ] {
            let kept = match kept {
                Some(true) => "written again",
                Some(false) => "left out",
                None => "cannot be told: the template refuses such a chat",
            };
            self.line(format_args!("after {when}: {kept}"))?;
        }
        Ok(())
    }

    fn new_messages(&mut self, kind: &str, new: &NewMessages) -> fmt::Result {
        let (stop, separator, text, changes, reference) = match new {
            NewMessages::Cannot { reason } => return self.line(format_args!("{kind}: impossible: {reason}")),
            NewMessages::Appended { stop, separator, text, changes, reference } => {
                (stop, separator, text, changes, reference)
            }
        };
        let is_append_only = if changes.is_empty() { "append-only" } else { "earlier text would change" };
        self.line(format_args!("{kind}: {is_append_only}"))?;
        self.line(format_args!("  the turn's {stop}, the separator {separator:?}, then the rest of"))?;
        self.line(format_args!("  {text:?}"))?;
        for [kept, template] in changes {
            self.line(format_args!("  stays: {kept:?}; the template now has: {template:?}"))?;
        }
        match reference {
            Reference::Same => self.line(format_args!("  compat = \"verl\" appends the same")),
            Reference::Other { text } => self.line(format_args!("  compat = \"verl\" appends {text:?}")),
            Reference::Cannot { reason } => self.line(format_args!("  compat = \"verl\" cannot: {reason}")),
        }
    }

    fn example(&mut self, example: &[ExamplePiece]) -> fmt::Result {
        self.title("a rollout of two turns, │ between tokens")?;
        if example.is_empty() {
            return self.line(format_args!("impossible: see below"));
        }
        for piece in example {
            let (who, ink) =
                if piece.sampled { ("sampled, mask 1", Ink::Sampled) } else { ("given, mask 0", Ink::Given) };
            let title = format!("── {who}, {} tokens", piece.ids.len());
            writeln!(self.text, "{}", self.paint.ink(Ink::Title, &title))?;
            let tokens = piece.tokens.join("│").replace('\n', "⏎\n");
            writeln!(self.text, "{}", self.paint.ink(ink, &tokens))?;
        }
        Ok(())
    }

    fn hazards(&mut self, hazards: &[Hazard]) -> fmt::Result {
        self.title("what to know before training")?;
        if hazards.is_empty() {
            return self.line(format_args!("nothing"));
        }
        for Hazard { what, advice } in hazards {
            let what = self.paint.ink(Ink::Mark, what).to_string();
            self.line(format_args!("• {what}"))?;
            self.line(format_args!("  {advice}"))?;
        }
        Ok(())
    }
}

fn marker(marker: &MarkerCheck) -> String {
    match marker.ids.as_slice() {
        [id] => format!("{} ({id})", marker.text),
        ids => format!("{} ({} tokens)", marker.text, ids.len()),
    }
}

fn spelled(token: &SpecialToken) -> String {
    token.id.map_or_else(
        || format!("{} (not in the tokenizer)", token.text),
        |id| format!("{} ({id})", token.text),
    )
}
