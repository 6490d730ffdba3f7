use proptest::prelude::*;

use super::*;

#[track_caller]
fn check_all(text: &str, expected: &[&str]) {
    assert_eq!(all(text).collect::<Vec<_>>(), expected, "{text}");
}

#[test]
fn finds_what_the_reference_finds_if_it_has_a_digit() {
    check_all("", &[]);
    check_all("none, at all.", &[]);
    check_all("5-3 = 2.", &["5", "-3", "2."]);
    check_all("--3", &["-3"]);
    check_all("- 3", &["3"]);
    check_all("$1,234.50 (or 12%)...", &["1,234.50", "12"]);
    check_all("é7北-8", &["7", "-8"]);
}

#[track_caller]
fn check_equal(a: &str, b: &str, expected: bool) {
    assert_eq!(equal(a, b), expected, "{a} {b}");
    assert_eq!(equal(b, a), expected, "{b} {a}");
}

#[test]
fn numbers_are_equal_by_value_and_other_texts_by_spelling() {
    check_equal("18", "18.00", true);
    check_equal("18.", "18", true);
    check_equal("018", "18", true);
    check_equal("1,018", "$1018", true);
    check_equal(".5", "0.50", true);
    check_equal("-0", "0", true);
    check_equal("-18", "18", false);
    check_equal("18.01", "18", false);
    check_equal("180", "18", false);
    check_equal("1.2.3", "1.2.3", true);
    check_equal("1.2.3", "1.23", false);
    check_equal("", "0", false);
    check_equal("yes", " yes ", true);
    check_equal("123456789012345678901234567890", "123456789012345678901234567891", false);
}

proptest! {
    #[test]
    fn no_text_panics_and_every_find_has_a_digit(text in ".*") {
        prop_assert!(all(&text).all(|found| found.contains(|c: char| c.is_ascii_digit())));
    }

    #[test]
    fn a_number_is_found_in_any_words(number in -1_000_000i64..1_000_000, before in "[a-z ]*", after in "[a-z ]*") {
        let text = format!("{before}{number}{after}");
        let found: Vec<_> = all(&text).collect();
        prop_assert_eq!(found.len(), 1);
        prop_assert!(equal(found[0], &number.to_string()));
    }

    #[test]
    fn different_integers_differ(a in any::<i32>(), b in any::<i32>()) {
        prop_assert_eq!(equal(&a.to_string(), &format!("{b}.0")), a == b);
    }
}
