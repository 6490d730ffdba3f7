//! The Jinja environment of Hugging Face chat templates, as Python has it.

mod clock;
mod json;
mod methods;
mod repr;
mod text;
mod tojson;
mod value;

use std::fmt;

use minijinja::value::{Kwargs, Value, ValueKind};
use minijinja::{AutoEscape, Environment, Error, ErrorKind, UndefinedBehavior};

pub use clock::Clock;
pub(crate) use json::read;
pub(crate) use value::{Dict, List};

/// Instructions that one rendering may take: a conversation of a million tokens takes less, and a
/// template that loops for ever stops after about a second.
const FUEL: u64 = 20_000_000;

/// What a template said with `raise_exception`.
#[derive(Debug)]
pub(crate) struct Raised(pub(crate) String);

impl fmt::Display for Raised {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Raised {}

/// An environment with that one template in it, by the name `chat`. It reads no files.
pub(crate) fn environment(source: &str, clock: Clock) -> Result<Environment<'static>, Error> {
    let mut env = Environment::new();
    env.set_trim_blocks(true);
    env.set_lstrip_blocks(true);
    env.set_keep_trailing_newline(false);
    env.set_undefined_behavior(UndefinedBehavior::Lenient);
    env.set_auto_escape_callback(|_| AutoEscape::None);
    env.set_fuel(Some(FUEL));
    env.set_formatter(|out, _, value| {
        let written = match value.as_str() {
            Some(text) => out.write_str(text),
            None => out.write_str(&repr::str(value)),
        };
        written.map_err(Error::from)
    });
    env.set_unknown_method_callback(|_, value, method, args| methods::call(value, method, args));
    env.add_function("raise_exception", |message: Value| -> Result<Value, Error> {
        let message = repr::str(&message);
        Err(Error::new(ErrorKind::InvalidOperation, message.clone()).with_source(Raised(message)))
    });
    env.add_function("strftime_now", move |format: &str| clock.strftime(format));
    env.add_filter("tojson", |value: &Value, indent: Option<Value>, options: Kwargs| {
        tojson::tojson(value, indent, options)
    });
    env.add_filter("string", |value: &Value| repr::str(value));
    env.add_filter("length", length);
    env.add_filter("count", length);
    env.add_filter("items", items);
    env.add_filter("trim", |value: &Value, chars: Option<&str>| {
        text::strip(&repr::str(value), chars, (true, true)).to_owned()
    });
    env.add_filter("title", |value: &Value| text::title(&repr::str(value)));
    add_tests(&mut env);
    env.add_template_owned("chat", without_generation_tags(source))?;
    Ok(env)
}

/// Tests of kinds, where Jinja2 asks Python: texts and mappings are sequences too, None is nothing.
fn add_tests(env: &mut Environment<'static>) {
    use ValueKind::{Bool, Iterable, Map, Number, Seq, String, Undefined};
    let spelled =
        |value: &Value| value.downcast_object_ref::<value::Number>().map(|number| number.is_integer());
    env.add_test("iterable", |value: &Value| {
        matches!(value.kind(), Undefined | String | Seq | Map | Iterable)
    });
    env.add_test("sequence", |value: &Value| matches!(value.kind(), Undefined | String | Seq | Map));
    env.add_test("number", move |value: &Value| {
        matches!(value.kind(), Number | Bool) || spelled(value).is_some()
    });
    env.add_test("integer", move |value: &Value| value.is_integer() || spelled(value) == Some(true));
    env.add_test("float", move |value: &Value| {
        (value.kind() == Number && !value.is_integer()) || spelled(value) == Some(false)
    });
}

/// Python's `len`; an undefined value is empty, None has no length.
fn length(value: &Value) -> Result<usize, Error> {
    if value.is_undefined() {
        return Ok(0);
    }
    value.len().ok_or_else(|| {
        Error::new(ErrorKind::InvalidOperation, format!("a value of kind {} has no length", value.kind()))
    })
}

fn items(value: &Value) -> Result<Value, Error> {
    match value.kind() {
        ValueKind::Undefined => Ok(List::value(Vec::new())),
        ValueKind::Map => methods::call(value, "items", &[]),
        kind => {
            Err(Error::new(ErrorKind::InvalidOperation, format!("items: expected a mapping, found {kind}")))
        }
    }
}

/// `{% generation %}` only marks what the assistant wrote, for a mask that is not made here: it
/// becomes an `if` that is always true.
fn without_generation_tags(source: &str) -> String {
    let mut out = String::with_capacity(source.len());
    let mut rest = source;
    while let Some(open) = rest.find("{%") {
        let Some(close) = rest[open..].find("%}").map(|at| open + at) else { break };
        let tag = &rest[open + 2..close];
        let keyword = tag.trim_matches(['-', '+']).trim();
        let replacement = match keyword {
            "generation" => tag.replace("generation", " if true "),
            "endgeneration" => tag.replace("endgeneration", " endif "),
            _ => tag.to_owned(),
        };
        out.push_str(&rest[..open + 2]);
        out.push_str(&replacement);
        out.push_str("%}");
        rest = &rest[close + 2..];
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests;
