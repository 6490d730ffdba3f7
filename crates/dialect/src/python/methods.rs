//! Methods of Python's `str`, `dict` and `list` that templates call. What changes a value
//! (`list.append`) is refused, as the sandbox of chat templates does.

use minijinja::value::{Kwargs, Value, ValueKind, from_args};
use minijinja::{Error, ErrorKind};

use super::value::List;
use super::{repr, text};

/// `value.method(*args)`.
pub(crate) fn call(value: &Value, method: &str, args: &[Value]) -> Result<Value, Error> {
    match value.kind() {
        ValueKind::String => string(value.as_str().unwrap_or_default(), method, args),
        ValueKind::Map => dict(value, method, args),
        ValueKind::Seq => list(value, method, args),
        _ => Err(unknown(value, method)),
    }
}

fn unknown(value: &Value, method: &str) -> Error {
    Error::new(ErrorKind::UnknownMethod, format!("{} has no method named {method}", value.kind()))
}

fn dict(value: &Value, method: &str, args: &[Value]) -> Result<Value, Error> {
    let keys = || value.try_iter();
    match method {
        "get" => {
            let (key, default): (&Value, Option<Value>) = from_args(args)?;
            let found = value.get_item(key)?;
            Ok(if found.is_undefined() { default.unwrap_or_else(|| Value::from(())) } else { found })
        }
        "keys" => Ok(List::value(keys()?.collect())),
        "values" => Ok(List::value(keys()?.map(|key| value.get_item(&key)).collect::<Result<_, _>>()?)),
        "items" => Ok(List::value(
            keys()?
                .map(|key| Ok(List::value(vec![key.clone(), value.get_item(&key)?])))
                .collect::<Result<_, Error>>()?,
        )),
        _ => {
            // A callable entry, such as a macro in a namespace.
            let entry = value.get_attr(method).unwrap_or_default();
            if entry.is_undefined() { Err(unknown(value, method)) } else { Err(not_callable(method)) }
        }
    }
}

fn not_callable(name: &str) -> Error {
    Error::new(ErrorKind::InvalidOperation, format!("{name} is not callable"))
}

fn list(value: &Value, method: &str, args: &[Value]) -> Result<Value, Error> {
    let mut items = value.try_iter()?;
    match method {
        "count" => {
            let (wanted,): (Value,) = from_args(args)?;
            Ok(Value::from(items.filter(|item| *item == wanted).count()))
        }
        "index" => {
            let (wanted,): (Value,) = from_args(args)?;
            let at = items.position(|item| item == wanted);
            at.map(Value::from).ok_or_else(|| Error::new(ErrorKind::InvalidOperation, "value is not in list"))
        }
        _ => Err(unknown(value, method)),
    }
}

