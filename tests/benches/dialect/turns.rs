//! What one turn of a rollout needs of a model folder: its template and its tokenizer.

use std::cell::Cell;
use std::hint::black_box;
use std::path::Path;

use anyhow::{Context, Result};
use respool_core::{
    Chat, Continuation, Dialect, JsonText, Message, Replay, Role, SessionPolicy, Token, ToolCall, ToolSpec,
};
use respool_dialect::{Clock, DialectOptions, HfDialect};

use crate::seconds;

/// Calls between two looks at the clock.
const ROUNDS: u32 = 200;

pub(crate) fn run(tokenizers: &Path) -> Result<()> {
    println!("\nmicroseconds of one turn; bare: the tokenizer alone on the text that the template appends");
    println!(
        "{:16} {:>10} {:>10} {:>12} {:>6} {:>6} {:>12} {:>13}",
        "", "decode 128", "parse 128", "tool message", "bare", "ratio", "user message", "first prompt"
    );
    let options = || DialectOptions::new(Clock::from_unix_seconds(1_767_322_800));
    row("(built in)", &HfDialect::embedded(options())?)?;
    if !tokenizers.is_dir() {
        println!("model folders: skipped (no {})", tokenizers.display());
        return Ok(());
    }
    let mut folders = std::fs::read_dir(tokenizers)?.collect::<Result<Vec<_>, _>>()?;
    folders.sort_by_key(std::fs::DirEntry::file_name);
    for folder in folders {
        let name = folder.file_name();
        row(&name.to_string_lossy(), &HfDialect::load(&folder.path(), options())?)?;
    }
    Ok(())
}

fn row(name: &str, dialect: &HfDialect) -> Result<()> {
    let tools = [tool()?];
    let turn = a_turn(dialect)?;
    let args = JsonText::empty_object();
    let call = ToolCall {
        id: "call00001".to_owned(),
        slot: 0,
        name: "search".to_owned(),
        arguments: JsonText::new(r#"{"query": "foxes"}"#)?,
    };
    let result = Message {
        tool_call_id: Some(call.id.clone()),
        name: Some(call.name.clone()),
        ..Message::new(Role::Tool, "42")
    };
    let called = Message { tool_calls: vec![call], ..Message::new(Role::Assistant, "") };
    let said = Message::new(Role::Assistant, "Here it is.");
    let question = || Message::new(Role::User, "How many foxes are there?");
    let next = |tools: &[ToolSpec], turn: &Message, new: &[Message]| -> Result<Vec<Token>> {
        let messages = [question(), turn.clone()];
        let chat = Chat { messages: &messages, tools, template_args: &args };
        let last_token = dialect.stop_tokens().first().copied();
        Ok(dialect.encode_continuation(&Continuation { chat, new_messages: new, last_token })?.tokens)
    };
    let (tool, user) = ([result], [Message::new(Role::User, "And the next one?")]);
    let appended = next(&tools, &called, &tool).with_context(|| name.to_owned())?;
    let appended = dialect.decode(&appended);

    let decode = micros(|| drop(black_box(dialect.decode(black_box(&turn)))));
    let parse = micros(|| drop(black_box(dialect.parse_turn(&[], black_box(&turn), &tools, true))));
    let tool = micros(|| drop(black_box(next(&tools, &called, &tool))));
    let bare = micros(|| drop(black_box(dialect.encode_text(black_box(&appended)))));
    let user = micros(|| drop(black_box(next(&[], &said, &user))));
    let count = Cell::new(0);
    let first = micros(|| {
        count.set(count.get() + 1); // another prompt each time: prompts are remembered
        let messages = [Message::new(Role::User, format!("How many foxes are in forest {}?", count.get()))];
        let chat = Chat { messages: &messages, tools: &tools, template_args: &args };
        drop(black_box(dialect.encode_chat(&chat)));
    });
    println!(
        "{name:16} {decode:>10.2} {parse:>10.2} {tool:>12.2} {bare:>6.2} {:>6.2} {user:>12.2} {first:>13.2}",
        tool / bare
    );
    Ok(())
}

fn micros(mut run: impl FnMut()) -> f64 {
    seconds(|| (0..ROUNDS).for_each(|_| run())) / f64::from(ROUNDS) * 1e6
}

/// 128 tokens of plain text.
fn a_turn(dialect: &HfDialect) -> Result<Vec<Token>> {
    let text = "The old man walked slowly along the river and thought about what to do next. ".repeat(20);
    let mut tokens = dialect.encode_text(&text)?;
    tokens.truncate(128);
    Ok(tokens)
}

fn tool() -> Result<ToolSpec> {
    let schema = r#"{"type": "function", "function": {"name": "search", "description": "Looks for something.",
        "parameters": {"type": "object", "properties": {"query": {"type": "string", "description": "For what."}},
        "required": ["query"]}}}"#;
    Ok(ToolSpec {
        name: "search".to_owned(),
        schema: JsonText::new(schema)?,
        replay: Replay::Pure,
        session: SessionPolicy::Stateless,
    })
}
