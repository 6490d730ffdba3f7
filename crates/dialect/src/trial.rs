//! The chats on which shortcuts are tried. They differ in everything that a template could look at.

use respool_core::{
    Chat, Continuation, JsonText, Message, Replay, Role, SessionPolicy, Token, ToolCall, ToolSpec,
};

use crate::ordinary::MOST_RESULTS;
use crate::shortcut::{Case, LONGEST};

/// One chat with what comes next.
#[derive(Debug)]
pub(crate) struct Trial {
    messages: Vec<Message>,
    tools: Vec<ToolSpec>,
    new: Vec<Message>,
    last_token: Option<Token>,
}

/// Which turns have reasoning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reasoning {
    Never,
    Before,
    Always,
}

/// The shape of a chat.
#[derive(Clone, Copy, Debug)]
struct Shape<'a> {
    case: Case,
    system: bool,
    /// The number of calls of each earlier turn.
    past: &'a [usize],
    /// The number of calls of the last turn.
    calls: usize,
    reasoning: Reasoning,
    last_token: Option<Token>,
}

/// Earlier turns; 0 calls: an answer, and a user message after it.
const PASTS: [&[usize]; 9] = [
    &[],
    &[1],
    &[0],
    &[3],
    &[0, 1],
    &[2, 0],
    &[1, 0, 2],
    &[0, 0],
    &[1, 1, 2, 0, 1, 0, 0, 4, 1, 1, 0, 1, 2, 1, 1, 0, 1, 1, 1, 1, 1, 1, 1, 1],
];

/// Contents that templates are known to treat in their own way, and some that none should.
const TEXTS: [&str; 29] = [
    "ok",
    "",
    " blank before",
    "blank after ",
    "\n",
    "\n\nlines around\n\n",
    "several\nlines\n\n  of text",
    "{\"a\": [1, 2.5, null], \"b\": \"c\"}",
    "[]",
    "12",
    "-0.5e3",
    "true",
    "None",
    "é e\u{301} 東京 🦀 \u{a0}ﬁ",
    "\"double\" 'single' back\\slash \\n",
    "<b>&amp;</b> {{ x }} {% y %} {# z #}",
    "<think>",
    "before</think>after",
    "<think>\nthought\n</think>\n\nsaid",
    "<tool_response>\nresult\n</tool_response>",
    "[TOOL_RESULTS] [/INST]",
    "be quick /no_think",
    "UPPER CASE",
    "a tab\tand\r\n",
    "Error: no such file",
    "https://example.org/?a=b#c",
    "```rust\nfn main() {}\n```",
    "\u{3000}wide\u{3000}",
    "system",
];

impl Trial {
    /// A short chat that ends with these contents.
    pub(crate) fn simple(case: Case, contents: &[&str]) -> Self {
        let calls = if case.role == Role::Tool { contents.len() } else { 0 };
        let shape =
            Shape { case, system: false, past: &[], calls, reasoning: Reasoning::Never, last_token: None };
        let mut trial = Writer::new(&["said"], "look_up").write(&shape);
        for (message, content) in trial.new.iter_mut().zip(contents) {
            message.content = (*content).into();
        }
        trial
    }

    pub(crate) fn continuation<'a>(&'a self, template_args: &'a JsonText) -> Continuation<'a> {
        Continuation {
            chat: Chat { messages: &self.messages, tools: &self.tools, template_args },
            new_messages: &self.new,
            last_token: self.last_token,
        }
    }
}

/// The texts of [`all`] for which a shortcut may be taken.
pub(crate) fn texts(may_be_taken: impl Fn(&str) -> bool) -> Vec<&'static str> {
    TEXTS.into_iter().filter(|text| may_be_taken(text)).collect()
}

/// Every shape, each with other texts in its places; `stop` ends every other turn.
pub(crate) fn all(case: Case, texts: &[&str], stop: Option<Token>) -> impl Iterator<Item = Trial> {
    let reasonings = [Reasoning::Never, Reasoning::Before, Reasoning::Always];
    let shapes = PASTS.into_iter().flat_map(move |past| {
        [false, true]
            .into_iter()
            .flat_map(move |system| reasonings.map(|reasoning| (past, system, reasoning)))
    });
    let tried = shapes.enumerate().map(move |(index, (past, system, reasoning))| {
        let calls = if case.role == Role::Tool { 1 + index % MOST_RESULTS } else { 0 };
        let last_token = stop.filter(|_| index % 2 == 0);
        let mut writer = Writer::new(texts, ["look_up", "add", "f"][index % 3]);
        writer.at = index * 7;
        writer.write(&Shape { case, system, past, calls, reasoning, last_token })
    });
    tried.chain([longest(case)])
}

