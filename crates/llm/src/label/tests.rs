use super::*;

#[track_caller]
fn check(label: &str, version: Option<u64>) {
    assert_eq!(version_of_label(label), version.map(PolicyVersion), "{label:?}");
}

#[test]
fn only_decimal_text_is_a_version() {
    check("0", Some(0));
    check("18446744073709551615", Some(u64::MAX));
    check("18446744073709551616", None);
    check("default", None);
    check("", None);
    check("+7", None);
    check("-7", None);
    check(" 7", None);
    check("7.0", None);
    check("v7", None);
}
