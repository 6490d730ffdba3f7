//! Qwen3-Coder and MiniMax M2: a tag around the call, one around each parameter, values as plain text.

use respool_core::{ToolCall, ToolSpec};

use super::tagged::{Arguments, Taken, Types, Untyped, plain_texts};
use super::{Block, Ending, Framing, Item, ToolFormat, Unwritable, json_call};

/// A format of tags.
#[derive(Debug)]
pub(crate) struct Tags {
    name: &'static str,
    openers: &'static [&'static str],
    /// What ends a block that the first or second opener began, and what begins another one.
    close: [&'static [&'static str]; 2],
    restart: [&'static [&'static str]; 2],
    /// Around a call: before its name, after its name, at its end.
    function: [&'static str; 3],
    /// Around a parameter.
    parameter: [&'static str; 3],
    /// Before and after all calls of a block, when written.
    block: [&'static str; 2],
    /// What stands around a value that is not a part of it.
    line: &'static str,
    /// Whether one block holds all calls of a turn.
    shares_block: bool,
}

/// Qwen3-Coder.
pub(crate) static QWEN3_CODER: Tags = Tags {
    name: "qwen3_coder",
    openers: &["<tool_call>", "<function="],
    close: [&["</tool_call>"], &["</function>"]],
    restart: [&["<tool_call>"], &["<tool_call>", "<function="]],
    function: ["<function=", ">", "</function>"],
    parameter: ["<parameter=", ">", "</parameter>"],
    block: ["<tool_call>\n", "\n</tool_call>"],
    line: "\n",
    shares_block: false,
};

/// MiniMax M2.
pub(crate) static MINIMAX_M2: Tags = Tags {
    name: "minimax_m2",
    openers: &["<minimax:tool_call>", "<invoke name=\""],
    close: [&["</minimax:tool_call>"], &["</invoke>"]],
    restart: [&["<minimax:tool_call>"], &["<minimax:tool_call>", "<invoke name=\""]],
    function: ["<invoke name=\"", "\">", "</invoke>"],
    parameter: ["<parameter name=\"", "\">", "</parameter>"],
    block: ["<minimax:tool_call>\n", "\n</minimax:tool_call>"],
    line: "",
    shares_block: true,
};

impl ToolFormat for Tags {
    fn name(&self) -> &'static str {
        self.name
    }

    fn openers(&self) -> &'static [&'static str] {
        self.openers
    }

    fn framing(&self, opener: Option<usize>) -> Framing {
        let opener = usize::from(opener == Some(1));
        Framing::Tagged {
            value: [self.parameter[0], self.parameter[2]],
            close: self.close[opener],
            restart: self.restart[opener],
        }
    }

    fn silent(&self) -> &'static [&'static str] {
        self.close[0]
    }

    fn read(&self, block: &Block<'_>) -> Vec<Item> {
        let begin = self.function[0];
        let mut call = Reader { tags: self, block, text: block.body, at: 0, value_end: None };
        if block.opener != Some(begin) {
            let Some(at) = block.body.find(begin) else {
                return vec![Item::malformed(format!("there is no {begin} in the tool call"), block.body)];
            };
            if !block.body[..at].trim().is_empty() {
                return vec![Item::malformed(format!("there is text before {begin}"), block.body)];
            }
            call.at = at + begin.len();
        }
        let mut items = Vec::new();
        loop {
            let from = call.at;
            let read = call.call();
            let next = block.body[call.at..].find(begin).map(|next| call.at + next);
            let text = &block.body[from..next.unwrap_or(block.body.len())];
            items.push(read.unwrap_or_else(|reason| Item::malformed(reason, text)));
            match next {
                Some(next) => call.at = next + begin.len(),
                None => return items,
            }
        }
    }

    fn write(&self, calls: &[ToolCall], tools: &[ToolSpec]) -> Result<String, Unwritable> {
        let [before, after] = self.block;
        let written = calls.iter().map(|call| self.written(call, tools)).collect::<Result<Vec<_>, _>>()?;
        Ok(if self.shares_block {
            format!("{before}{}{after}", written.join("\n"))
        } else {
            written.iter().map(|call| format!("{before}{call}{after}")).collect::<Vec<_>>().join("\n")
        })
    }
}

