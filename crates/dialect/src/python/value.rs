//! JSON values as Python sees them: dictionaries in order, exact integers, floats in Python's spelling.

use std::fmt;
use std::sync::Arc;

use indexmap::IndexMap;
use minijinja::value::{Enumerator, Object, ObjectExt, ObjectRepr, Value};
use minijinja::{Error, State};

use super::{methods, repr};

/// A dictionary with string keys, in order of insertion.
#[derive(Clone, Debug, Default)]
pub(crate) struct Dict(pub(crate) IndexMap<String, Value>);

/// A list.
#[derive(Debug)]
pub(crate) struct List(pub(crate) Vec<Value>);

/// A number whose spelling the template engine would change: an integer over 128 bits, or a float
/// that Python writes with an exponent. Templates only print it.
#[derive(Debug)]
pub(crate) struct Number(pub(crate) String);

impl Dict {
    /// The entries, in order.
    pub(crate) fn of<const N: usize>(entries: [(&str, Value); N]) -> Self {
        Self(entries.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
    }

    /// Adds or replaces an entry.
    pub(crate) fn set(&mut self, key: &str, value: impl Into<Value>) {
        self.0.insert(key.to_owned(), value.into());
    }

    /// The text under that key, if it is a text.
    pub(crate) fn text(&self, key: &str) -> Option<&str> {
        self.0.get(key).and_then(Value::as_str)
    }

    /// The template's view.
    pub(crate) fn into_value(self) -> Value {
        Value::from_object(self)
    }
}

impl List {
    /// The template's view.
    pub(crate) fn value(items: Vec<Value>) -> Value {
        Value::from_object(Self(items))
    }
}

impl Object for Dict {
    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        self.0.get(key.as_str()?).cloned()
    }

    fn get_value_by_str(self: &Arc<Self>, key: &str) -> Option<Value> {
        self.0.get(key).cloned()
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        self.mapped_enumerator(|this| Box::new(this.0.keys().map(|key| Value::from(key.as_str()))))
    }

    /// Python finds methods before keys: a schema with a key `items` still has `.items()`.
    fn call_method(
        self: &Arc<Self>,
        _state: &State<'_, '_>,
        method: &str,
        args: &[Value],
    ) -> Result<Value, Error> {
        methods::call(&Value::from_dyn_object(Arc::clone(self)), method, args)
    }

    fn render(self: &Arc<Self>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&repr::repr(&Value::from_dyn_object(Arc::clone(self))))
    }
}

impl Object for List {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Seq
    }

    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        self.0.get(key.as_usize()?).cloned()
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        Enumerator::Seq(self.0.len())
    }

    fn render(self: &Arc<Self>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&repr::repr(&Value::from_dyn_object(Arc::clone(self))))
    }
}

impl Number {
    pub(crate) fn is_integer(&self) -> bool {
        self.0.bytes().all(|byte| byte == b'-' || byte.is_ascii_digit())
    }
}

impl Object for Number {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Plain
    }

    fn render(self: &Arc<Self>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A JSON number by its text, as Python reads it.
pub(crate) fn number(text: &str) -> Value {
    if text.contains(['.', 'e', 'E']) {
        return text.parse::<f64>().map_or_else(|_| Value::from_object(Number(text.to_owned())), float);
    }
    if let Ok(small) = text.parse::<i64>() {
        return Value::from(small);
    }
    text.parse::<i128>().map_or_else(|_| Value::from_object(Number(text.to_owned())), Value::from)
}

fn float(value: f64) -> Value {
    let (ours, theirs) = (Value::from(value), repr::float(value));
    if ours.to_string() == theirs { ours } else { Value::from_object(Number(theirs)) }
}
