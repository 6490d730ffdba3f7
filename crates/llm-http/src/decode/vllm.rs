//! vLLM's `/inference/v1/generate` and `/v1/completions`: every event says what is new.

mod scan;

use std::fmt;
use std::marker::PhantomData;

use respool_core::{Logprob, Token};
use serde::Deserialize;
use serde::de::{Deserializer, Error, IgnoredAny, SeqAccess, Visitor};
use serde_json::value::RawValue;

use super::finish::RawFinish;
use super::json::{Text, Value, read};
use super::label::{Labels, RawSpan};
use super::{Decoded, Malformed, ServerError, WireFinish};

/// Reads the events of one answer of vLLM, or its whole body.
#[derive(Debug, Default)]
pub struct VllmDecoder {
    request_id: Option<String>,
    labels: Labels,
}

#[derive(Deserialize)]
struct Event<'a> {
    /// Of `/inference/v1/generate`.
    #[serde(borrow)]
    request_id: Option<Text<'a>>,
    /// Of `/v1/completions`.
    #[serde(borrow)]
    id: Option<Text<'a>>,
    #[serde(borrow)]
    choices: Option<OnlyChoice<'a>>,
    prompt_token_ids: Option<Vec<Token>>,
    error: Option<IgnoredAny>,
}

#[derive(Deserialize)]
struct Choice<'a> {
    #[serde(borrow, default)]
    finish_reason: RawFinish<'a>,
    token_ids: Option<Vec<Token>>,
    #[serde(borrow)]
    text: Option<&'a RawValue>,
    logprobs: Option<Logprobs>,
    #[serde(borrow)]
    weight_versions: Option<Vec<RawSpan<'a>>>,
    prompt_token_ids: Option<Vec<Token>>,
}

/// The log-probabilities in one of two shapes.
#[derive(Deserialize)]
struct Logprobs {
    content: Option<Vec<Named>>,
    token_logprobs: Option<Vec<Value>>,
    tokens: Option<Vec<TokenText>>,
}

/// The sampled token's entry. Its list of the likeliest tokens is not looked at.
#[derive(Deserialize)]
struct Entry {
    token_id: Option<Token>,
    token: Option<TokenText>,
    logprob: Value,
}

/// A log-probability, and its token if that is named.
struct Named {
    name: Option<Token>,
    logprob: Logprob,
}

impl<'de> Deserialize<'de> for Named {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Entry { token_id, token, logprob } = Entry::deserialize(deserializer)?;
        Ok(Self { name: token_id.or_else(|| token?.0), logprob: logprob.0 })
    }
}

/// The id that a token's text is, where it is `token_id:N`.
#[derive(Clone, Copy)]
struct TokenText(Option<Token>);

impl TokenText {
    /// Reads the text as JSON has it, which need not be one that Rust can hold.
    fn of_raw(raw: &str) -> Self {
        let id = raw.strip_prefix("\"token_id:").and_then(|raw| raw.strip_suffix('"'));
        Self(id.and_then(|id| id.parse().ok()))
    }
}

impl<'de> Deserialize<'de> for TokenText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        <&RawValue>::deserialize(deserializer).map(|raw| Self::of_raw(raw.get()))
    }
}

impl VllmDecoder {
    /// A decoder for one answer.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    pub(super) fn request_id(&self) -> Option<&str> {
        self.request_id.as_deref()
    }

    /// Reads the next event, or a whole body.
    ///
    /// # Errors
    /// If it is not what the wire format says.
    pub fn decode(&mut self, text: &[u8]) -> Result<Decoded, Malformed> {
        match scan::event(text) {
            Some(event) => self.take(event, text),
            None => self.decode_fully(text),
        }
    }

    /// The same, without the quick way for what is usual.
    pub(super) fn decode_fully(&mut self, text: &[u8]) -> Result<Decoded, Malformed> {
        let mut spare = Vec::new();
        let event = read(PhantomData, text, &mut spare)?;
        self.take(event, text)
    }

    fn take(&mut self, event: Event<'_>, text: &[u8]) -> Result<Decoded, Malformed> {
        if event.error.is_some() || event.choices.is_none() {
            return failure(text);
        }
        if self.request_id.is_none() {
            self.request_id = event.request_id.or(event.id).map(|id| id.0.into_owned());
        }
        let Some(OnlyChoice(Some(choice))) = event.choices else {
            return Ok(Decoded { prompt_ids: event.prompt_token_ids, ..Decoded::default() });
        };
        let has_text = choice.text.is_some_and(|text| !matches!(text.get(), "null" | "\"\""));
        let (tokens, logprobs) = pair(choice.token_ids, choice.logprobs, has_text)?;
        Ok(Decoded {
            tokens,
            logprobs,
            label: None,
            spans: self.labels.spans(choice.weight_versions),
            finish: choice.finish_reason.read()?,
            prompt_ids: choice.prompt_token_ids.or(event.prompt_token_ids),
        })
    }
}

