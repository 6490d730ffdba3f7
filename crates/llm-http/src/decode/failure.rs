//! Errors as the engines write them: in an HTTP error's body, in an event of a stream, in a finish.

use std::time::Duration;

use respool_core::Class;
use serde_json::Value;

use crate::error::quote;

/// What a server says went wrong.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServerError {
    /// Its HTTP status, or the code in its place.
    pub code: Option<u16>,
    /// Its own words, cut.
    pub message: String,
    /// Whether it says that asking again may help.
    pub retryable: Option<bool>,
    /// How long it asks to wait.
    pub retry_after: Option<Duration>,
}

impl ServerError {
    /// The error of an HTTP answer that is none of success.
    #[must_use]
    pub fn of_status(status: u16, retry_after: Option<Duration>, body: &[u8]) -> Self {
        let error = Self::in_body(body)
            .unwrap_or_else(|| Self { message: quote(&String::from_utf8_lossy(body)), ..Self::default() });
        Self { code: Some(status), retry_after, ..error }
    }

    /// The error that a JSON object holds in one of the engines' shapes.
    #[must_use]
    pub fn in_body(body: &[u8]) -> Option<Self> {
        let body: Value = serde_json::from_slice(body).ok()?;
        match body.get("error").filter(|error| !error.is_null()) {
            Some(Value::String(message)) => Some(Self { message: quote(message), ..Self::default() }),
            Some(error) => Some(Self::in_object(error)),
            None if body.get("object") == Some(&Value::from("error")) => Some(Self::in_object(&body)),
            None => {
                let message = body.get("detail").or_else(|| body.get("message"))?;
                Some(Self { message: text(message), ..Self::default() })
            }
        }
    }

    /// The error that an object describes.
    pub(super) fn in_object(error: &Value) -> Self {
        let code = ["code", "status_code"].iter().find_map(|key| {
            let code = error.get(key)?;
            code.as_u64().or_else(|| code.as_str()?.parse().ok())
        });
        let kind = ["type", "err_type"].iter().find_map(|key| error.get(key)?.as_str());
        let code = code.and_then(|code| u16::try_from(code).ok()).or_else(|| code_of_type(kind?));
        let message = error.get("message").map_or_else(|| text(error), text);
        Self { code, message, retryable: error.get("retryable").and_then(Value::as_bool), retry_after: None }
    }

    /// Whether asking again can help.
    #[must_use]
    pub const fn class(&self) -> Class {
        match self.code {
            Some(429 | 503) => Class::Overloaded { after: self.retry_after },
            Some(408 | 425) => Class::Transient,
            Some(400..=499) => match self.retryable {
                Some(true) => Class::Transient,
                Some(false) | None => Class::Terminal,
            },
            // A redirect: the URL is wrong, and is so for every request.
            Some(300..=399) => Class::Terminal,
            Some(_) => Class::Transient,
            None => match self.retryable {
                Some(false) => Class::Terminal,
                Some(true) | None => Class::Transient,
            },
        }
    }

    /// Whether the server refused the request because the model's context is full.
    #[must_use]
    pub fn is_context_length(&self) -> bool {
        /// What the engines write, in lower case.
        const PHRASES: [&str; 7] = [
            "context length", // vLLM, SGLang: "... the model's context length (32 tokens)"
            "context_length", // OpenAI's code: context_length_exceeded
            "context window",
            "maximum model length", // vLLM: "... longer than the maximum model length of 4096"
            "max_model_len",
            "max_total_tokens",       // SGLang, of its token pool
            "maximum allowed length", // SGLang: "... exceeds the maximum allowed length"
        ];
        let is_refusal = matches!(self.code, Some(400 | 413 | 422) | None);
        let message = self.message.to_lowercase();
        is_refusal && PHRASES.iter().any(|phrase| message.contains(phrase))
    }
}

/// The status that an error's type stands for, where it has no code.
fn code_of_type(kind: &str) -> Option<u16> {
    let kind = kind.to_lowercase().replace([' ', '_'], "");
    [
        ("badrequest", 400),
        ("invalidrequest", 400),
        ("notfound", 404),
        ("ratelimit", 429),
        ("serviceunavailable", 503),
        ("internalserver", 500),
    ]
    .into_iter()
    .find_map(|(name, code)| kind.contains(name).then_some(code))
}

fn text(value: &Value) -> String {
    match value {
        Value::String(text) => quote(text),
        other => quote(&other.to_string()),
    }
}
