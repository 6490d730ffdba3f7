//! gpt-oss: Harmony messages with a channel and a recipient.

use respool_core::{ToolCall, ToolSpec};

use super::json_call;
use super::{Block, Ending, Framing, Item, ToolFormat, Unwritable};

#[derive(Debug)]
pub(crate) struct GptOss;

const START: &str = "<|start|>";
const CHANNEL: &str = "<|channel|>";
const CONSTRAIN: &str = "<|constrain|>";
const MESSAGE: &str = "<|message|>";
/// Between two messages of a turn.
const NEXT: &str = "<|start|>assistant";
const ENDS: [&str; 3] = ["<|end|>", "<|call|>", "<|return|>"];

impl ToolFormat for GptOss {
    fn name(&self) -> &'static str {
        "gpt_oss"
    }

    fn openers(&self) -> &'static [&'static str] {
        &[START]
    }

    /// The prompt ends with `<|start|>assistant`.
    fn opens_with(&self) -> Option<usize> {
        Some(0)
    }

    fn framing(&self, _opener: Option<usize>) -> Framing {
        Framing::Message { close: &ENDS, restart: &[START] }
    }

    fn reasoning(&self) -> Option<[&'static str; 2]> {
        None
    }

    fn stop_tokens(&self) -> &'static [&'static str] {
        &["<|return|>", "<|call|>"]
    }

    fn other_markers(&self) -> &'static [&'static str] {
        &[CHANNEL, CONSTRAIN, MESSAGE]
    }

    fn read(&self, block: &Block<'_>) -> Vec<Item> {
        let Some((header, body)) = block.body.split_once(MESSAGE) else {
            return without_message(block.body);
        };
        let channel = header.rsplit_once(CHANNEL).map_or("final", |(_, rest)| rest).trim_start();
        let channel = channel.split(|c: char| !c.is_ascii_alphabetic()).next().unwrap_or_default();
        match recipient(header) {
            Some(name) if block.ending == Ending::Cut => {
                vec![Item::malformed(format!("the turn was cut before the end of the call of {name}"), body)]
            }
            Some(name) => vec![json_call::with_arguments(name, "", body, block.is_lenient)],
            None if channel == "analysis" => vec![Item::Reasoning(body.to_owned())],
            None => vec![Item::Text(body.to_owned())],
        }
    }

    fn write(&self, calls: &[ToolCall], _tools: &[ToolSpec]) -> Result<String, Unwritable> {
        let mut text = String::new();
        for call in calls {
            json_call::plain_name(self.name(), call, &['<', '.'])?;
            let ToolCall { name, arguments, .. } = call;
            if let Some(marker) = ENDS.iter().chain([&START]).find(|end| arguments.as_str().contains(**end)) {
                let reason = format!("its arguments have {marker} in them");
                return Err(Unwritable::call(self.name(), name, reason));
            }
            let start = if text.is_empty() { "" } else { NEXT };
            text += &format!(
                "{start}{CHANNEL}commentary to=functions.{name} {CONSTRAIN}json{MESSAGE}{arguments}<|call|>"
            );
        }
        Ok(text)
    }

    fn say(&self, text: &str) -> String {
        message("final", text)
    }

    /// What is said before calls is a preamble, on the channel of the calls.
    fn join(&self, said: &str, calls: &str) -> String {
        format!("{}<|end|>{NEXT}{calls}", message("commentary", said))
    }
}

/// A message for the user on that channel, without its end.
fn message(channel: &str, text: &str) -> String {
    format!("{CHANNEL}{channel}{MESSAGE}{text}")
}

/// A header without a message, or text without any marker.
fn without_message(text: &str) -> Vec<Item> {
    if text.contains(CHANNEL) || recipient(text).is_some() {
        return vec![Item::malformed(format!("there is no {MESSAGE} after the header"), text)];
    }
    let blank = matches!(text.trim(), "" | "assistant");
    if blank { Vec::new() } else { vec![Item::Text(text.to_owned())] }
}

/// The tool that the last `to=` of a header names; `functions.` before it is the family's own.
fn recipient(header: &str) -> Option<&str> {
    let (_, after) = header.rsplit_once("to=")?;
    let name = after.split(|c: char| c.is_whitespace() || c == '<').next().unwrap_or_default();
    let name = name.strip_prefix("functions.").unwrap_or(name);
    (!name.is_empty() && name != "assistant" && name != "all" && name != "user").then_some(name)
}