fn string(this: &str, method: &str, args: &[Value]) -> Result<Value, Error> {
    let value = match method {
        "strip" | "lstrip" | "rstrip" => {
            let (chars,): (Option<&str>,) = from_args(args)?;
            let ends = (method != "rstrip", method != "lstrip");
            Value::from(text::strip(this, chars, ends))
        }
        "startswith" => Value::from(any_affix(args, |affix| this.starts_with(affix))?),
        "endswith" => Value::from(any_affix(args, |affix| this.ends_with(affix))?),
        "split" | "rsplit" => {
            let (separator, max, options): (Option<&str>, Option<i64>, Kwargs) = from_args(args)?;
            let separator = options.get::<Option<&str>>("sep")?.or(separator);
            let max = options.get::<Option<i64>>("maxsplit")?.or(max);
            options.assert_all_used()?;
            let max = max.and_then(|max| usize::try_from(max).ok());
            strings(text::split(this, separator, max, method == "rsplit").map_err(invalid)?)
        }
        "splitlines" => {
            let (keep,): (Option<bool>,) = from_args(args)?;
            strings(text::split_lines(this, keep.unwrap_or(false)))
        }
        "partition" | "rpartition" => {
            let (separator,): (&str,) = from_args(args)?;
            strings(text::partition(this, separator, method == "rpartition"))
        }
        "replace" => {
            let (old, new, count): (&str, &str, Option<i64>) = from_args(args)?;
            Value::from(match count.and_then(|count| usize::try_from(count).ok()) {
                Some(count) => this.replacen(old, new, count),
                None => this.replace(old, new),
            })
        }
        "removeprefix" => {
            Value::from(from_args::<(&str,)>(args).map(|(p,)| this.strip_prefix(p).unwrap_or(this))?)
        }
        "removesuffix" => {
            Value::from(from_args::<(&str,)>(args).map(|(s,)| this.strip_suffix(s).unwrap_or(this))?)
        }
        "find" => position(this, this.find(from_args::<(&str,)>(args)?.0)),
        "rfind" => position(this, this.rfind(from_args::<(&str,)>(args)?.0)),
        "index" => match this.find(from_args::<(&str,)>(args)?.0) {
            None => return Err(invalid("substring not found")),
            found => position(this, found),
        },
        "count" => Value::from(this.matches(from_args::<(&str,)>(args)?.0).count()),
        "join" => {
            let (items,): (Value,) = from_args(args)?;
            let items: Vec<String> = items.try_iter()?.map(|item| repr::str(&item)).collect();
            Value::from(items.join(this))
        }
        "format" => Value::from(text::format(this, args).map_err(invalid)?),
        "zfill" | "ljust" | "rjust" | "center" => {
            let (width, fill): (usize, Option<&str>) = from_args(args)?;
            Value::from(text::pad(
                this,
                method,
                width.min(1 << 20),
                fill.and_then(|fill| fill.chars().next()),
            ))
        }
        _ => return no_arguments(this, method, args),
    };
    Ok(value)
}

fn no_arguments(this: &str, method: &str, args: &[Value]) -> Result<Value, Error> {
    let all = |test: fn(char) -> bool| Value::from(!this.is_empty() && this.chars().all(test));
    let value = match method {
        "upper" => Value::from(this.to_uppercase()),
        "lower" | "casefold" => Value::from(this.to_lowercase()),
        "title" => Value::from(text::title(this)),
        "capitalize" => Value::from(text::capitalize(this)),
        "swapcase" => Value::from(text::swap_case(this)),
        "isdigit" | "isdecimal" | "isnumeric" => all(char::is_numeric),
        "isalpha" => all(char::is_alphabetic),
        "isalnum" => all(char::is_alphanumeric),
        "isspace" => all(text::is_space),
        "isascii" => Value::from(this.is_ascii()),
        "isupper" => {
            Value::from(this.chars().any(char::is_uppercase) && !this.chars().any(char::is_lowercase))
        }
        "islower" => {
            Value::from(this.chars().any(char::is_lowercase) && !this.chars().any(char::is_uppercase))
        }
        _ => return Err(unknown(&Value::from(this), method)),
    };
    from_args::<()>(args)?;
    Ok(value)
}

fn any_affix(args: &[Value], test: impl Fn(&str) -> bool) -> Result<bool, Error> {
    let (affix,): (Value,) = from_args(args)?;
    if let Some(affix) = affix.as_str() {
        return Ok(test(affix));
    }
    if affix.kind() != ValueKind::Seq {
        return Err(invalid("expected a text or a tuple of texts"));
    }
    Ok(affix.try_iter()?.any(|affix| affix.as_str().is_some_and(&test)))
}

/// Python counts characters and says -1 for nowhere.
fn position(text: &str, at: Option<usize>) -> Value {
    Value::from(at.map_or(-1, |at| i64::try_from(text[..at].chars().count()).unwrap_or(i64::MAX)))
}

fn strings<S: AsRef<str>>(items: Vec<S>) -> Value {
    List::value(items.iter().map(|item| Value::from(item.as_ref())).collect())
}

fn invalid(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::InvalidOperation, message.into())
}
