//! Finding numbers in texts, and comparing them as numbers.

/// The part of `text` from its start that `-?[0-9.,]+` matches; empty if nothing does, or no
/// digit is in it.
pub(crate) fn prefix(text: &str) -> &str {
    let body = text.strip_prefix('-').unwrap_or(text);
    let sign = text.len() - body.len();
    let len = body.find(|c| !is_part(c)).unwrap_or(body.len());
    let found = &text[..sign + len];
    if found.contains(|c: char| c.is_ascii_digit()) { found } else { "" }
}

/// All such parts, from left to right.
pub(crate) fn all(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        loop {
            let start = rest.find(|c| is_part(c) || c == '-')?;
            rest = &rest[start..];
            let sign = usize::from(rest.starts_with('-'));
            let body = &rest[sign..];
            let end = sign + body.find(|c| !is_part(c)).unwrap_or(body.len());
            let found = prefix(rest);
            rest = &rest[end..];
            if !found.is_empty() {
                return Some(found);
            }
        }
    })
}

const fn is_part(c: char) -> bool {
    matches!(c, '0'..='9' | '.' | ',')
}

/// Whether two texts are the same number, or the same text where one is no number.
pub(crate) fn equal(a: &str, b: &str) -> bool {
    let (a, b) = (plain(a), plain(b));
    match (canonical(&a), canonical(&b)) {
        (Some(a), Some(b)) => a == b,
        _ => a == b,
    }
}

/// Without what does not count: white space around, `,`, `$`, points at the end.
fn plain(text: &str) -> String {
    text.trim().replace([',', '$'], "").trim_end_matches('.').to_owned()
}

/// Sign, integral digits without leading zeros, fraction digits without trailing ones.
fn canonical(text: &str) -> Option<(bool, &str, &str)> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let all_digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    if (whole.is_empty() && fraction.is_empty()) || !all_digits(whole) || !all_digits(fraction) {
        return None;
    }
    let (whole, fraction) = (whole.trim_start_matches('0'), fraction.trim_end_matches('0'));
    let zero = whole.is_empty() && fraction.is_empty();
    Some((text.starts_with('-') && !zero, whole, fraction))
}

#[cfg(test)]
mod tests;
