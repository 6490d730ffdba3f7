//! One event, read without the entries that are known.

use std::fmt;
use std::marker::PhantomData;

use respool_core::{Logprob, Token};
use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use crate::decode::finish::RawFinish;
use crate::decode::json::{Text, Value};
use crate::decode::label::RawSpan;

/// How many entries of each list are known.
#[derive(Clone, Copy, Default)]
pub(super) struct Skip {
    pub(super) ids: usize,
    pub(super) logprobs: usize,
}

/// The end of a list.
pub(super) struct Tail<T> {
    /// How many entries the list has.
    pub(super) total: usize,
    /// Those that were not passed over.
    pub(super) items: Vec<T>,
}

/// A log-probability, its token, and a text that is of no use to us.
#[derive(Clone, Copy)]
pub(super) struct Triple {
    pub(super) logprob: Logprob,
    pub(super) token: Token,
}

/// What matters of an event.
#[derive(Default)]
pub(super) struct Event<'a> {
    pub(super) ids: Option<Tail<Token>>,
    pub(super) logprobs: Option<Tail<Triple>>,
    pub(super) completion_tokens: Option<usize>,
    pub(super) finish: RawFinish<'a>,
    pub(super) label: Option<Text<'a>>,
    pub(super) spans: Option<Vec<RawSpan<'a>>>,
    pub(super) request_id: Option<Text<'a>>,
    pub(super) prompt_ids: Option<Vec<Token>>,
    pub(super) is_error: bool,
    pub(super) has_meta_info: bool,
    pub(super) has_text: bool,
}

impl Event<'_> {
    /// Whether it is no event of a generation.
    pub(super) const fn says_nothing(&self) -> bool {
        self.ids.is_none() && !self.has_meta_info && !self.has_text
    }
}

#[derive(Clone, Copy)]
pub(super) struct EventSeed(pub(super) Skip);

impl<'de> DeserializeSeed<'de> for EventSeed {
    type Value = Event<'de>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Event<'de>, D::Error> {
        deserializer.deserialize_map(self)
    }
}

/// Keys of the event and of its `meta_info`.
#[derive(Deserialize)]
#[serde(field_identifier, rename_all = "snake_case")]
enum Key {
    Text,
    OutputIds,
    MetaInfo,
    PromptTokenIds,
    Error,
    Object,
    Id,
    FinishReason,
    CompletionTokens,
    WeightVersion,
    WeightVersions,
    OutputTokenLogprobs,
    #[serde(other)]
    Other,
}

impl<'de> Visitor<'de> for EventSeed {
    type Value = Event<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object with output_ids and meta_info")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Event<'de>, A::Error> {
        let mut event = Event::default();
        while let Some(key) = map.next_key()? {
            match key {
                Key::Text => event.has_text = map.next_value::<Option<&RawValue>>()?.is_some(),
                Key::OutputIds => event.ids = map.next_value_seed(TailSeed::skipping(self.0.ids))?,
                Key::MetaInfo => map.next_value_seed(MetaSeed { skip: self.0, event: &mut event })?,
                Key::PromptTokenIds => event.prompt_ids = map.next_value()?,
                Key::Error => event.is_error = map.next_value::<Option<IgnoredAny>>()?.is_some(),
                Key::Object => {
                    let object: &RawValue = map.next_value()?;
                    event.is_error |= object.get() == "\"error\"";
                }
                key => meta(key, &mut map, self.0, &mut event)?,
            }
        }
        Ok(event)
    }
}

/// Takes the value of a key of `meta_info`.
fn meta<'de, A: MapAccess<'de>>(
    key: Key,
    map: &mut A,
    skip: Skip,
    event: &mut Event<'de>,
) -> Result<(), A::Error> {
    match key {
        Key::Id => event.request_id = map.next_value()?,
        Key::FinishReason => event.finish = map.next_value()?,
        Key::CompletionTokens => event.completion_tokens = map.next_value()?,
        Key::WeightVersion => event.label = map.next_value()?,
        Key::WeightVersions => event.spans = map.next_value()?,
        Key::OutputTokenLogprobs => {
            event.logprobs = map.next_value_seed(TailSeed::skipping(skip.logprobs))?;
        }
        _ => drop(map.next_value::<IgnoredAny>()?),
    }
    Ok(())
}

struct MetaSeed<'e, 'de> {
    skip: Skip,
    event: &'e mut Event<'de>,
}

impl<'de> DeserializeSeed<'de> for MetaSeed<'_, 'de> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for MetaSeed<'_, 'de> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("meta_info, an object")
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        self.event.has_meta_info = true;
        while let Some(key) = map.next_key()? {
            meta(key, &mut map, self.skip, self.event)?;
        }
        Ok(())
    }
}

/// Reads a list, or `null`, without its first entries.
struct TailSeed<T> {
    skip: usize,
    entries: PhantomData<T>,
}

impl<T> TailSeed<T> {
    const fn skipping(skip: usize) -> Self {
        Self { skip, entries: PhantomData }
    }
}

impl<'de, T: Deserialize<'de>> DeserializeSeed<'de> for TailSeed<T> {
    type Value = Option<Tail<T>>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de, T: Deserialize<'de>> Visitor<'de> for TailSeed<T> {
    type Value = Option<Tail<T>>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list with an entry for each token")
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        let mut total = 0;
        while total < self.skip && list.next_element::<IgnoredAny>()?.is_some() {
            total += 1;
        }
        let mut items = Vec::new();
        while let Some(item) = list.next_element()? {
            items.push(item);
        }
        Ok(Some(Tail { total: total + items.len(), items }))
    }
}

impl<'de> Deserialize<'de> for Triple {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(TripleVisitor)
    }
}

struct TripleVisitor;

impl<'de> Visitor<'de> for TripleVisitor {
    type Value = Triple;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[logprob, token id, text]")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Triple, A::Error> {
        let Value(logprob) = list.next_element()?.ok_or_else(|| A::Error::invalid_length(0, &self))?;
        let token = list.next_element()?.ok_or_else(|| A::Error::invalid_length(1, &self))?;
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Triple { logprob, token })
    }
}
