use super::*;

#[track_caller]
fn check(text: &str, expected: Result<(), usize>) {
    assert_eq!(JsonText::new(text).map(drop).map_err(|error| error.at), expected, "{text:?}");
}

#[test]
fn valid_texts_are_kept_as_written() {
    for text in [
        "{}",
        " [1, -0.5e+3, 12345678901234567890] ",
        r#"{"b":1,"a":{"é\u00e9\n":[null,true,false]}}"#,
        "\"\"",
        "-0",
    ] {
        check(text, Ok(()));
        assert_eq!(JsonText::new(text).unwrap().as_str(), text);
    }
}

#[test]
fn invalid_texts_say_where() {
    check("", Err(0));
    check("{'a': 1}", Err(1));
    check("{\"a\" 1}", Err(5));
    check("[1,]", Err(3));
    check("[1 2]", Err(3));
    check("01", Err(1));
    check("1.", Err(2));
    check("1e", Err(2));
    check("\"a\nb\"", Err(2));
    check("\"\\x\"", Err(2));
    check("\"\\u12g4\"", Err(5));
    check("\"abc", Err(4));
    check("nul", Err(0));
    check("{} {}", Err(3));
    check("NaN", Err(0));
}

#[test]
fn deep_nesting_is_refused_without_overflow() {
    assert!(JsonText::new("[".repeat(100) + &"]".repeat(100)).is_ok());
    assert!(JsonText::new("[".repeat(1_000_000)).is_err());
}
