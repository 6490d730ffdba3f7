//! What a trajectory is worth.

use futures_util::future::BoxFuture;
use respool_core::{Fault, JsonText, Role, Trajectory};

use crate::{ExactMatch, Gsm8k, NameTaken, named::Named};

/// Gives the reward of a finished rollout.
pub trait Reward: Send + Sync {
    /// The reward; finite.
    ///
    /// # Errors
    /// If no reward can be given. A trajectory that is merely bad has a reward.
    fn score<'a>(&'a self, input: &'a RewardInput<'a>) -> BoxFuture<'a, Result<f64, Fault>>;
}

/// What a reward function looks at.
#[derive(Clone, Debug)]
pub struct RewardInput<'a> {
    /// The whole rollout.
    pub trajectory: &'a Trajectory,
    /// Text of the last assistant message, without reasoning; empty if the policy said nothing.
    pub final_text: String,
    /// The dataset row's `reward_model.ground_truth`, any JSON.
    pub ground_truth: Option<&'a JsonText>,
    /// The dataset row's `data_source`; empty if it has none.
    pub data_source: &'a str,
    /// The dataset row's `extra_info`, a JSON object.
    pub extra_info: &'a JsonText,
}

impl<'a> RewardInput<'a> {
    /// The input that this trajectory gives. Assistant messages of the first chat are the task's,
    /// and no answer.
    #[must_use]
    pub fn new(trajectory: &'a Trajectory) -> Self {
        let data = &trajectory.data;
        let said = data.messages.iter().skip(data.spec.messages.len());
        let last = said.rev().find(|message| message.role == Role::Assistant);
        Self {
            trajectory,
            final_text: last.map(|message| message.content.text()).unwrap_or_default(),
            ground_truth: data.spec.ground_truth.as_ref(),
            data_source: &data.spec.data_source,
            extra_info: &data.spec.extra_info,
        }
    }

    /// The ground truth as text: a string's content, or a number as it was written.
    ///
    /// # Errors
    /// If there is none, or it is something else.
    pub fn ground_truth_text(&self) -> Result<String, Fault> {
        let task = &self.trajectory.data.spec.task_id;
        let Some(json) = self.ground_truth else {
            let missing = "has no reward_model.ground_truth, expected a string or a number";
            return Err(Fault::terminal(format!("task `{task}` {missing}")));
        };
        let text = json.as_str().trim();
        if text.starts_with(|c: char| c == '-' || c.is_ascii_digit()) {
            return Ok(text.to_owned());
        }
        serde_json::from_str(text).map_err(|_| {
            let found = format!("has {text} as reward_model.ground_truth");
            Fault::terminal(format!("task `{task}` {found}, expected a string or a number"))
        })
    }
}

/// The reward functions of a run, by name.
#[derive(Debug)]
pub struct Rewards {
    known: Named<dyn Reward>,
}

impl Rewards {
    /// None.
    #[must_use]
    pub const fn new() -> Self {
        Self { known: Named::new("reward function") }
    }

    /// The built-in ones: `gsm8k` (strict), `gsm8k_flexible`, `exact_match`.
    #[must_use]
    pub fn built_in() -> Self {
        let all: [(&str, Box<dyn Reward>); 3] = [
            ("gsm8k", Box::new(Gsm8k::strict())),
            ("gsm8k_flexible", Box::new(Gsm8k::flexible())),
            ("exact_match", Box::new(ExactMatch)),
        ];
        Self { known: Named::of("reward function", all) }
    }

    /// Adds one.
    ///
    /// # Errors
    /// If the name is taken.
    pub fn with(mut self, name: &str, reward: impl Reward + 'static) -> Result<Self, NameTaken> {
        self.known.add(name, Box::new(reward))?;
        Ok(self)
    }

    /// All names, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.known.names()
    }

    /// Whether there is one of that name: a terminal fault that lists the known ones if not.
    ///
    /// # Errors
    /// If the name is unknown.
    pub fn check(&self, name: &str) -> Result<(), Fault> {
        self.known.get(name).map(|_| ())
    }

    /// The reward of that trajectory by the function of that name.
    ///
    /// # Errors
    /// What the function says; a terminal fault if the name is unknown, and if the function
    /// panicked or gave a number that is not finite. Other rollouts are not affected.
    pub async fn score(&self, name: &str, trajectory: &Trajectory) -> Result<f64, Fault> {
        let reward = self.known.get(name)?;
        let input = RewardInput::new(trajectory);
        self.known.guarded(name, async { reward.score(&input).await }, |score| Some(*score)).await
    }
}

impl Default for Rewards {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests;
