//! DeepSeek V3 and V3.1: marker tokens around a name and its arguments.

use respool_core::{ToolCall, ToolSpec};

use super::json_call;
use super::{Block, Framing, Item, ToolFormat, Unwritable, ValueFraming};

const SECTION: &str = "<｜tool▁calls▁begin｜>";
const SECTION_END: &str = "<｜tool▁calls▁end｜>";
const OPEN: &str = "<｜tool▁call▁begin｜>";
const CLOSE: &str = "<｜tool▁call▁end｜>";
const SEPARATOR: &str = "<｜tool▁sep｜>";
const FENCE: &str = "```";

/// A version of the format.
#[derive(Debug)]
pub(crate) struct DeepSeek {
    name: &'static str,
    /// V3 writes the kind of the call before the separator, and the arguments in a code fence.
    is_fenced: bool,
}

/// `function<sep>name`, then the arguments in a fence of JSON.
pub(crate) static V3: DeepSeek = DeepSeek { name: "deepseek_v3", is_fenced: true };

/// `name<sep>arguments`.
pub(crate) static V3_1: DeepSeek = DeepSeek { name: "deepseek_v3_1", is_fenced: false };

impl ToolFormat for DeepSeek {
    fn name(&self) -> &'static str {
        self.name
    }

    fn openers(&self) -> &'static [&'static str] {
        &[OPEN]
    }

    fn silent(&self) -> &'static [&'static str] {
        &[SECTION, SECTION_END]
    }

    fn other_markers(&self) -> &'static [&'static str] {
        &[SEPARATOR, CLOSE]
    }

    fn framing(&self, _opener: Option<usize>) -> Framing {
        Framing::Value(ValueFraming {
            separators: if self.is_fenced { &["```json"] } else { &[SEPARATOR] },
            bare: self.is_fenced,
            python: false,
            tails: if self.is_fenced { &[FENCE] } else { &[] },
            close: &[CLOSE],
            restart: &[OPEN, SECTION_END],
            strict_end: true,
        })
    }

    fn read(&self, block: &Block<'_>) -> Vec<Item> {
        let Some((head, rest)) = block.body.split_once(SEPARATOR) else {
            return vec![Item::malformed(
                format!("there is no {SEPARATOR} after the tool's name"),
                block.body,
            )];
        };
        let (name, arguments) = if self.is_fenced { fenced(rest) } else { (head, rest) };
        if block.ending == super::Ending::Cut {
            return vec![Item::malformed("the turn was cut before the tool call's end", block.body)];
        }
        vec![json_call::with_arguments(name.trim(), "", arguments, block.is_lenient)]
    }

    fn write(&self, calls: &[ToolCall], _tools: &[ToolSpec]) -> Result<String, Unwritable> {
        let mut text = SECTION.to_owned();
        for (index, call) in calls.iter().enumerate() {
            json_call::plain_name(self.name, call, &['<', '{', '`'])?;
            let ToolCall { name, arguments, .. } = call;
            let line = if self.is_fenced && index > 0 { "\n" } else { "" };
            text += &match self.is_fenced {
                true => format!("{line}{OPEN}function{SEPARATOR}{name}\n```json\n{arguments}\n```{CLOSE}"),
                false => format!("{OPEN}{name}{SEPARATOR}{arguments}{CLOSE}"),
            };
        }
        Ok(text + SECTION_END)
    }
}

/// The name on the first line, and the arguments, with or without their fence.
fn fenced(text: &str) -> (&str, &str) {
    let text = text.trim();
    let end = text.find(['\n', '{']).unwrap_or(text.len());
    let (name, rest) = text.split_at(end);
    let (name, rest) =
        name.split_once("```json").map_or((name, rest), |(name, _)| (name, &text[name.len()..]));
    let rest = rest.trim();
    let rest = rest.strip_prefix("```json").unwrap_or(rest);
    (name, rest.strip_suffix(FENCE).unwrap_or(rest))
}
