//! The files of a scenario.

use std::collections::BTreeMap;

use respool_core::Token;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;

/// `NN_name.json`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Scenario {
    pub(super) format: String,
    pub(super) name: String,
    #[serde(rename = "description")]
    _description: IgnoredAny,
    #[serde(rename = "loop")]
    pub(super) agent: String,
    pub(super) tokenizer: String,
    pub(super) chat_template_kwargs: Box<RawValue>,
    #[serde(rename = "sampling_params")]
    _sampling_params: IgnoredAny,
    pub(super) config: Config,
    pub(super) messages: Box<RawValue>,
    #[serde(default)]
    pub(super) tools: Vec<Tool>,
    #[serde(default)]
    pub(super) tools_kwargs: BTreeMap<String, Box<RawValue>>,
    pub(super) interaction: Option<Interaction>,
    #[serde(default)]
    pub(super) param_versions: Vec<u64>,
    #[serde(default)]
    pub(super) cancel_at_start_of_run: Vec<usize>,
    pub(super) replies: Vec<Reply>,
    pub(super) verl_fault: Option<String>,
    pub(super) right_equals: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Config {
    pub(super) tool_format: String,
    pub(super) prompt_length: u32,
    pub(super) response_length: u32,
    pub(super) max_user_turns: Option<u32>,
    pub(super) max_assistant_turns: Option<u32>,
    pub(super) max_parallel_calls: u32,
    pub(super) max_tool_response_length: u32,
    pub(super) tool_response_truncate_side: Side,
    pub(super) partial_rollout: bool,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Side {
    Left,
    Middle,
    Right,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Tool {
    pub(super) schema: Box<RawValue>,
    pub(super) behaviour: String,
    pub(super) reward: Option<f64>,
    #[serde(default)]
    pub(super) behaviour_args: serde_json::Map<String, serde_json::Value>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Interaction {
    pub(super) name: String,
    pub(super) script: Vec<ScriptedReply>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ScriptedReply {
    pub(super) terminate: bool,
    pub(super) content: String,
    pub(super) reward: Option<f64>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Reply {
    pub(super) token_ids: Vec<Token>,
    pub(super) logprobs: Option<Vec<f32>>,
    #[serde(default)]
    pub(super) cancelled: bool,
    #[serde(default)]
    pub(super) cancel_signal: bool,
}

/// `expected/NN_name.json`, what is compared of it.
#[derive(Debug, Deserialize)]
pub(super) struct Expected {
    #[serde(rename = "final")]
    pub(super) output: Output,
    pub(super) requests: Vec<Vec<Token>>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Output {
    pub(super) prompt_ids: Vec<Token>,
    pub(super) response_ids: Vec<Token>,
    pub(super) response_mask: Vec<u8>,
    pub(super) response_logprobs: Option<Vec<f32>>,
    pub(super) num_turns: u32,
    pub(super) extra_fields: ExtraFields,
}

#[derive(Debug, Deserialize)]
pub(super) struct ExtraFields {
    #[serde(default)]
    pub(super) turn_scores: Vec<f64>,
    #[serde(default)]
    pub(super) tool_rewards: Vec<f64>,
}
