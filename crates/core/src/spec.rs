//! What a rollout is asked to do. Frozen when it starts.

use std::collections::BTreeMap;

use crate::{JsonText, Limits, Message, Options, RolloutId, Token, ToolSpec};

/// The two kinds of loops; `partial_rollout` makes the reference's four names of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoopKind {
    /// Calls are parsed and run, an interaction may reply: `tool_agent`, `async_partial_tool_agent`.
    Tools,
    /// No schemas in the prompt, nothing parsed, no interaction; the first turn's end ends it:
    /// `single_turn_agent`, `partial_single_turn_agent`.
    SingleTurn,
}

/// The interaction that answers in the user's place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InteractionSpec {
    /// Which configured interaction.
    pub name: String,
    /// Its arguments for this task, a JSON object.
    pub kwargs: JsonText,
}

/// Sampling parameters. `None` leaves the engine's default.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sampling {
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
    /// Strings that end a turn; matched by us over the whole turn (R3).
    pub stop: Vec<String>,
    /// Tokens that end a turn, beside the dialect's.
    pub stop_token_ids: Vec<Token>,
    /// Whether the dialect's stop tokens do not end a turn.
    pub ignore_eos: bool,
}

/// Everything a rollout starts from.
#[derive(Clone, Debug, PartialEq)]
pub struct RolloutSpec {
    /// The rollout's name.
    pub id: RolloutId,
    /// The task's name; unique in a task file.
    pub task_id: String,
    /// The group of rollouts that are compared with each other; the task's name by default.
    pub group_id: String,
    /// Index within the group, from 0.
    pub sample_index: u32,
    /// The loop that runs it, by its registered name.
    pub agent_name: String,
    /// Which kind of loop that is.
    pub kind: LoopKind,
    /// Seed of everything random about it.
    pub seed: u64,
    /// The first chat.
    pub messages: Vec<Message>,
    /// The tools it may call, in prompt order.
    pub tools: Vec<ToolSpec>,
    /// Arguments for creating tool sessions, by tool name; JSON objects.
    pub tools_kwargs: BTreeMap<String, JsonText>,
    /// The interaction, if there is one.
    pub interaction: Option<InteractionSpec>,
    /// Further arguments of the chat template, a JSON object.
    pub template_args: JsonText,
    /// Sampling parameters.
    pub sampling: Sampling,
    /// How long it may get.
    pub limits: Limits,
    /// Choices.
    pub options: Options,
    /// The dataset row's `data_source`; empty if it has none.
    pub data_source: String,
    /// The dataset row's `reward_model.ground_truth`, any JSON.
    pub ground_truth: Option<JsonText>,
    /// The dataset row's `extra_info`, a JSON object.
    pub extra_info: JsonText,
}

impl RolloutSpec {
    /// A rollout of that chat with every limit and option at its default, for tests and small uses.
    #[must_use]
    pub fn new(id: RolloutId, task_id: impl Into<String>, messages: Vec<Message>) -> Self {
        let task_id = task_id.into();
        Self {
            id,
            group_id: task_id.clone(),
            task_id,
            sample_index: 0,
            agent_name: "async_partial_tool_agent".to_owned(),
            kind: LoopKind::Tools,
            seed: 0,
            messages,
            tools: Vec::new(),
            tools_kwargs: BTreeMap::new(),
            interaction: None,
            template_args: JsonText::empty_object(),
            sampling: Sampling::default(),
            limits: Limits::default(),
            options: Options::default(),
            data_source: String::new(),
            ground_truth: None,
            extra_info: JsonText::empty_object(),
        }
    }

    /// The tool of that name.
    #[must_use]
    pub fn tool(&self, name: &str) -> Option<&ToolSpec> {
        self.tools.iter().find(|tool| tool.name == name)
    }

    /// The tools that the prompt shows: none for a single turn.
    #[must_use]
    pub fn prompt_tools(&self) -> &[ToolSpec] {
        match self.kind {
            LoopKind::Tools => &self.tools,
            LoopKind::SingleTurn => &[],
        }
    }
}
