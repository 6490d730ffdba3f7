//! Llama 4 and others: a Python list of calls with named arguments. Nothing is evaluated.

use respool_core::{JsonText, ParsedCall, ToolCall, ToolSpec};
use serde_json::{Map, Value};

use super::literal::{self, Literals};
use super::{Block, Framing, Item, ToolFormat, Unwritable, ValueFraming};

#[derive(Debug)]
pub(crate) struct Pythonic;

const OPEN: &str = "<|python_start|>";
const CLOSE: &str = "<|python_end|>";

impl ToolFormat for Pythonic {
    fn name(&self) -> &'static str {
        "pythonic"
    }

    fn openers(&self) -> &'static [&'static str] {
        &[OPEN]
    }

    fn bare(&self) -> &'static [char] {
        &['[']
    }

    fn silent(&self) -> &'static [&'static str] {
        &[CLOSE]
    }

    fn framing(&self, _opener: Option<usize>) -> Framing {
        Framing::Value(ValueFraming {
            separators: &[],
            bare: true,
            python: true,
            tails: &[],
            close: &[CLOSE],
            restart: &[OPEN],
            strict_end: false,
        })
    }

    fn read(&self, block: &Block<'_>) -> Vec<Item> {
        let mut literals = Literals { rest: block.body, is_lenient: false };
        let begins = literals.eat('[') && !literals.name().is_empty() && literals.eat('(');
        if !begins && block.opener.is_none() {
            return vec![Item::Text(block.body.to_owned())];
        }
        let strict = calls(block.body, false).map(|calls| (calls, false));
        let read = match strict {
            Err(_) if block.is_lenient => calls(block.body, true).map(|calls| (calls, true)),
            strict => strict,
        };
        match read {
            Ok((calls, is_lenient)) => calls
                .into_iter()
                .map(|call| Item::Call { call: ParsedCall::Call(call), is_lenient })
                .collect(),
            Err(reason) => vec![Item::malformed(format!("the list of calls: {reason}"), block.body)],
        }
    }

    fn write(&self, calls: &[ToolCall], _tools: &[ToolSpec]) -> Result<String, Unwritable> {
        let written = calls
            .iter()
            .map(|call| written(call).map_err(|reason| Unwritable::call(self.name(), &call.name, reason)));
        Ok(format!("[{}]", written.collect::<Result<Vec<_>, _>>()?.join(", ")))
    }
}

fn calls(text: &str, is_lenient: bool) -> Result<Vec<ToolCall>, String> {
    let mut literals = Literals { rest: text, is_lenient };
    let mut calls = Vec::new();
    if !literals.eat('[') {
        return Err(literals.expected("'['"));
    }
    while !literals.eat(']') {
        calls.push(call(&mut literals)?);
        if !literals.eat(',') && !literals.rest.starts_with(']') {
            return Err(literals.expected("',' or ']'"));
        }
    }
    literals.skip_space();
    if literals.rest.is_empty() { Ok(calls) } else { Err(literals.expected("the end")) }
}

fn call(literals: &mut Literals<'_>) -> Result<ToolCall, String> {
    let name = literals.name();
    if name.is_empty() || !literals.eat('(') {
        return Err(literals.expected("a call with its name"));
    }
    let mut json = "{".to_owned();
    let mut keys = std::collections::BTreeSet::new();
    while !literals.eat(')') {
        let key = literals.name();
        if key.is_empty() || !literals.eat('=') {
            return Err(literals.expected("a named argument such as x=1"));
        }
        if !keys.insert(key) {
            return Err(format!("the argument {key} is given twice"));
        }
        let comma = if keys.len() == 1 { "" } else { ", " };
        json.push_str(&format!("{comma}{}: ", Value::from(key)));
        literals.value(&mut json, 0)?;
        if !literals.eat(',') && !literals.rest.starts_with(')') {
            return Err(literals.expected("',' or ')'"));
        }
    }
    json.push('}');
    let arguments = JsonText::new(json).map_err(|error| error.to_string())?;
    Ok(ToolCall { id: String::new(), slot: 0, name: name.to_owned(), arguments })
}

fn written(call: &ToolCall) -> Result<String, String> {
    let is_name = |text: &str| {
        let mut literals = Literals { rest: text, is_lenient: false };
        !literals.name().is_empty() && literals.rest.is_empty()
    };
    let members: Map<String, Value> =
        serde_json::from_str(call.arguments.as_str()).map_err(|error| error.to_string())?;
    if let Some(wrong) = members.keys().chain([&call.name]).find(|name| !is_name(name)) {
        return Err(format!("{wrong:?} is no name in Python"));
    }
    let arguments = members.iter().map(|(key, value)| {
        let mut text = format!("{key}=");
        literal::from_json(value, &mut text);
        text
    });
    Ok(format!("{}({})", call.name, arguments.collect::<Vec<_>>().join(", ")))
}