fn longest(case: Case) -> Trial {
    let mut long = "a long text, ".repeat(LONGEST / 13);
    long.push_str(&"x".repeat(LONGEST - long.len()));
    Trial::simple(case, &[&long])
}

/// Chats with that text in all places, alone and at both ends and in the middle of a longer one.
pub(crate) fn with_literal(case: Case, literal: &str) -> impl Iterator<Item = Trial> {
    let texts = [
        literal.to_owned(),
        format!("{literal} and more"),
        format!("more and {literal}"),
        format!("more {literal} and more"),
    ];
    let name = literal.to_owned();
    let calls = if case.role == Role::Tool { [1, MOST_RESULTS, 1, 1] } else { [0; 4] };
    (0..texts.len()).map(move |at| {
        let reasoning = if at % 2 == 0 { Reasoning::Never } else { Reasoning::Always };
        let texts = texts.each_ref().map(String::as_str);
        let mut writer = Writer::new(&texts, &name);
        writer.at = at;
        let past = if at % 2 == 0 { &[][..] } else { &[1, 0] };
        writer.write(&Shape { case, system: true, past, calls: calls[at], reasoning, last_token: None })
    })
}

/// Writes chats with one text after the other.
struct Writer<'a> {
    texts: &'a [&'a str],
    at: usize,
    tool: &'a str,
    calls: u32,
}

impl<'a> Writer<'a> {
    fn new(texts: &'a [&'a str], tool: &'a str) -> Self {
        Self { texts, at: 0, tool, calls: 0 }
    }

    fn text(&mut self) -> &'a str {
        self.at += 1;
        self.texts[self.at % self.texts.len()]
    }

    /// A text that is not blank, if there is one.
    fn said(&mut self) -> &'a str {
        let tries = self.texts.len();
        (0..tries).map(|_| self.text()).find(|text| !text.trim().is_empty()).unwrap_or("said")
    }

    fn write(mut self, shape: &Shape<'_>) -> Trial {
        let mut messages = Vec::new();
        if shape.system {
            messages.push(Message::new(Role::System, self.text()));
        }
        messages.push(Message::new(Role::User, self.text()));
        for calls in shape.past {
            let turn = self.turn(*calls, shape.reasoning != Reasoning::Never);
            let answers = self.answers(&turn);
            messages.push(turn);
            messages.extend(answers);
        }
        let turn = self.turn(shape.calls, shape.reasoning == Reasoning::Always);
        let new = self.answers(&turn);
        messages.push(turn);
        let tools = if shape.case.with_tools { self.tools() } else { Vec::new() };
        Trial { messages, tools, new, last_token: shape.last_token }
    }

    fn turn(&mut self, calls: usize, with_reasoning: bool) -> Message {
        let content = if calls == 0 { self.said() } else { self.text() };
        let mut turn = Message::new(Role::Assistant, content);
        turn.reasoning = with_reasoning.then(|| self.said().to_owned());
        turn.tool_calls = (0..calls).map(|_| self.call()).collect();
        turn
    }

    fn call(&mut self) -> ToolCall {
        self.calls += 1;
        let text = serde_json::json!({ self.tool: self.text(), "n": self.calls }).to_string();
        ToolCall {
            id: format!("call{:05}", self.calls),
            slot: 0,
            name: if self.calls.is_multiple_of(2) { "other".to_owned() } else { self.tool.to_owned() },
            arguments: JsonText::new(text).unwrap_or_else(|_| JsonText::empty_object()),
        }
    }

    /// What follows a turn: the results of its calls, or a user message.
    fn answers(&mut self, turn: &Message) -> Vec<Message> {
        if turn.tool_calls.is_empty() {
            return vec![Message::new(Role::User, self.text())];
        }
        let result = |call: &ToolCall| {
            let mut result = Message::new(Role::Tool, self.text());
            result.tool_call_id = Some(call.id.clone());
            result.name = Some(call.name.clone());
            result
        };
        turn.tool_calls.iter().map(result).collect()
    }

    /// One tool, or two.
    fn tools(&mut self) -> Vec<ToolSpec> {
        let names = ["other", self.tool];
        let tools = names[self.at % 2..].iter().map(|name| {
            let schema = serde_json::json!({"type": "function", "function": {
                "name": name, "description": self.text(),
                "parameters": {"type": "object", "properties": {"word": {"type": "string"}}},
            }});
            ToolSpec {
                name: (*name).to_owned(),
                schema: JsonText::new(schema.to_string()).unwrap_or_else(|_| JsonText::empty_object()),
                replay: Replay::default(),
                session: SessionPolicy::default(),
            }
        });
        tools.collect()
    }
}
