//! What the driver counts, through the `metrics` facade, beside the tokens that are wasted.

use metrics::counter;
use respool_core::{Class, Event};

/// Counts an attempt that failed and is made again: `respool_retries_total`, with the failure's class as
/// the label `reason`.
pub(crate) fn retried(class: Class) {
    counter!("respool_retries_total", "reason" => class.name()).increment(1);
}

/// Tokens that an event carries.
pub(crate) fn tokens(event: &Event) -> usize {
    if let Event::Sampled { delta, .. } = event { delta.tokens.len() } else { 0 }
}
