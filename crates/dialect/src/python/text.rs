//! What Python's `str` methods do, on Rust texts.

use minijinja::value::{Value, ValueKind};

use super::repr;

/// Python counts the four separators of ASCII as white space too.
pub(crate) fn is_space(c: char) -> bool {
    c.is_whitespace() || matches!(c, '\u{1c}'..='\u{1f}')
}

/// `strip`, at the left, at the right, or both.
pub(crate) fn strip<'a>(text: &'a str, chars: Option<&str>, (left, right): (bool, bool)) -> &'a str {
    let goes = |c: char| chars.map_or_else(|| is_space(c), |chars| chars.contains(c));
    let text = if left { text.trim_start_matches(goes) } else { text };
    if right { text.trim_end_matches(goes) } else { text }
}

/// `split` and `rsplit`; without a separator runs of white space separate.
pub(crate) fn split<'a>(
    text: &'a str,
    separator: Option<&str>,
    max: Option<usize>,
    from_right: bool,
) -> Result<Vec<&'a str>, &'static str> {
    let max = max.unwrap_or(usize::MAX);
    let Some(separator) = separator else { return Ok(split_space(text, max, from_right)) };
    if separator.is_empty() {
        return Err("empty separator");
    }
    let limit = max.saturating_add(1);
    if from_right {
        let mut parts: Vec<&str> = text.rsplitn(limit, separator).collect();
        parts.reverse();
        return Ok(parts);
    }
    Ok(text.splitn(limit, separator).collect())
}

fn split_space(text: &str, max: usize, from_right: bool) -> Vec<&str> {
    let near = (!from_right, from_right);
    let mut parts = Vec::new();
    let mut rest = strip(text, None, near);
    while !rest.is_empty() {
        let gap = if from_right { rest.rfind(is_space) } else { rest.find(is_space) };
        let Some(at) = gap.filter(|_| parts.len() < max) else {
            parts.push(rest);
            break;
        };
        let width = rest[at..].chars().next().map_or(1, char::len_utf8);
        let (head, tail) = (&rest[..at], &rest[at + width..]);
        let (part, other) = if from_right { (tail, head) } else { (head, tail) };
        parts.push(part);
        rest = strip(other, None, near);
    }
    if from_right {
        parts.reverse();
    }
    parts
}

/// `splitlines`.
pub(crate) fn split_lines(text: &str, keep_ends: bool) -> Vec<&str> {
    let mut lines = Vec::new();
    let mut rest = text;
    let is_end = |c: char| {
        matches!(
            c,
            '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{1c}'..='\u{1e}' | '\u{85}' | '\u{2028}' | '\u{2029}'
        )
    };
    while let Some(at) = rest.find(is_end) {
        let end = if rest[at..].starts_with("\r\n") {
            2
        } else {
            rest[at..].chars().next().map_or(1, char::len_utf8)
        };
        lines.push(if keep_ends { &rest[..at + end] } else { &rest[..at] });
        rest = &rest[at + end..];
    }
    if !rest.is_empty() {
        lines.push(rest);
    }
    lines
}

/// `partition` and `rpartition`.
pub(crate) fn partition<'a>(text: &'a str, separator: &'a str, from_right: bool) -> Vec<&'a str> {
    let found = if from_right { text.rsplit_once(separator) } else { text.split_once(separator) };
    match found {
        Some((head, tail)) => vec![head, separator, tail],
        None if from_right => vec!["", "", text],
        None => vec![text, "", ""],
    }
}

/// `title`.
pub(crate) fn title(text: &str) -> String {
    let mut in_word = false;
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if in_word {
            out.extend(c.to_lowercase())
        } else {
            out.extend(c.to_uppercase())
        }
        in_word = c.is_alphabetic();
    }
    out
}

/// `capitalize`.
pub(crate) fn capitalize(text: &str) -> String {
    let mut chars = text.chars();
    let first: String = chars.next().into_iter().flat_map(char::to_uppercase).collect();
    first + &chars.as_str().to_lowercase()
}

/// `swapcase`.
pub(crate) fn swap_case(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_uppercase() { out.extend(c.to_lowercase()) } else { out.extend(c.to_uppercase()) }
    }
    out
}

/// `zfill`, `ljust`, `rjust`, `center`.
pub(crate) fn pad(text: &str, method: &str, width: usize, fill: Option<char>) -> String {
    let missing = width.saturating_sub(text.chars().count());
    let fill = fill.unwrap_or(if method == "zfill" { '0' } else { ' ' });
    let run = |len: usize| fill.to_string().repeat(len);
    match method {
        "ljust" => text.to_owned() + &run(missing),
        "center" => {
            let left = missing / 2 + (missing & width & 1);
            run(left) + text + &run(missing - left)
        }
        "zfill" if text.starts_with(['+', '-']) => text[..1].to_owned() + &run(missing) + &text[1..],
        _ => run(missing) + text,
    }
}

/// `format` with the fields `{}`, `{0}` and `{name}`; a field with a format of its own is refused.
pub(crate) fn format(text: &str, args: &[Value]) -> Result<String, String> {
    let named = args.last().filter(|last| last.is_kwargs());
    let mut next = 0;
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(['{', '}']) {
        out.push_str(&rest[..at]);
        let tail = &rest[at..];
        if tail.starts_with("{{") || tail.starts_with("}}") {
            out.push_str(&tail[..1]);
            rest = &tail[2..];
            continue;
        }
        let end = tail.find('}').filter(|end| *end > 0).ok_or("single brace in format text")?;
        let field = &tail[1..end];
        let value = match field.parse::<usize>() {
            Ok(index) => args.get(index).cloned(),
            Err(_) if field.is_empty() => {
                next += 1;
                args.get(next - 1).cloned()
            }
            Err(_) => named.and_then(|named| named.get_attr(field).ok()),
        };
        let value = value.filter(|value| value.kind() != ValueKind::Undefined);
        out.push_str(&repr::str(&value.ok_or_else(|| format!("format has no value for {{{field}}}"))?));
        rest = &tail[end + 1..];
    }
    out.push_str(rest);
    Ok(out)
}
