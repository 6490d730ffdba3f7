//! What the driver counts, through the `metrics` facade.
//!
//! | metric | is |
//! |---|---|
//! | `respool_wasted_tokens_total` | tokens that servers sent and no trajectory keeps, with the label `reason` |
//! | `respool_retries_total` | attempts that failed and are made again, with the label `reason`: the failure's class |
//!
//! The reasons of waste: `after_end` (behind a stop string, over the budget, or after the turn had
//! ended), `restarted` (a turn that is asked again from its start, R15), `late` (of an attempt that was given up).

use metrics::counter;
use respool_core::{Class, Event};

/// Why a token that was paid for is not kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Waste {
    AfterEnd,
    Restarted,
    Late,
}

/// Counts tokens that no trajectory keeps.
pub(crate) fn wasted(reason: Waste, tokens: usize) {
    if tokens > 0 {
        let reason = match reason {
            Waste::AfterEnd => "after_end",
            Waste::Restarted => "restarted",
            Waste::Late => "late",
        };
        counter!("respool_wasted_tokens_total", "reason" => reason).increment(tokens as u64);
    }
}

/// Counts an attempt that failed and is made again.
pub(crate) fn retried(class: Class) {
    let reason = match class {
        Class::Transient => "transient",
        Class::Overloaded { .. } => "overloaded",
        Class::Terminal => "terminal",
    };
    counter!("respool_retries_total", "reason" => reason).increment(1);
}

/// Tokens that an event carries.
pub(crate) fn tokens(event: &Event) -> usize {
    if let Event::Sampled { delta, .. } = event { delta.tokens.len() } else { 0 }
}
