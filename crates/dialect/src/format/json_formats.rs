//! Formats in which a call is a JSON object with `name` and `arguments`.

use respool_core::{ToolCall, ToolSpec};

use super::json_call;
use super::{Block, Ending, Framing, Item, ToolFormat, Unwritable, ValueFraming};

/// A format in which a call is a JSON object with `name` and `arguments`.
#[derive(Debug)]
pub(crate) struct JsonFormat {
    name: &'static str,
    openers: &'static [&'static str],
    silent: &'static [&'static str],
    bare: &'static [char],
    framing: ValueFraming,
    /// Whether one opener may begin a list of calls.
    many: bool,
    write: Form,
}

/// How calls are written.
#[derive(Debug)]
struct Form {
    /// Before and after each call, and between two of them.
    call: [&'static str; 2],
    between: &'static str,
    /// Before and after all of them.
    all: [&'static str; 2],
    arguments: &'static str,
}

const PLAIN: ValueFraming = ValueFraming {
    separators: &[],
    bare: true,
    python: false,
    tails: &[],
    close: &[],
    restart: &[],
    strict_end: false,
};

/// Qwen2.5, Qwen3, Hermes: `<tool_call>` around one object.
pub(crate) static HERMES: JsonFormat = JsonFormat {
    name: "hermes",
    openers: &["<tool_call>"],
    silent: &[],
    bare: &[],
    framing: ValueFraming { close: &["</tool_call>"], restart: &["<tool_call>"], strict_end: true, ..PLAIN },
    many: false,
    write: Form {
        call: ["<tool_call>\n", "\n</tool_call>"],
        between: "\n",
        all: ["", ""],
        arguments: "arguments",
    },
};

/// Llama 3: the turn is an object, or several with `;` between, with or without `<|python_tag|>`.
pub(crate) static LLAMA3_JSON: JsonFormat = JsonFormat {
    name: "llama3_json",
    openers: &["<|python_tag|>"],
    silent: &[],
    bare: &['{'],
    framing: ValueFraming { restart: &["<|python_tag|>"], ..PLAIN },
    many: false,
    write: Form { call: ["", ""], between: "; ", all: ["", ""], arguments: "parameters" },
};

/// Phi-4: `<|tool_call|>` or `functools` before a list.
pub(crate) static PHI4: JsonFormat = JsonFormat {
    name: "phi4",
    openers: &["<|tool_call|>", "functools"],
    silent: &["<|/tool_call|>"],
    bare: &[],
    framing: ValueFraming { close: &["<|/tool_call|>"], restart: &["<|tool_call|>"], ..PLAIN },
    many: true,
    write: Form {
        call: ["", ""],
        between: ", ",
        all: ["<|tool_call|>[", "]<|/tool_call|>"],
        arguments: "arguments",
    },
};

/// Granite: `<|tool_call|>`, or in other versions a tag, before an object or a list.
pub(crate) static GRANITE: JsonFormat = JsonFormat {
    name: "granite",
    openers: &["<|tool_call|>", "<tool_call>", "<function_call>"],
    silent: &["</tool_call>", "</function_call>"],
    bare: &[],
    framing: ValueFraming {
        close: &["</tool_call>", "</function_call>"],
        restart: &["<|tool_call|>", "<tool_call>", "<function_call>"],
        ..PLAIN
    },
    many: true,
    write: Form { call: ["", ""], between: ", ", all: ["<|tool_call|>[", "]"], arguments: "arguments" },
};

/// No markers at all: the turn is an object, or a list of them.
pub(crate) static PLAIN_JSON: JsonFormat = JsonFormat {
    name: "plain_json",
    openers: &[],
    silent: &[],
    bare: &['{', '['],
    framing: PLAIN,
    many: true,
    write: Form { call: ["", ""], between: ", ", all: ["[", "]"], arguments: "arguments" },
};

impl ToolFormat for JsonFormat {
    fn name(&self) -> &'static str {
        self.name
    }

    fn openers(&self) -> &'static [&'static str] {
        self.openers
    }

    fn framing(&self, _opener: Option<usize>) -> Framing {
        Framing::Value(self.framing)
    }

    fn silent(&self) -> &'static [&'static str] {
        self.silent
    }

    fn bare(&self) -> &'static [char] {
        self.bare
    }

    fn trim_before_bare<'a>(&self, text: &'a str, after_call: bool) -> &'a str {
        text.trim_start_matches(|c: char| c.is_whitespace() || (after_call && matches!(c, ';' | ',')))
    }

    fn other_markers(&self) -> &'static [&'static str] {
        self.framing.close
    }

    fn read(&self, block: &Block<'_>) -> Vec<Item> {
        if block.opener.is_none() && !is_call(block.body, self.many) {
            return vec![Item::Text(block.body.to_owned())];
        }
        if self.framing.strict_end && block.ending == Ending::Cut {
            return vec![Item::malformed("the turn was cut before the tool call's end", block.body)];
        }
        json_call::items(block.body, self.many, block.is_lenient)
    }

    fn write(&self, calls: &[ToolCall], _tools: &[ToolSpec]) -> Result<String, Unwritable> {
        let Form { call: [before, after], between, all: [begin, end], arguments } = &self.write;
        let written = calls.iter().map(|call| {
            let name = serde_json::Value::from(call.name.as_str());
            format!("{before}{{\"name\": {name}, \"{arguments}\": {}}}{after}", call.arguments)
        });
        Ok(format!("{begin}{}{end}", written.collect::<Vec<_>>().join(between)))
    }
}

/// Whether a value without a marker is meant as a call: it has a name and arguments.
fn is_call(body: &str, many: bool) -> bool {
    let names_a_tool = |json: &str| {
        json_call::members(json).is_ok_and(|members| {
            members.get("name").is_some_and(|name| name.get().starts_with('"'))
                && (members.contains_key("arguments") || members.contains_key("parameters"))
        })
    };
    let body = body.trim();
    match serde_json::from_str::<Vec<&serde_json::value::RawValue>>(body) {
        Ok(calls) if many => calls.first().is_some_and(|call| names_a_tool(call.get())),
        _ => names_a_tool(body),
    }
}
