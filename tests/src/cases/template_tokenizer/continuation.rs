//! Cases about what is appended after a sampled turn.

use std::collections::BTreeMap;

use respool_core::{Chat, Continuation, Dialect, JsonText, Message, ParsedCall, ParsedTurn, Role};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::cases::{Case, Checked};
use crate::messages::{json_text, read_messages, read_tools};
use crate::report::Verdict;
use crate::stub::Vocabulary;
use crate::text::check_text;
use crate::{clock, item};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Input {
    template: String,
    first_messages: Box<RawValue>,
    /// Ends with the engine's stop token.
    generated_text: String,
    new_messages: Box<RawValue>,
    tools: Option<Box<RawValue>>,
    template_kwargs: Option<Box<RawValue>>,
    /// What the clock says at each rendering; a rollout sees the first.
    #[serde(default)]
    clock: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Expected {
    prompt_text: Option<String>,
    suffix_text: Option<String>,
    joined_text: Option<String>,
    #[serde(default)]
    suffix_excludes: Vec<String>,
    /// Texts that are nowhere in the joined text.
    #[serde(default)]
    excludes: Vec<String>,
    /// How often texts are in the joined text.
    #[serde(default)]
    count_of: BTreeMap<String, usize>,
}

/// What the dialect makes of a case.
struct Texts {
    prompt: String,
    suffix: String,
    joined: String,
}

/// Checks one case.
pub(super) fn check(case: &Case) -> Checked {
    let input: Input = item::parse(case.input.get())?;
    let expected: Expected = item::parse(case.expected.get())?;
    expected.check(&input.texts()?)
}

impl Input {
    fn texts(&self) -> Result<Texts, Verdict> {
        let (body, stop) = self.split_stop()?;
        let mut vocabulary = Vocabulary::default();
        let stop_token = vocabulary.add_stop(stop);
        let turn = [vocabulary.token(body.as_bytes()), stop_token];
        let clock = clock::read_or_unset(self.clock.first().map(String::as_str))?;
        let dialect = vocabulary.dialect_with(&self.template, clock)?;

        let mut messages = read_messages(&self.first_messages)?;
        let tools = read_tools(self.tools.as_deref())?;
        let template_args =
            self.template_kwargs.as_deref().map_or_else(|| Ok(JsonText::empty_object()), json_text)?;
        let chat = Chat { messages: &messages, tools: &tools, template_args: &template_args };
        let failed = |error: respool_core::DialectError| Verdict::Fail(error.to_string());
        let prompt = dialect.encode_chat(&chat).map_err(failed)?.tokens;

        messages.push(assistant_message(dialect.parse_turn(&prompt, &turn, &[], true)));
        let continuation = Continuation {
            chat: Chat { messages: &messages, tools: &tools, template_args: &template_args },
            new_messages: &read_messages(&self.new_messages)?,
            last_token: Some(stop_token),
        };
        let suffix = dialect.encode_continuation(&continuation).map_err(failed)?.tokens;
        let (prompt, suffix) = (dialect.decode(&prompt), dialect.decode(&suffix));
        let joined = format!("{prompt}{}{suffix}", self.generated_text);
        Ok(Texts { prompt, suffix, joined })
    }

    /// The generated text without its stop token, and that token: what is in the last brackets.
    fn split_stop(&self) -> Result<(&str, &str), Verdict> {
        let text = self.generated_text.as_str();
        let start = match text.chars().next_back() {
            Some('>') => text.rfind('<'),
            Some(']') => text.rfind('['),
            _ => None,
        };
        start.map(|start| text.split_at(start)).ok_or_else(|| {
            Verdict::NotUnderstood(format!("input.generated_text: {text:?} ends with no token in brackets"))
        })
    }
}

/// The turn as it stands in the chat.
fn assistant_message(turn: ParsedTurn) -> Message {
    let calls = turn.calls.into_iter().filter_map(|call| match call {
        ParsedCall::Call(call) => Some(call),
        ParsedCall::Wrong { .. } | ParsedCall::Malformed { .. } => None,
    });
    Message {
        reasoning: turn.reasoning,
        tool_calls: calls.collect(),
        ..Message::new(Role::Assistant, turn.content)
    }
}

impl Expected {
    fn check(&self, found: &Texts) -> Checked {
        let texts = [
            ("prompt_text", &self.prompt_text, &found.prompt),
            ("suffix_text", &self.suffix_text, &found.suffix),
            ("joined_text", &self.joined_text, &found.joined),
        ];
        for (what, expected, found) in texts {
            if let Some(expected) = expected {
                check_text(what, expected, found)?;
            }
        }
        let excluded = self.suffix_excludes.iter().map(|text| (text, &found.suffix));
        let excluded = excluded.chain(self.excludes.iter().map(|text| (text, &found.joined)));
        for (text, found) in excluded {
            if found.contains(text.as_str()) {
                return Err(Verdict::Fail(format!("expected {text:?} nowhere, found it in {found:?}")));
            }
        }
        for (text, expected) in &self.count_of {
            let count = found.joined.matches(text.as_str()).count();
            if count != *expected {
                let what = format!("joined_text: expected {text:?} {expected} times, found it {count} times");
                return Err(Verdict::Fail(what));
            }
        }
        Ok(())
    }
}
