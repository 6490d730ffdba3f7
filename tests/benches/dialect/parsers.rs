//! Reading of turns, in megabytes a second.

use std::hint::black_box;

use anyhow::{Context, Result};
use respool_core::{JsonText, Replay, SessionPolicy, ToolCall, ToolSpec};
use respool_dialect::{ToolFormat, TurnContext, TurnParser, tool_format, tool_format_names};

use crate::seconds;

/// Bytes of a turn.
const SIZES: [usize; 3] = [1 << 10, 100 << 10, 10 << 20];
/// Bytes of a token of plain English, more or less.
const TOKEN: usize = 4;

const WORDS: &str = "the quick brown fox reads \"quoted\" text, ";

/// What a turn is made of.
#[derive(Clone, Copy)]
enum Shape {
    /// Text, and a call at its end.
    Text,
    /// Calls with short arguments, one after the other.
    Calls,
    /// One call with a long argument.
    LongCall,
}

pub(crate) fn run() -> Result<()> {
    let baseline = json_speed()?;
    println!("baseline: serde_json reads 100 KB of calls as values at {baseline:.0} MB/s");
    println!("MB/s whole and in deltas of one token ({TOKEN} bytes); growth: seconds a byte at 10 MB");
    println!("over those at 100 KB, 1 where time is linear");
    let shapes = [
        (Shape::Text, "text and one call"),
        (Shape::Calls, "short calls"),
        (Shape::LongCall, "one long call"),
    ];
    for (shape, title) in shapes {
        println!("\n{title}");
        println!(
            "{:14} {:>13} {:>13} {:>13}   {:>11}   of the baseline",
            "", "1 KB", "100 KB", "10 MB", "growth"
        );
        for name in tool_format_names() {
            row(tool_format(name).context("a name from the list")?, shape, baseline)?;
        }
    }
    Ok(())
}

fn row(format: &'static dyn ToolFormat, shape: Shape, baseline: f64) -> Result<()> {
    let context = TurnContext { tools: tools()?.into(), ..TurnContext::default() };
    let mut speeds = Vec::new();
    for size in SIZES {
        let text = turn(format, shape, size)?;
        let megabytes = text.len() as f64 / 1e6;
        let speed = |size: usize| megabytes / seconds(|| read(format, &context, &text, size));
        speeds.push([speed(text.len()), speed(TOKEN)]);
    }
    print!("{:14}", format.name());
    for [whole, deltas] in &speeds {
        print!(" {whole:>6.0} {deltas:>6.1}");
    }
    let growth = |mode: usize| speeds[1][mode] / speeds[2][mode];
    println!("   {:>5.2} {:>5.2}   {:.2}", growth(0), growth(1), speeds[1][0] / baseline);
    Ok(())
}

fn read(format: &'static dyn ToolFormat, context: &TurnContext, text: &str, size: usize) {
    let mut parser = TurnParser::new(format, context.clone());
    let mut rest = text;
    while !rest.is_empty() {
        let (delta, after) = rest.split_at(boundary(rest, size));
        black_box(parser.push(delta));
        rest = after;
    }
    black_box(parser.finish(true));
}

/// The first end of a letter that is not before `size`.
fn boundary(text: &str, size: usize) -> usize {
    (size..text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len())
}

fn turn(format: &'static dyn ToolFormat, shape: Shape, size: usize) -> Result<String> {
    let tools = tools()?;
    let long = WORDS.repeat(size / WORDS.len() + 1);
    let write = |calls: &[ToolCall]| format.write(calls, &tools);
    let text = match shape {
        Shape::Text => format!("{}{}", format.say(&long), write(&[call("a fox")?])?),
        Shape::LongCall => write(&[call(&long)?])?,
        Shape::Calls => {
            let short = call(WORDS)?;
            let two =
                write(&[short.clone(), short.clone()])?.len() - write(std::slice::from_ref(&short))?.len();
            write(&vec![short; size / two.max(1) + 1])?
        }
    };
    Ok(text)
}

fn call(query: &str) -> Result<ToolCall> {
    let arguments = JsonText::new(serde_json::json!({"query": query, "limit": 10}).to_string())?;
    Ok(ToolCall { id: String::new(), slot: 0, name: "search".to_owned(), arguments })
}

fn tools() -> Result<[ToolSpec; 1]> {
    let schema = serde_json::json!({"type": "function", "function": {"name": "search", "parameters": {
        "type": "object", "properties": {"query": {"type": "string"}, "limit": {"type": "integer"}}}}});
    let schema = JsonText::new(schema.to_string())?;
    Ok([ToolSpec {
        name: "search".to_owned(),
        schema,
        replay: Replay::Pure,
        session: SessionPolicy::Stateless,
    }])
}

/// As much text in JSON alone: the arguments of many calls.
fn json_speed() -> Result<f64> {
    let calls = vec![call(WORDS)?.arguments; SIZES[1] / WORDS.len()];
    let text = format!("[{}]", calls.iter().map(JsonText::as_str).collect::<Vec<_>>().join(","));
    let read = || drop(black_box(serde_json::from_str::<serde_json::Value>(black_box(&text))));
    Ok(text.len() as f64 / 1e6 / seconds(read))
}