/// Tokens with their log-probabilities: where a value names its token, the names must agree, where
/// it does not, they are paired by position.
fn pair(
    ids: Option<Vec<Token>>,
    logprobs: Option<Logprobs>,
    has_text: bool,
) -> Result<(Vec<Token>, Vec<Logprob>), Malformed> {
    let values = match logprobs {
        None => None,
        Some(Logprobs { content: Some(content), .. }) => Some(content),
        Some(Logprobs { token_logprobs, tokens, .. }) => named_values(token_logprobs, tokens)?,
    };
    let Some(ids) = ids else { return ids_of_names(values, has_text) };
    let Some(values) = values else {
        let missing = vec![Logprob::MISSING; ids.len()];
        return Ok((ids, missing));
    };
    if values.len() != ids.len() {
        let (ids, values) = (ids.len(), values.len());
        return Err(Malformed::invalid(format!("{values} log-probabilities for {ids} tokens")));
    }
    for (at, (&id, value)) in ids.iter().zip(&values).enumerate() {
        if let Some(name) = value.name.filter(|&name| name != id) {
            return Err(Malformed::invalid(format!("token {at} is {id}, its log-probability is of {name}")));
        }
    }
    Ok((ids, values.into_iter().map(|value| unclamped(value.logprob)).collect()))
}

/// The lists of `/v1/completions`.
fn named_values(
    values: Option<Vec<Value>>,
    tokens: Option<Vec<TokenText>>,
) -> Result<Option<Vec<Named>>, Malformed> {
    let tokens = tokens.unwrap_or_default();
    let Some(values) = values else {
        let missing = |token: TokenText| Named { name: token.0, logprob: Logprob::MISSING };
        return Ok((!tokens.is_empty()).then(|| tokens.into_iter().map(missing).collect()));
    };
    if !tokens.is_empty() && tokens.len() != values.len() {
        let (tokens, values) = (tokens.len(), values.len());
        return Err(Malformed::invalid(format!("{values} log-probabilities for {tokens} texts of tokens")));
    }
    let mut names = tokens.into_iter();
    let named = values.into_iter().map(|Value(logprob)| {
        let name = names.next().and_then(|text| text.0);
        Named { name, logprob }
    });
    Ok(Some(named.collect()))
}

/// Without ids, those that the log-probabilities name.
fn ids_of_names(values: Option<Vec<Named>>, has_text: bool) -> Result<(Vec<Token>, Vec<Logprob>), Malformed> {
    let missing = || Malformed::missing_ids("token_ids, which return_token_ids asks for");
    match values {
        None if has_text => Err(missing()),
        None => Ok((Vec::new(), Vec::new())),
        Some(values) if values.is_empty() && has_text => Err(missing()),
        Some(values) => {
            let known = values.into_iter().map(|Named { name, logprob }| Some((name?, logprob)));
            known.collect::<Option<Vec<_>>>().map(|pairs| pairs.into_iter().unzip()).ok_or_else(missing)
        }
    }
}

/// The error that an event is.
fn failure(text: &[u8]) -> Result<Decoded, Malformed> {
    let error = ServerError::in_body(text).ok_or_else(|| {
        let found = super::quote_event(text);
        Malformed::invalid(format!("expected choices, or an error, found: {found}"))
    })?;
    Ok(Decoded { finish: Some(WireFinish::Failed(error)), ..Decoded::default() })
}

/// The choices of an event: one, or none where it only counts.
struct OnlyChoice<'a>(Option<Choice<'a>>);

impl<'de: 'a, 'a> Deserialize<'de> for OnlyChoice<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(OnlyChoiceVisitor(PhantomData))
    }
}

struct OnlyChoiceVisitor<'a>(PhantomData<Choice<'a>>);

impl<'de: 'a, 'a> Visitor<'de> for OnlyChoiceVisitor<'a> {
    type Value = OnlyChoice<'a>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of at most one choice, as one prompt with n = 1 has")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<OnlyChoice<'a>, A::Error> {
        let choice = list.next_element()?;
        match list.next_element::<IgnoredAny>()? {
            None => Ok(OnlyChoice(choice)),
            Some(_) => Err(A::Error::invalid_length(2, &self)),
        }
    }
}

/// vLLM writes minus infinity as the number that JSON can hold.
fn unclamped(logprob: Logprob) -> Logprob {
    const MINUS_INFINITY: f32 = -9999.0;
    if logprob.get() == Some(MINUS_INFINITY) { Logprob::MISSING } else { logprob }
}
