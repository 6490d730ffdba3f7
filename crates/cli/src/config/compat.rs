//! `compat`: `"respool"`, `"verl"`, or a table of named options over one of them.

use std::fmt;

use respool_core::{
    CallsOverLimit, Compat, ContinuationMode, ControlTokens, FailedCallReward, MalformedCalls,
    TerminatingReplyTokens,
};
use serde::{
    Deserialize, Deserializer, Serialize,
    de::{Error, MapAccess, Visitor, value::MapAccessDeserializer},
};

use super::mirror::mirror;

/// The options as they were written; what is not written is the preset's.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct CompatSection {
    preset: Preset,
    continuation: Option<Continuation>,
    calls_over_limit: Option<OverLimit>,
    malformed_calls: Option<Malformed>,
    failed_call_reward: Option<FailedReward>,
    truncate_side: Option<Truncate>,
    terminating_reply_tokens: Option<ReplyTokens>,
    control_tokens: Option<Controls>,
}

/// What the options are measured from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Preset {
    #[default]
    Respool,
    Verl,
}

/// What `tool_response_truncate_side` names: the side that is cut, or the one that is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Truncate {
    Cut,
    KeepOld,
}

mirror!(Continuation of ContinuationMode { Template, Reference });
mirror!(OverLimit of CallsOverLimit { Answer, Drop });
mirror!(Malformed of MalformedCalls { Answer, Drop });
mirror!(FailedReward of FailedCallReward { None, Zero });
mirror!(ReplyTokens of TerminatingReplyTokens { Omit, Append });
mirror!(Controls of ControlTokens { Plain, Parse });

impl CompatSection {
    /// The options with the preset filled in.
    pub(crate) fn resolve(&self) -> Compat {
        let preset = match self.preset {
            Preset::Respool => Compat::default(),
            Preset::Verl => Compat::verl(),
        };
        Compat {
            continuation: self.continuation.map_or(preset.continuation, Into::into),
            calls_over_limit: self.calls_over_limit.map_or(preset.calls_over_limit, Into::into),
            malformed_calls: self.malformed_calls.map_or(preset.malformed_calls, Into::into),
            failed_call_reward: self.failed_call_reward.map_or(preset.failed_call_reward, Into::into),
            truncate_keep_old: self
                .truncate_side
                .map_or(preset.truncate_keep_old, |side| side == Truncate::KeepOld),
            terminating_reply_tokens: self
                .terminating_reply_tokens
                .map_or(preset.terminating_reply_tokens, Into::into),
            control_tokens: self.control_tokens.map_or(preset.control_tokens, Into::into),
        }
    }
}

/// A preset's name, or the table.
pub(super) fn name_or_table<'de, D: Deserializer<'de>>(deserializer: D) -> Result<CompatSection, D::Error> {
    deserializer.deserialize_any(CompatVisitor)
}

struct CompatVisitor;

impl<'de> Visitor<'de> for CompatVisitor {
    type Value = CompatSection;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("\"respool\", \"verl\" or a table of options")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<CompatSection, E> {
        let preset = match text {
            "respool" => Preset::Respool,
            "verl" => Preset::Verl,
            _ => return Err(E::invalid_value(serde::de::Unexpected::Str(text), &self)),
        };
        Ok(CompatSection { preset, ..CompatSection::default() })
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<CompatSection, A::Error> {
        CompatSection::deserialize(MapAccessDeserializer::new(map))
    }
}
