//! `[tools.*]`, `[interaction.*]` and `[reward]`.

use std::time::Duration;

use respool_interact::{ExactMatch, Gsm8k, Gsm8kMethod, Rewards, Scripted, ScriptedReply};
use respool_tools::{DEFAULT_TIMEOUT, Toolbox, calculator};
use serde::{Deserialize, Serialize};

use super::mirror::mirror;

/// The tools of the run, by name; the prompt shows them in the order of these fields.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct ToolsSection {
    pub(crate) calculator: Option<ToolSection>,
}

/// A built-in tool.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct ToolSection {
    /// How long a call may take.
    #[serde(with = "humantime_serde")]
    pub(crate) timeout: Option<Duration>,
}

impl ToolsSection {
    /// The toolbox.
    pub(crate) fn build(&self) -> anyhow::Result<Toolbox> {
        let mut tools = Toolbox::builder();
        if let Some(ToolSection { timeout }) = &self.calculator {
            tools = tools.tool_with_timeout(calculator()?, timeout.unwrap_or(DEFAULT_TIMEOUT));
        }
        Ok(tools.build()?)
    }
}

/// An interaction.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum InteractionSection {
    /// Replies in a fixed order.
    Scripted { replies: Vec<Reply> },
}

/// One scripted reply.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Reply {
    content: String,
    #[serde(default)]
    score: Option<f64>,
    #[serde(default)]
    terminate: bool,
}

impl InteractionSection {
    pub(crate) fn build(&self) -> Scripted {
        let Self::Scripted { replies } = self;
        Scripted::new(replies.iter().map(|Reply { content, score, terminate }| ScriptedReply {
            content: content.clone(),
            score: *score,
            terminate: *terminate,
        }))
    }
}

/// The reward function.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum RewardSection {
    /// The number after `####`.
    Gsm8k {
        #[serde(default)]
        method: Option<Method>,
        /// For the right answer.
        #[serde(default)]
        score: Option<f64>,
        /// For an answer that is not the right one.
        #[serde(default)]
        format_score: Option<f64>,
    },
    /// The last message is the ground truth.
    ExactMatch,
}

mirror!(Method of Gsm8kMethod { Strict, Flexible });

impl RewardSection {
    /// The function and its name.
    pub(crate) fn build(&self) -> anyhow::Result<(Rewards, &'static str)> {
        Ok(match self {
            Self::Gsm8k { method, score, format_score } => {
                let default = Gsm8k::default();
                let reward = Gsm8k {
                    method: method.map_or(default.method, Into::into),
                    score: score.unwrap_or(default.score),
                    format_score: format_score.unwrap_or(default.format_score),
                };
                (Rewards::new().with("gsm8k", reward)?, "gsm8k")
            }
            Self::ExactMatch => (Rewards::new().with("exact_match", ExactMatch)?, "exact_match"),
        })
    }
}
