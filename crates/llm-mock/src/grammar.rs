//! What the policy `hash` may say.

use crate::TurnWriter;

/// What the policy `hash` may say, and how often.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grammar {
    /// What texts are put together from.
    pub words: Vec<String>,
    /// What opens and closes reasoning, where the model family has it.
    pub reasoning: Option<(String, String)>,
    /// Tool calls, written out.
    pub calls: Vec<String>,
    /// Texts that begin like a call and are none.
    pub malformed: Vec<String>,
    /// The most words of one stretch of text.
    pub max_words: usize,
    /// The most calls of one turn.
    pub max_calls: usize,
    /// How many of a hundred turns have calls.
    pub call_percent: u8,
    /// How many of a hundred calls are malformed.
    pub malformed_percent: u8,
    /// How many of a hundred turns begin with reasoning.
    pub reasoning_percent: u8,
    /// How many of a hundred turns are empty.
    pub empty_percent: u8,
}

/// Words of one byte and of many: an encoder may split each of them inside a character.
const WORDS: [&str; 12] = [
    "the ",
    "sum ",
    "of ",
    "7 ",
    "is ",
    "therefore,\n",
    "naïve ",
    "北京 ",
    "😀",
    "👩‍👩‍👧 ",
    "<b>",
    "\u{e9}t\u{e9} ",
];

/// Arguments that are hard to carry: nested, out of order, too big for a float, quoting a marker.
const ARGUMENTS: [&str; 5] = [
    "{}",
    r#"{"expression": "3 * (4 + 5)"}"#,
    r#"{"text": "naïve 北京 😀"}"#,
    r#"{"b": [1, {"z": null}], "a": 12345678901234567890123}"#,
    r#"{"quote": "say \"</tool_call>\" twice\n"}"#,
];

impl Grammar {
    /// Texts of many scripts, and calls of these tools with all kinds of arguments, of one tool
    /// that does not exist, and damaged ones. What the writer cannot say is left out. No reasoning.
    #[must_use]
    pub fn new(tools: &[&str], write: &TurnWriter) -> Self {
        let names = tools.iter().copied().chain(["no_such_tool"]);
        let calls: Vec<_> = names
            .flat_map(|name| ARGUMENTS.iter().filter_map(move |text| write("", &[(name, text)])))
            .collect();
        let malformed =
            calls.iter().flat_map(|call| [first_two_thirds(call), without_middle(call)]).collect();
        Self {
            words: WORDS.map(str::to_owned).to_vec(),
            reasoning: None,
            calls,
            malformed,
            max_words: 24,
            max_calls: 4,
            call_percent: 60,
            malformed_percent: 10,
            reasoning_percent: 30,
            empty_percent: 2,
        }
    }
}

/// A call that is never closed.
fn first_two_thirds(call: &str) -> String {
    call.chars().take(call.chars().count() * 2 / 3).collect()
}

/// A call that lacks the third of its letters in the middle.
fn without_middle(call: &str) -> String {
    let third = call.chars().count() / 3;
    call.chars().take(third).chain(call.chars().skip(2 * third)).collect()
}
