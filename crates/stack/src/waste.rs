//! Tokens that were paid for and are not kept.

use metrics::counter;

/// Why a token is not kept: the label `reason` of `respool_wasted_tokens_total`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waste {
    /// Behind a stop string, over the budget, or after the turn had ended.
    AfterEnd,
    /// Of a turn that is asked again from its start (R15).
    Restarted,
    /// Of an attempt that was given up.
    Late,
    /// Over the budget of a request that is continued without a rollout's engine.
    OverBudget,
    /// Behind a stop token at which the server did not stop.
    AfterStop,
    /// Of an answer that cannot be trusted.
    Invalid,
}

impl Waste {
    const fn reason(self) -> &'static str {
        match self {
            Self::AfterEnd => "after_end",
            Self::Restarted => "restarted",
            Self::Late => "late",
            Self::OverBudget => "over_budget",
            Self::AfterStop => "after_stop",
            Self::Invalid => "invalid",
        }
    }
}

/// Counts tokens that nobody keeps.
pub fn wasted(waste: Waste, tokens: usize) {
    if tokens > 0 {
        counter!("respool_wasted_tokens_total", "reason" => waste.reason()).increment(tokens as u64);
    }
}
