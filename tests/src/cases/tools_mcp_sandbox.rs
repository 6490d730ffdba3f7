//! The area `tools_mcp_sandbox`: tools that are late, long, lost, or in the way of each other.

mod batch;

use respool_core::{TruncateSide, truncate};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::{Case, Checked};
use crate::item;
use crate::report::Verdict;

/// Which kind of case it is.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Input {
    Transport(#[expect(dead_code, reason = "only tells the kind")] Transport),
    Truncation(Truncation),
    Batch(batch::Batch),
    Ends(batch::Ends),
    Event(batch::Event),
}

/// An MCP server; there is none yet.
#[derive(Debug, Deserialize)]
struct Transport {
    #[serde(rename = "transport")]
    _transport: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Truncation {
    tool_text: String,
    max_chars: u32,
    side: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Kept {
    kept_prefix: Option<String>,
    kept_suffix: Option<String>,
    marker_between: Option<bool>,
    #[serde(rename = "valid_utf8")]
    _valid_utf8: Option<bool>,
    #[serde(rename = "no_panic")]
    _no_panic: Option<bool>,
    #[serde(rename = "policy")]
    _policy: Option<String>,
}

/// Checks one case.
pub(super) fn check(case: &Case) -> Checked {
    match item::parse(case.input.get())? {
        Input::Transport(_) => Err(Verdict::NotBuilt),
        Input::Truncation(input) => truncation(&input, &case.expected),
        Input::Batch(input) => batch::check(&input, &case.expected),
        Input::Ends(input) => batch::check_ends(&input, &case.expected),
        Input::Event(input) => batch::check_event(&input, &case.expected),
    }
}

/// What is kept has to be there, and nothing else but the marker.
fn truncation(input: &Truncation, expected: &RawValue) -> Checked {
    let kept: Kept = item::parse(expected.get())?;
    let cut = match input.side.as_str() {
        // The side that is cut away, or what is kept.
        "left" | "tail" => TruncateSide::Left,
        "middle" | "both" => TruncateSide::Middle,
        "right" | "head" => TruncateSide::Right,
        side => return Err(Verdict::NotUnderstood(format!("side {side:?}"))),
    };
    let text = truncate(&input.tool_text, input.max_chars, cut);
    let prefix = kept.kept_prefix.unwrap_or_default();
    let suffix = kept.kept_suffix.unwrap_or_default();
    let marker = text.strip_prefix(&prefix).and_then(|rest| rest.strip_suffix(&suffix));
    match marker {
        Some(marker) if kept.marker_between.is_none_or(|wanted| wanted == marker.contains("(truncated)")) => {
            Ok(())
        }
        _ => Err(Verdict::Fail(format!("{text:?}, expected {prefix:?}, a marker, {suffix:?}"))),
    }
}
