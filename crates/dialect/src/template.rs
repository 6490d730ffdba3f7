//! One chat template: Jinja source in, text out.

use std::error::Error as _;

use minijinja::value::Value;
use minijinja::{Environment, ErrorKind};
use respool_core::JsonText;

use crate::bounded::{Bounded, TOO_LONG};
use crate::python::{self, Clock, Dict, List, Raised};

/// A compiled chat template with the semantics of Hugging Face's.
#[derive(Debug)]
pub struct Template {
    name: String,
    source: String,
    env: Environment<'static>,
}

/// What a template is called with.
#[derive(Clone, Copy, Debug)]
pub struct RenderInput<'a> {
    /// The messages, a JSON list of objects.
    pub messages: &'a JsonText,
    /// The tools, a JSON list; `None` is Python's None.
    pub tools: Option<&'a JsonText>,
    /// Further arguments, a JSON object.
    pub template_args: &'a JsonText,
    /// Texts such as `bos_token`; an argument of the same name wins.
    pub special_tokens: &'a [(String, String)],
    /// Whether the text shall end where the next assistant turn begins.
    pub add_generation_prompt: bool,
    /// What a template sees where `arguments` of a call is a text that holds a JSON object.
    pub string_arguments: StringArguments,
}

/// What a template sees where `arguments` of a call is a text that holds a JSON object.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StringArguments {
    /// The object: templates expect it, and the wire carries text.
    #[default]
    Object,
    /// The text, as Python passes it.
    AsGiven,
}

/// A template cannot be compiled, or cannot render what it was given.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TemplateError {
    /// It is not valid Jinja.
    #[error("chat template {template} does not compile: {message}")]
    Compile {
        /// Its name.
        template: String,
        /// What is wrong, with the line.
        message: String,
    },
    /// It called `raise_exception`.
    #[error("chat template {template} refuses these messages: {message}")]
    Raised {
        /// Its name.
        template: String,
        /// What it said.
        message: String,
    },
    /// An operation in it failed.
    #[error("chat template {template} fails on these messages: {message}")]
    Render {
        /// Its name.
        template: String,
        /// What failed, with the line.
        message: String,
    },
    /// What it was given is not of the right shape.
    #[error("{field} must be {expected}")]
    Input {
        /// Which field.
        field: &'static str,
        /// What it must be.
        expected: &'static str,
    },
}

/// The inputs of one rendering, as values.
#[derive(Clone, Debug)]
pub(crate) struct Scene {
    /// Everything but messages and the generation prompt.
    pub(crate) context: Dict,
}

impl Scene {
    /// With those tools (None is Python's None), special tokens and template arguments.
    pub(crate) fn new(
        tools: Value,
        special_tokens: &[(String, String)],
        args: &JsonText,
    ) -> Result<Self, TemplateError> {
        let mut context = Dict::of([("tools", tools), ("documents", Value::from(()))]);
        for (name, text) in special_tokens {
            context.set(name, text.as_str());
        }
        let args = python::read(args);
        let args: &Dict = args
            .downcast_object_ref()
            .ok_or(TemplateError::Input { field: "template arguments", expected: "a JSON object" })?;
        context.0.extend(args.0.iter().map(|(key, value)| (key.clone(), value.clone())));
        Ok(Self { context })
    }
}

impl Template {
    /// Compiles a template. `strftime_now` in it sees `clock`.
    ///
    /// # Errors
    /// If it is not valid Jinja.
    pub fn new(name: &str, source: &str, clock: Clock) -> Result<Self, TemplateError> {
        let env = python::environment(source, clock).map_err(|error| TemplateError::Compile {
            template: name.to_owned(),
            message: describe(&error),
        })?;
        Ok(Self { name: name.to_owned(), source: source.to_owned(), env })
    }

    /// Its name, for messages.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its source.
    #[must_use]
    pub fn source(&self) -> &str {
        &self.source
    }

    /// The variables and functions that it reads and does not set itself.
    pub(crate) fn reads(&self) -> Vec<String> {
        let chat = self.env.get_template("chat");
        let mut names: Vec<_> =
            chat.map_or_else(|_| Vec::new(), |chat| chat.undeclared_variables(false).into_iter().collect());
        // What is set in a branch counts as undeclared outside it; what is asked for may be an argument.
        let asks = |name: &str| self.source.contains(&format!("{name} is "));
        names.retain(|name| !sets(&self.source, name) || asks(name));
        names.sort();
        names
    }

    /// Renders a conversation.
    ///
    /// # Errors
    /// If the template refuses it, fails on it, or takes too many steps.
    pub fn render(&self, input: &RenderInput<'_>) -> Result<String, TemplateError> {
        let (scene, messages) = input.values()?;
        self.render_values(&scene, messages, input.add_generation_prompt)
    }

