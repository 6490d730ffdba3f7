//! Mistral: `[TOOL_CALLS]` before a list of objects, or in newer models before a name and its arguments.

use respool_core::{ToolCall, ToolSpec};

use super::json_call;
use super::{Block, Framing, Item, ToolFormat, Unwritable, ValueFraming};

#[derive(Debug)]
pub(crate) struct Mistral;

const OPEN: &str = "[TOOL_CALLS]";
const ARGS: &str = "[ARGS]";
const CALL_ID: &str = "[CALL_ID]";

impl ToolFormat for Mistral {
    fn name(&self) -> &'static str {
        "mistral"
    }

    fn openers(&self) -> &'static [&'static str] {
        &[OPEN]
    }

    fn framing(&self, _opener: Option<usize>) -> Framing {
        Framing::Value(ValueFraming {
            separators: &[ARGS],
            bare: true,
            python: false,
            tails: &[],
            close: &["[/TOOL_CALLS]"],
            restart: &[OPEN],
            strict_end: false,
        })
    }

    fn silent(&self) -> &'static [&'static str] {
        &["[/TOOL_CALLS]"]
    }

    fn reasoning(&self) -> Option<[&'static str; 2]> {
        Some(["[THINK]", "[/THINK]"])
    }

    fn other_markers(&self) -> &'static [&'static str] {
        &[ARGS, CALL_ID]
    }

    fn read(&self, block: &Block<'_>) -> Vec<Item> {
        let body = block.body.trim();
        let (head, arguments) = match (body.split_once(ARGS), body.find(['{', '['])) {
            _ if body.starts_with(['[', '{']) => return json_call::items(body, true, block.is_lenient),
            (Some((head, arguments)), at)
                if at.is_none_or(|at| at >= head.len() || head[at..].starts_with(CALL_ID)) =>
            {
                (head, arguments)
            }
            (_, Some(at)) => body.split_at(at),
            (_, None) => return vec![Item::malformed("a tool's name without arguments", body)],
        };
        let (name, id) = head.split_once(CALL_ID).unwrap_or((head, ""));
        vec![json_call::with_arguments(name.trim(), id.trim(), arguments, block.is_lenient)]
    }

    fn write(&self, calls: &[ToolCall], _tools: &[ToolSpec]) -> Result<String, Unwritable> {
        calls.iter().try_for_each(|call| json_call::plain_name(self.name(), call, &['[', '{']))?;
        Ok(calls.iter().map(|call| format!("{OPEN}{}{ARGS}{}", call.name, call.arguments)).collect())
    }
}
