//! Trajectory records: what a trainer reads, one JSON object a line.

use std::io;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

mod derive;
mod message;
mod metrics;

pub use message::{FunctionRecord, MessageRecord, PartRecord, RecordContent, ToolCallRecord, UrlRecord};
pub use metrics::{MetricsRecord, ToolMetricsRecord};

/// One finished rollout. `docs/trajectory.md` describes each field; the order here is the order
/// in the line. The lists `response_*` and `token_versions` have one entry a response token.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct TrajectoryRecord {
    /// The task's name.
    pub task_id: String,
    /// The group of rollouts that are compared; the task's name by default.
    pub group_id: String,
    /// Index within the group, from 0.
    pub sample_index: u32,
    /// The rollout's name, 32 hexadecimal digits.
    pub rollout_id: String,
    /// The loop that ran it, by its registered name.
    pub agent_name: String,
    /// Seed of everything random about it.
    pub seed: u64,
    /// The dataset row's `data_source`; empty if it had none.
    pub data_source: String,
    /// The dataset row's `reward_model.ground_truth` as it was given; null if it had none.
    pub ground_truth: Option<Box<RawValue>>,
    /// Tokens of the first prompt.
    pub prompt_ids: Vec<u32>,
    /// All tokens after it, sampled and given.
    pub response_ids: Vec<u32>,
    /// 1 where the policy sampled the token, 0 where the environment gave it.
    pub response_mask: Vec<u8>,
    /// Natural logarithm; null at mask 0, and at mask 1 where the engine gave no finite value.
    pub response_logprobs: Vec<Option<f32>>,
    /// The policy version that sampled the token; null at mask 0.
    pub token_versions: Vec<Option<u64>>,
    /// Version of the first sampled token; null if none was sampled.
    pub param_version_start: Option<u64>,
    /// Version of the last sampled token; null if none was sampled.
    pub param_version_end: Option<u64>,
    /// The chat.
    pub messages: Vec<MessageRecord>,
    /// `user_turns + assistant_turns + 1`.
    pub num_turns: u32,
    /// Completed generations.
    pub assistant_turns: u32,
    /// Batches of tool results and interaction replies that were appended.
    pub user_turns: u32,
    /// Why it ended, by its stable name.
    pub finish: String,
    /// The reward function's value; null if there is none or it is not finite.
    pub reward_score: Option<f64>,
    /// Rewards of calls, in call order; null where one is not finite.
    pub tool_rewards: Vec<Option<f64>>,
    /// Scores of interaction replies; null where one is not finite.
    pub turn_scores: Vec<Option<f64>>,
    /// Sampling parameters.
    pub sampling: SamplingRecord,
    /// The dataset row's `extra_info` as it was given.
    pub extra_info: Box<RawValue>,
    /// Cuts, resumes, fail-overs, new versions.
    pub marks: Vec<MarkRecord>,
    /// Whether the template would write all earlier text as it stands.
    pub template_append_only: bool,
    /// Where it would not.
    pub template_changes: Vec<TemplateChangeRecord>,
    /// Whether some version labels are a guess; staleness then takes the older.
    pub version_uncertain: bool,
    /// Calls that ended by a timeout, in transport or in the sandbox.
    pub infrastructure_errors: u32,
    /// Tokens that were received and dropped.
    pub wasted_tokens: u64,
    /// Sampled tokens without a log-probability.
    pub logprobs_missing: u32,
    /// Counts and what tools measured.
    pub metrics: MetricsRecord,
    /// Call attempts that could not be read.
    pub malformed_calls: u32,
    /// Calls over `max_parallel_calls`.
    pub dropped_calls: u32,
    /// Calls of unknown tools, with bad arguments, or whose tool raised.
    pub wrong_calls: u32,
    /// Calls that only the format's lenient option could read.
    #[serde(default)]
    pub lenient_calls: u32,
}

/// Sampling parameters; null leaves the engine's default.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SamplingRecord {
    /// Softmax temperature; 0 is greedy.
    pub temperature: Option<f32>,
    /// Nucleus.
    pub top_p: Option<f32>,
    /// The k most likely; -1 is all.
    pub top_k: Option<i32>,
    /// Relative to the most likely.
    pub min_p: Option<f32>,
    /// Over prompt and response.
    pub repetition_penalty: Option<f32>,
    /// Over the response.
    pub presence_penalty: Option<f32>,
    /// Over the response.
    pub frequency_penalty: Option<f32>,
    /// No stop before so many tokens of a turn.
    pub min_new_tokens: Option<u32>,
    /// Strings that end a turn.
    pub stop: Vec<String>,
    /// Tokens that end a turn, beside the dialect's.
    pub stop_token_ids: Vec<u32>,
    /// Whether the dialect's stop tokens do not end a turn.
    pub ignore_eos: bool,
}

/// Something that happened beside the tokens.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MarkRecord {
    /// Tokens of prompt and response that were there.
    pub at: u32,
    /// Index of the assistant turn, from 0.
    pub turn: u32,
    /// `cut`, `resumed`, `failed_over` or `version`.
    pub kind: String,
    /// Why (`failed_over` only).
    pub reason: Option<String>,
    /// The new version (`version` only).
    pub version: Option<u64>,
}

/// A place where the chat template would now write earlier text differently.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TemplateChangeRecord {
    /// Offset in characters of the text that stays.
    pub at: u32,
    /// What stays.
    pub kept: String,
    /// What the template has there now.
    pub template: String,
}

impl TrajectoryRecord {
    /// Writes the record as one line, in one write.
    ///
    /// # Errors
    /// What the writer fails with.
    pub fn write_line(&self, writer: &mut dyn io::Write) -> io::Result<()> {
        write_line(self, writer)
    }

    /// The first list that has not one entry a response token, or a mask that is not 0 or 1.
    pub(crate) fn contradiction(&self) -> Option<(&'static str, String)> {
        let expected = self.response_ids.len();
        let lists = [
            ("response_mask", self.response_mask.len()),
            ("response_logprobs", self.response_logprobs.len()),
            ("token_versions", self.token_versions.len()),
        ];
        if let Some((field, found)) = lists.into_iter().find(|(_, found)| *found != expected) {
            return Some((field, format!("{found} entries for {expected} response tokens")));
        }
        let mask = self.response_mask.iter().find(|mask| **mask > 1)?;
        Some(("response_mask", format!("found {mask}, expected 0 or 1")))
    }
}

/// One write a line: what a crash leaves is at most one torn line at the end.
pub(crate) fn write_line(record: &impl Serialize, writer: &mut dyn io::Write) -> io::Result<()> {
    let mut line = serde_json::to_vec(record)?;
    line.push(b'\n');
    writer.write_all(&line)
}

#[cfg(test)]
mod tests;
