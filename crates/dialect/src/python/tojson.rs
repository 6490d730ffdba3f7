//! The filter `tojson` of chat templates: Python's `json.dumps` with `ensure_ascii` off.

use minijinja::value::{Kwargs, Value, ValueKind};
use minijinja::{Error, ErrorKind};

use super::repr;
use super::value::Number;

struct Style {
    item: String,
    key: String,
    indent: Option<String>,
    ascii: bool,
    sort: bool,
}

/// `value | tojson(ensure_ascii=False, indent=None, separators=None, sort_keys=False)`.
pub(crate) fn tojson(value: &Value, indent: Option<Value>, options: Kwargs) -> Result<String, Error> {
    let indent = match options.get::<Option<Value>>("indent")?.or(indent) {
        None => None,
        Some(value) if value.is_none() || value.is_undefined() => None,
        Some(value) => Some(indentation(&value)?),
    };
    let (mut item, mut key) = (if indent.is_some() { "," } else { ", " }.to_owned(), ": ".to_owned());
    if let Some(separators) = options.get::<Option<Vec<String>>>("separators")?
        && let [first, second] = separators.as_slice()
    {
        (item, key) = (first.clone(), second.clone());
    }
    let ascii = options.get::<Option<bool>>("ensure_ascii")?.unwrap_or(false);
    let sort = options.get::<Option<bool>>("sort_keys")?.unwrap_or(false);
    options.assert_all_used()?;
    let mut out = String::new();
    write(value, &Style { item, key, indent, ascii, sort }, 0, &mut out)?;
    Ok(out)
}

/// `value` in the default style.
pub(crate) fn compact(value: &Value) -> Result<String, Error> {
    let style =
        Style { item: ", ".to_owned(), key: ": ".to_owned(), indent: None, ascii: false, sort: false };
    let mut out = String::new();
    write(value, &style, 0, &mut out)?;
    Ok(out)
}

fn indentation(value: &Value) -> Result<String, Error> {
    if let Some(text) = value.as_str() {
        return Ok(text.to_owned());
    }
    let width = value.as_usize().filter(|width| *width <= 64);
    width.map(|width| " ".repeat(width)).ok_or_else(|| {
        Error::new(
            ErrorKind::InvalidOperation,
            format!("tojson: indent must be 0 to 64 or a text, found {value}"),
        )
    })
}

fn write(value: &Value, style: &Style, depth: usize, out: &mut String) -> Result<(), Error> {
    match value.kind() {
        ValueKind::None => out.push_str("null"),
        ValueKind::Bool => out.push_str(if value.is_true() { "true" } else { "false" }),
        ValueKind::Number => out.push_str(&number(value)),
        ValueKind::String => string(value.as_str().unwrap_or_default(), style.ascii, out),
        ValueKind::Seq | ValueKind::Iterable => {
            let items: Vec<Value> = value.try_iter()?.collect();
            list(['[', ']'], items.len(), style, depth, out, |index, out| {
                write(&items[index], style, depth + 1, out)
            })?;
        }
        ValueKind::Map => {
            let mut keys: Vec<Value> = value.try_iter()?.collect();
            if style.sort {
                keys.sort();
            }
            list(['{', '}'], keys.len(), style, depth, out, |index, out| {
                string(&key_text(&keys[index])?, style.ascii, out);
                out.push_str(&style.key);
                write(&value.get_item(&keys[index])?, style, depth + 1, out)
            })?;
        }
        _ => match value.downcast_object_ref::<Number>() {
            Some(number) => out.push_str(&number.0),
            None => return Err(not_serializable(value)),
        },
    }
    Ok(())
}

fn list(
    [open, close]: [char; 2],
    len: usize,
    style: &Style,
    depth: usize,
    out: &mut String,
    mut item: impl FnMut(usize, &mut String) -> Result<(), Error>,
) -> Result<(), Error> {
    let new_line = |depth: usize, out: &mut String| {
        if let Some(indent) = &style.indent {
            out.push('\n');
            (0..depth).for_each(|_| out.push_str(indent));
        }
    };
    out.push(open);
    for index in 0..len {
        if index > 0 {
            out.push_str(&style.item);
        }
        new_line(depth + 1, out);
        item(index, out)?;
    }
    if len > 0 {
        new_line(depth, out);
    }
    out.push(close);
    Ok(())
}

fn number(value: &Value) -> String {
    if value.is_integer() {
        return value.to_string();
    }
    match repr::float(f64::try_from(value.clone()).unwrap_or(f64::NAN)).as_str() {
        "nan" => "NaN".to_owned(),
        "inf" => "Infinity".to_owned(),
        "-inf" => "-Infinity".to_owned(),
        plain => plain.to_owned(),
    }
}

fn key_text(key: &Value) -> Result<String, Error> {
    match key.kind() {
        ValueKind::String => Ok(key.as_str().unwrap_or_default().to_owned()),
        ValueKind::None | ValueKind::Bool | ValueKind::Number => compact(key),
        _ => Err(not_serializable(key)),
    }
}

fn not_serializable(value: &Value) -> Error {
    Error::new(ErrorKind::InvalidOperation, format!("tojson: a value of kind {} is not JSON", value.kind()))
}

fn string(text: &str, ascii: bool, out: &mut String) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\0'..='\u{1f}' => out.push_str(&format!("\\u{:04x}", c as u32)),
            _ if ascii && c as u32 > 0x7e => {
                c.encode_utf16(&mut [0; 2]).iter().for_each(|unit| out.push_str(&format!("\\u{unit:04x}")));
            }
            _ => out.push(c),
        }
    }
    out.push('"');
}
