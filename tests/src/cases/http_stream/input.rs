//! What a case gives.

use std::collections::BTreeMap;

use respool_core::Token;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;

use super::Wire;

/// The `input` of a case: one of several kinds, told by their fields.
#[derive(Debug, Deserialize)]
#[serde(untagged, expecting = "expected the fields of a kind of http_stream case")]
pub(super) enum Input {
    Answer(AnswerInput),
    Table(TableInput),
    Script(ScriptInput),
    Servers(ServersInput),
    Ids(IdsInput),
    Refusal(RefusalInput),
}

/// One answer of a server.
#[derive(Debug, Deserialize)]
pub(super) struct AnswerInput {
    pub(super) server: Wire,
    #[serde(flatten)]
    pub(super) body: Body,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum Body {
    Stream(StreamBody),
    Json(JsonBody),
}

#[derive(Debug, Deserialize)]
pub(super) struct StreamBody {
    pub(super) body_utf8: String,
    /// Which network chunks; every way is tried in any case.
    #[serde(rename = "cuts")]
    _cuts: Option<IgnoredAny>,
    /// Cumulative or not; the client finds out.
    #[serde(rename = "mode")]
    _mode: Option<String>,
    pub(super) then: Option<String>,
    /// Prompt ids of the request.
    #[serde(default)]
    pub(super) prompt_ids: Vec<Token>,
}

#[derive(Debug, Deserialize)]
pub(super) struct JsonBody {
    pub(super) http_body_json: Value,
    pub(super) http: Option<u16>,
}

/// Spellings of finish reasons.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TableInput {
    pub(super) table: Vec<TableRow>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TableRow {
    /// A reason as it is spelled.
    pub(super) finish_reason: Option<Value>,
    /// A last body with the ids that came.
    pub(super) final_body: Option<FinalBody>,
    #[serde(default)]
    pub(super) abort_requested: bool,
    pub(super) is: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FinalBody {
    #[serde(default)]
    pub(super) finish_reason: Value,
    pub(super) output_ids: Vec<Token>,
}

/// A request, and the answers in order.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ScriptInput {
    pub(super) request: RequestInput,
    pub(super) server_script: Vec<Step>,
    pub(super) max_attempts: Option<u32>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RequestInput {
    pub(super) prompt_ids: Vec<Token>,
    pub(super) max_tokens: u32,
}

/// Several servers, each with its answers.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ServersInput {
    pub(super) servers: Vec<String>,
    pub(super) sticky: Option<String>,
    pub(super) server_script: BTreeMap<String, Vec<Step>>,
    pub(super) max_attempts: Option<u32>,
}

/// One answer of a script.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Step {
    pub(super) http: Option<u16>,
    pub(super) body: Option<Value>,
    pub(super) headers: Option<BTreeMap<String, String>>,
    pub(super) retry_after: Option<Value>,
    pub(super) tokens: Option<Vec<Token>>,
    pub(super) stream_tokens: Option<Vec<Token>>,
    #[serde(default)]
    pub(super) logprobs: Vec<Option<f64>>,
    pub(super) finish: Option<String>,
    pub(super) then: Option<String>,
    pub(super) connect: Option<String>,
}

/// A trajectory whose requests are counted.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct IdsInput {
    #[serde(rename = "trajectory")]
    _trajectory: String,
    pub(super) turns: u32,
    #[serde(default, rename = "retries_in_turn_2")]
    pub(super) retries: u32,
}

/// A refusal in the middle of a trajectory.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RefusalInput {
    pub(super) http: u16,
    pub(super) body_json: Value,
    pub(super) context: String,
}
