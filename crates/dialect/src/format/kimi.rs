//! Kimi K2: a section of calls, each with the id `functions.NAME:INDEX`.

use respool_core::{ToolCall, ToolSpec};

use super::json_call;
use super::{Block, Ending, Framing, Item, ToolFormat, Unwritable, ValueFraming};

#[derive(Debug)]
pub(crate) struct KimiK2;

const SECTION: &str = "<|tool_calls_section_begin|>";
const SECTION_END: &str = "<|tool_calls_section_end|>";
const OPEN: &str = "<|tool_call_begin|>";
const CLOSE: &str = "<|tool_call_end|>";
const ARGUMENTS: &str = "<|tool_call_argument_begin|>";

impl ToolFormat for KimiK2 {
    fn name(&self) -> &'static str {
        "kimi_k2"
    }

    fn openers(&self) -> &'static [&'static str] {
        &[OPEN]
    }

    fn silent(&self) -> &'static [&'static str] {
        &[SECTION, SECTION_END, "<|tool_call_section_begin|>", "<|tool_call_section_end|>"]
    }

    fn other_markers(&self) -> &'static [&'static str] {
        &[ARGUMENTS, CLOSE]
    }

    fn framing(&self, _opener: Option<usize>) -> Framing {
        Framing::Value(ValueFraming {
            separators: &[ARGUMENTS],
            bare: false,
            python: false,
            tails: &[],
            close: &[CLOSE],
            restart: &[OPEN, SECTION_END],
            strict_end: true,
        })
    }

    fn read(&self, block: &Block<'_>) -> Vec<Item> {
        let Some((id, arguments)) = block.body.split_once(ARGUMENTS) else {
            return vec![Item::malformed(format!("there is no {ARGUMENTS} after the call's id"), block.body)];
        };
        if block.ending == Ending::Cut {
            return vec![Item::malformed("the turn was cut before the tool call's end", block.body)];
        }
        let id = id.trim();
        vec![json_call::with_arguments(name_of(id), id, arguments, block.is_lenient)]
    }

    fn write(&self, calls: &[ToolCall], _tools: &[ToolSpec]) -> Result<String, Unwritable> {
        let mut text = SECTION.to_owned();
        for call in calls {
            json_call::plain_name(self.name(), call, &['<', ':', '.'])?;
            let ToolCall { id, slot, name, arguments } = call;
            let id = if name_of(id) == name { id.clone() } else { format!("functions.{name}:{slot}") };
            text += &format!("{OPEN}{id}{ARGUMENTS}{arguments}{CLOSE}");
        }
        Ok(text + SECTION_END)
    }
}

/// The tool's name in an id such as `functions.look_up:0`.
fn name_of(id: &str) -> &str {
    let name = id.strip_prefix("functions.").unwrap_or(id);
    match name.rsplit_once(':') {
        Some((name, index)) if !index.is_empty() && index.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => name,
    }
}
