//! A tool-call format of your own: each call is a line `>> NAME {"key": value}`.
//!
//! `cargo run -p respool-dialect --example own_format` reads a turn in it. `docs/dialects.md` says
//! what each method is for, and `tests/own_format.rs` checks that how a turn is cut does not matter.
#![expect(clippy::print_stdout, reason = "an example shows something")]

use respool_core::{Dialect as _, JsonText, ParsedCall, ToolCall, ToolSpec};
use respool_dialect::{
    Block, Clock, DialectOptions, Ending, Framing, HfDialect, Item, ToolFormat, Unwritable,
};

/// Calls as lines.
#[derive(Debug)]
pub(crate) struct Lines;

impl ToolFormat for Lines {
    fn name(&self) -> &'static str {
        "lines-1" // Another number whenever it reads something else: the name is in the fingerprint.
    }

    fn openers(&self) -> &'static [&'static str] {
        &[">> "]
    }

    fn framing(&self, _opener: Option<usize>) -> Framing {
        Framing::Message { close: &["\n"], restart: &[] }
    }

    fn read(&self, block: &Block<'_>) -> Vec<Item> {
        if block.ending == Ending::Cut {
            return vec![Item::malformed("the turn was cut before the end of the line", block.body)];
        }
        let Some((name, arguments)) = block.body.trim().split_once(' ') else {
            return vec![Item::malformed("expected NAME {…} on the line", block.body)];
        };
        let call = match JsonText::new(arguments) {
            Ok(arguments) if arguments.is_object() => {
                ParsedCall::Call(ToolCall { id: String::new(), slot: 0, name: name.to_owned(), arguments })
            }
            Ok(_) => wrong(name, "the arguments are no JSON object"),
            Err(error) => wrong(name, &error.to_string()),
        };
        vec![Item::call(call)]
    }

    fn write(&self, calls: &[ToolCall], _tools: &[ToolSpec]) -> Result<String, Unwritable> {
        let mut text = String::new();
        for ToolCall { name, arguments, .. } in calls {
            if name.contains(char::is_whitespace) || arguments.as_str().contains('\n') {
                return Err(Unwritable::call(self.name(), name, "a call is one line of two parts"));
            }
            text += &format!(">> {name} {arguments}\n");
        }
        Ok(text)
    }
}

fn wrong(name: &str, reason: &str) -> ParsedCall {
    ParsedCall::Wrong { name: name.to_owned(), reason: reason.to_owned() }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let options =
        DialectOptions { own_format: Some(&Lines), ..DialectOptions::new(Clock::from_unix_seconds(0)) };
    let dialect = HfDialect::embedded(options)?;
    let turn =
        dialect.encode_text("Let me see.\n>> look_up {\"word\": \"ox\"}\n>> look_up ox\n<|im_end|>")?;
    let parsed = dialect.parse_turn(&[], &turn, &[], true);
    println!("{:?} and {:#?}", parsed.content, parsed.calls);
    Ok(())
}
