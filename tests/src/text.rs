//! Saying where two things differ.

use respool_core::Token;

use crate::report::Verdict;

/// How much of both is shown from the first difference on.
const SHOWN: usize = 40;

/// Passes if the text is the expected one, else says where it differs.
///
/// # Errors
/// Where it differs.
pub(crate) fn check_text(what: &str, expected: &str, found: &str) -> Result<(), Verdict> {
    if expected == found {
        return Ok(());
    }
    let at = expected.chars().zip(found.chars()).take_while(|(a, b)| a == b).count();
    let rest = |text: &str| text.chars().skip(at).take(SHOWN).collect::<String>();
    let (expected, found) = (rest(expected), rest(found));
    Err(Verdict::Fail(format!("{what} at character {at}: expected {expected:?}, found {found:?}")))
}

/// Passes if the ids are the expected ones, else says where they differ.
///
/// # Errors
/// Where they differ.
pub(crate) fn check_ids(what: &str, expected: &[Token], found: &[Token]) -> Result<(), Verdict> {
    if expected == found {
        return Ok(());
    }
    let at = expected.iter().zip(found).take_while(|(a, b)| a == b).count();
    let rest = |ids: &[Token]| ids.iter().skip(at).take(SHOWN / 4).copied().collect::<Vec<_>>();
    let (expected, found) = (rest(expected), rest(found));
    Err(Verdict::Fail(format!("{what} at {at}: expected {expected:?}, found {found:?}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_difference_is_shown() {
        assert_eq!(check_text("text", "café", "café"), Ok(()));
        let shown = "text at character 5: expected \"au lait\", found \"noir\"";
        assert_eq!(check_text("text", "café au lait", "café noir"), Err(Verdict::Fail(shown.to_owned())));
        let shown = "ids at 2: expected [3], found []";
        assert_eq!(check_ids("ids", &[1, 2, 3], &[1, 2]), Err(Verdict::Fail(shown.to_owned())));
    }
}
