//! R7: shortening tool texts by characters.

use crate::TruncateSide;

/// Shortens `text` to `limit` **characters** and a marker at the cut; a text within the limit is
/// returned as it is. The limit counts kept characters, not the marker; for the middle an odd
/// limit is rounded down at each end. A character is never split.
#[must_use]
pub fn truncate(text: &str, limit: u32, cut: TruncateSide) -> String {
    let limit = limit as usize;
    // Most texts are short: no text has more characters than bytes.
    if text.len() <= limit || text.chars().count() <= limit {
        return text.to_owned();
    }
    match cut {
        TruncateSide::Right => format!("{}...(truncated)", head(text, limit)),
        TruncateSide::Left => format!("(truncated)...{}", tail(text, limit)),
        TruncateSide::Middle => {
            format!("{}...(truncated)...{}", head(text, limit / 2), tail(text, limit / 2))
        }
    }
}

fn head(text: &str, chars: usize) -> &str {
    text.char_indices().nth(chars).map_or(text, |(at, _)| &text[..at])
}

fn tail(text: &str, chars: usize) -> &str {
    match chars.checked_sub(1) {
        None => "",
        Some(last) => text.char_indices().rev().nth(last).map_or(text, |(at, _)| &text[at..]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(limit: u32, cut: TruncateSide, expected: &str) {
        assert_eq!(truncate("ééé😀北京", limit, cut), expected);
    }

    #[test]
    fn keeps_whole_characters_on_the_named_side() {
        check(6, TruncateSide::Middle, "ééé😀北京");
        check(2, TruncateSide::Right, "éé...(truncated)");
        check(2, TruncateSide::Left, "(truncated)...北京");
        check(5, TruncateSide::Middle, "éé...(truncated)...北京");
        check(1, TruncateSide::Middle, "...(truncated)...");
        check(0, TruncateSide::Left, "(truncated)...");
    }
}
