//! What a case gives.

use std::collections::BTreeMap;

use respool_core::{GenerateFinish, Token};
use serde::Deserialize;
use serde::de::IgnoredAny;

use super::actions::Plan;
use crate::report::Verdict;
use crate::world::server::{Interrupt, Reply};

/// The `input` of a case.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Input {
    #[serde(default)]
    pub(super) prompt_ids: Vec<Token>,
    #[serde(default = "plenty")]
    pub(super) max_response: u32,
    pub(super) max_tokens_per_turn: Option<u32>,
    pub(super) max_context: Option<u32>,
    pub(super) max_assistant_turns: Option<u32>,
    pub(super) max_user_turns: Option<u32>,
    pub(super) max_parallel_calls: Option<u32>,
    pub(super) partial_rollout: Option<bool>,
    pub(super) format: Option<String>,
    #[serde(default)]
    pub(super) server_script: Vec<Step>,
    #[serde(default)]
    pub(super) server_script_text: Vec<TextAnswer>,
    #[serde(default)]
    pub(super) actions: Vec<String>,
    #[serde(default)]
    pub(super) tools: BTreeMap<String, String>,
    pub(super) tool_suffix_ids: Option<Vec<Token>>,
    /// Whether the server hands over the end token; the script has it or not.
    #[serde(rename = "server_returns_end_token")]
    _server_returns_end_token: Option<bool>,
    pub(super) end_token: Option<Token>,
    #[serde(rename = "first_turn_calls")]
    _first_turn_calls: Option<IgnoredAny>,
    pub(super) trajectories: Option<usize>,
}

fn plenty() -> u32 {
    1 << 20
}

/// A server's answer in ids, or words about what happens instead.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum Step {
    Answer(Answer),
    Words(#[expect(dead_code, reason = "only tells the kind")] String),
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Answer {
    tokens: Vec<Token>,
    logprobs: Option<Vec<Option<f32>>>,
    #[serde(default = "stop")]
    finish: String,
    #[serde(default)]
    version: u64,
}

/// A server's answer in words.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TextAnswer {
    pub(super) text: String,
    #[serde(default = "stop")]
    pub(super) finish: String,
    #[serde(default)]
    pub(super) version: u64,
}

fn stop() -> String {
    "stop".to_owned()
}

impl Input {
    /// The server's script, with the interrupts that the actions ask for.
    ///
    /// # Errors
    /// If an answer has another form.
    pub(super) fn replies(
        &self,
        plan: &Plan,
        encode: impl Fn(&TextAnswer) -> Result<Vec<Token>, Verdict>,
    ) -> Result<Vec<Reply>, Verdict> {
        let in_words = self
            .server_script_text
            .iter()
            .map(|answer| Ok((encode(answer)?, None, answer.finish.as_str(), answer.version)));
        let in_ids = self.server_script.iter().map(|step| match step {
            Step::Answer(answer) => {
                let logprobs = answer
                    .logprobs
                    .as_ref()
                    .map(|values| values.iter().map(|value| value.unwrap_or(f32::NAN)).collect());
                Ok((answer.tokens.clone(), logprobs, answer.finish.as_str(), answer.version))
            }
            // A rollout that is tried again as a whole is the rollout manager's.
            Step::Words(_) => Err(Verdict::NotBuilt),
        });
        in_words
            .chain(in_ids)
            .zip(0..)
            .map(|(answer, index)| {
                let (tokens, logprobs, finish, version) = answer?;
                Ok(Reply {
                    tokens,
                    logprobs,
                    finish: read_finish(finish),
                    version,
                    interrupt: plan.interrupt(index),
                })
            })
            .collect()
    }
}

/// `None`: the stream breaks.
fn read_finish(name: &str) -> Option<GenerateFinish> {
    Some(match name {
        "stop" => GenerateFinish::Stop,
        "length" => GenerateFinish::Length,
        "abort" => GenerateFinish::Abort,
        "repetition" => GenerateFinish::Repetition,
        "error" => return None,
        other => GenerateFinish::Other(other.to_owned()),
    })
}

impl Plan {
    fn interrupt(&self, index: usize) -> Interrupt {
        self.requests.get(&index).copied().unwrap_or(Interrupt::Never)
    }
}