    pub(crate) fn render_values(
        &self,
        scene: &Scene,
        messages: Vec<Value>,
        add_generation_prompt: bool,
    ) -> Result<String, TemplateError> {
        let mut context = scene.context.clone();
        context.set("messages", List::value(messages));
        context.set("add_generation_prompt", add_generation_prompt);
        let mut text = Bounded::default();
        let chat = self.env.get_template("chat");
        chat.and_then(|chat| chat.render_captured_to(context.into_value(), &mut text).map(drop))
            .map_err(|error| self.failed(&error))?;
        text.finish().map_err(|message| TemplateError::Render { template: self.name.clone(), message })
    }

    fn failed(&self, error: &minijinja::Error) -> TemplateError {
        let template = self.name.clone();
        let mut source = error.source();
        while let Some(cause) = source {
            if let Some(Raised(message)) = cause.downcast_ref() {
                return TemplateError::Raised { template, message: message.clone() };
            }
            source = cause.source();
        }
        TemplateError::Render { template, message: describe(error) }
    }
}

/// Whether the source has a `set` of that variable.
fn sets(source: &str, name: &str) -> bool {
    source.match_indices("set ").any(|(at, set)| {
        let after = source[at + set.len()..].trim_start().strip_prefix(name);
        after.is_some_and(|after| after.trim_start().starts_with(['=', '%', '-', ',']))
    })
}

impl RenderInput<'_> {
    pub(crate) fn values(&self) -> Result<(Scene, Vec<Value>), TemplateError> {
        let tools = self.tools.map_or_else(|| Value::from(()), python::read);
        let scene = Scene::new(tools, self.special_tokens, self.template_args)?;
        Ok((scene, messages(self.messages, self.string_arguments)?))
    }
}

/// The messages of a JSON list.
pub(crate) fn messages(json: &JsonText, arguments: StringArguments) -> Result<Vec<Value>, TemplateError> {
    let wrong = || TemplateError::Input { field: "messages", expected: "a JSON list of objects" };
    let list = python::read(json);
    let list: &List = list.downcast_object_ref().ok_or_else(wrong)?;
    list.0
        .iter()
        .map(|message| match message.downcast_object_ref::<Dict>() {
            None => Err(wrong()),
            Some(dict) if arguments == StringArguments::Object => Ok(with_object_arguments(dict)),
            Some(_) => Ok(message.clone()),
        })
        .collect()
}

/// The message with every `tool_calls[].function.arguments` that is a text of a JSON object read.
fn with_object_arguments(message: &Dict) -> Value {
    let mut message = message.clone();
    if let Some(calls) = message.0.get("tool_calls").and_then(|calls| calls.downcast_object_ref::<List>()) {
        let calls =
            calls.0.iter().map(|call| map_dict(call, "function", |f| map_dict(f, "arguments", object_of)));
        let calls = List::value(calls.collect());
        message.set("tool_calls", calls);
    }
    message.into_value()
}

fn object_of(arguments: &Value) -> Value {
    let object = arguments.as_str().and_then(|text| JsonText::new(text).ok()).filter(JsonText::is_object);
    object.map_or_else(|| arguments.clone(), |object| python::read(&object))
}

/// `value` with its entry `key` changed, if it is a dictionary that has one.
fn map_dict(value: &Value, key: &str, change: impl Fn(&Value) -> Value) -> Value {
    let Some(dict) = value.downcast_object_ref::<Dict>() else { return value.clone() };
    let mut dict = dict.clone();
    if let Some(entry) = dict.0.get_mut(key) {
        *entry = change(entry);
    }
    dict.into_value()
}

/// The engine's message with its line, without its word for the kind of error where that says no more.
fn describe(error: &minijinja::Error) -> String {
    let what = match (error.kind(), error.detail()) {
        (ErrorKind::OutOfFuel, _) => "it takes more steps than any conversation needs".to_owned(),
        (ErrorKind::TemplateNotFound, _) => {
            "include, import and extends are refused: a chat template sees no files".to_owned()
        }
        (ErrorKind::WriteFailure, _) => TOO_LONG.to_owned(),
        (_, Some(detail)) => detail.to_owned(),
        (kind, None) => kind.to_string(),
    };
    let what = match error.source() {
        Some(cause) if error.detail().is_none() => format!("{what}: {cause}"),
        _ => what,
    };
    error.line().map_or_else(|| what.clone(), |line| format!("{what} (line {line})"))
}

#[cfg(test)]
mod tests;
