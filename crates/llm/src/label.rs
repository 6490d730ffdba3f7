//! Labels of weights: an engine's text, our number.

use respool_core::PolicyVersion;

/// The version that a server's label names: its decimal text. Any other label (`default`) names
/// none; tokens under it are the version's that was in force when their request was sent.
#[must_use]
pub fn version_of_label(label: &str) -> Option<PolicyVersion> {
    let is_decimal = !label.is_empty() && label.bytes().all(|byte| byte.is_ascii_digit());
    if is_decimal { label.parse().ok().map(PolicyVersion) } else { None }
}

#[cfg(test)]
mod tests;
