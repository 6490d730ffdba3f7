//! How Python refuses a conversation.

use serde::Deserialize;

use super::Checked;
use crate::report::Verdict;

/// How Python refuses.
#[derive(Debug, Deserialize)]
pub(super) struct Refusal {
    kind: Kind,
    message: String,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Kind {
    /// The template itself does: with its words.
    RaiseException,
    /// An operation in it fails: the wording is free.
    RenderError,
}

impl Refusal {
    /// Whether what was found is such a refusal.
    pub(super) fn check<T>(&self, found: Result<T, String>) -> Checked {
        match (self.kind, found) {
            (_, Ok(_)) => {
                Err(Verdict::Fail(format!("expected the error {:?}, found a result", self.message)))
            }
            (Kind::RaiseException, Err(error)) if !error.contains(&self.message) => {
                Err(Verdict::Fail(format!("error: expected {:?} in it, found {error:?}", self.message)))
            }
            (Kind::RaiseException | Kind::RenderError, Err(_)) => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(kind: &str, found: Result<(), &str>, passes: bool) {
        let refusal = format!(r#"{{"kind": "{kind}", "python_type": "T", "message": "no tool first"}}"#);
        let refusal: Refusal = serde_json::from_str(&refusal).expect("refusal");
        assert_eq!(refusal.check(found.map_err(str::to_owned)).is_ok(), passes);
    }

    #[test]
    fn only_a_templates_own_words_count() {
        check("raise_exception", Err("chat template x refuses: no tool first"), true);
        check("raise_exception", Err("something else"), false);
        check("render_error", Err("something else"), true);
        check("render_error", Ok(()), false);
    }
}