impl Tags {
    fn written(&self, call: &ToolCall, tools: &[ToolSpec]) -> Result<String, Unwritable> {
        json_call::plain_name(self.name, call, &['<', '>', '"'])?;
        let (line, [begin, named, end], [open, keyed, close]) = (self.line, self.function, self.parameter);
        let taken = Taken { markers: &[close, open], close: self.close[0], restart: self.restart[0] };
        let texts = plain_texts(call, tools, Untyped::Text, taken)
            .map_err(|reason| Unwritable::call(self.name, &call.name, reason))?;
        let parameters: String = texts
            .iter()
            .map(|(key, text)| format!("{open}{key}{keyed}{line}{text}{line}{close}\n"))
            .collect();
        Ok(format!("{begin}{}{named}\n{parameters}{end}", call.name))
    }
}

/// Reads the calls of a block, each once its begin marker is behind.
struct Reader<'a> {
    tags: &'a Tags,
    block: &'a Block<'a>,
    text: &'a str,
    at: usize,
    /// Where the next end of a value is, as far as it was looked for: each byte is searched once.
    value_end: Option<usize>,
}

impl<'a> Reader<'a> {
    fn call(&mut self) -> Result<Item, String> {
        let [_, named, end] = self.tags.function;
        let name = self.name(named).ok_or_else(|| format!("there is no tool's name before {named}"))?;
        let types = Types::of(name, self.block.tools);
        let mut arguments = Arguments::new();
        loop {
            let rest = &self.text[self.at..];
            let trimmed = rest.trim_start();
            self.at += rest.len() - trimmed.len();
            if trimmed.starts_with(self.tags.parameter[0]) {
                self.at += self.tags.parameter[0].len();
                let (key, raw) = self.parameter(name, &types)?;
                arguments.add(key, types.value(key, raw, Untyped::Text, self.block.is_lenient));
            } else if trimmed.starts_with(end) || (trimmed.is_empty() && self.block.ending != Ending::Cut) {
                self.at += trimmed.len().min(end.len());
                let is_lenient = arguments.is_lenient;
                return Ok(match json_call::with_arguments(name, "", &arguments.finish(), false) {
                    Item::Call { call, .. } => Item::Call { call, is_lenient },
                    other => other,
                });
            } else if trimmed.is_empty() {
                return Err("the turn was cut before the tool call's end".to_owned());
            } else {
                return Err(format!("there is text between the parameters of {name}"));
            }
        }
    }

    fn parameter(&mut self, name: &str, types: &Types) -> Result<(&'a str, &'a str), String> {
        let [begin, keyed, close] = self.tags.parameter;
        let key = self.name(keyed).ok_or_else(|| format!("a parameter of {name} has no name"))?;
        if self.value_end.is_none_or(|end| end < self.at) {
            self.value_end =
                Some(self.text[self.at..].find(close).map_or(self.text.len(), |end| self.at + end));
        }
        let own_end = self.value_end.unwrap_or(self.text.len());
        let mut end = own_end;
        let mut from = self.at;
        // The end tag is often left out: the next parameter then ends the value.
        while let Some(next) = self.text[from..end].find(begin).map(|next| from + next) {
            let next_key = name_before(keyed, &self.text[next + begin.len()..]);
            if self.text[..next].ends_with('\n') && next_key.is_some_and(|(key, _)| types.allows(key)) {
                end = next;
                break;
            }
            from = next + begin.len();
        }
        if end == self.text.len() {
            if self.block.ending == Ending::Cut {
                return Err("the turn was cut before the tool call's end".to_owned());
            }
            let function_end = self.text[self.at..].find(self.tags.function[2]);
            end = function_end.map_or(end, |end| self.at + end);
        }
        let raw = &self.text[self.at..end];
        self.at = if end == own_end && end < self.text.len() { end + close.len() } else { end };
        let line = self.tags.line;
        let raw = raw.strip_prefix(line).unwrap_or(raw);
        Ok((key, raw.strip_suffix(line).unwrap_or(raw)))
    }

    fn name(&mut self, marker: &str) -> Option<&'a str> {
        let (name, len) = name_before(marker, &self.text[self.at..])?;
        self.at += len;
        Some(name)
    }
}

/// The name at the begin of a text that this marker ends, and the length of both.
fn name_before<'a>(marker: &str, text: &'a str) -> Option<(&'a str, usize)> {
    let len = text.find(['<', '>'])? + 1;
    let name = text[..len].strip_suffix(marker)?.trim();
    (!name.is_empty() && !name.contains('\n')).then_some((name, len))
}
