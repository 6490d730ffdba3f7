use minijinja::value::Value;
use proptest::prelude::*;
use respool_core::JsonText;

use super::*;

/// What Python's Jinja2 3.1 gives for an expression, with `v` read from JSON.
#[track_caller]
fn check(expression: &str, json: &str, expected: &str) {
    assert_eq!(eval(expression, json).as_deref(), Ok(expected), "{expression} with v = {json}");
}

#[track_caller]
fn refuses(expression: &str, json: &str) {
    let result = eval(expression, json);
    assert!(result.is_err(), "{expression} with v = {json} gives {result:?}");
}

fn clock() -> Clock {
    Clock::from_unix_seconds(1_767_323_045)
}

fn eval(expression: &str, json: &str) -> Result<String, String> {
    let v = read(&JsonText::new(json).expect("valid JSON"));
    let env = environment(&format!("{{{{ {expression} }}}}"), clock()).map_err(|error| error.to_string())?;
    let context = Dict::of([("v", v)]).into_value();
    env.get_template("chat").and_then(|chat| chat.render(context)).map_err(|error| error.to_string())
}

#[test]
fn tojson_writes_what_python_writes() {
    let numbers = r#"[1.0, 1e-7, 1E+16, -0.0, 3, 12345678901234567890, 0.1, 1e22, 123456789012345678901234567890123456789012345]"#;
    check(
        "v | tojson",
        numbers,
        "[1.0, 1e-07, 1e+16, -0.0, 3, 12345678901234567890, 0.1, 1e+22, 123456789012345678901234567890123456789012345]",
    );
    check("v | tojson", r#"{"b": 1, "a": "<&'\">é\u0007\t", "b": 2}"#, r#"{"b": 2, "a": "<&'\">é\u0007\t"}"#);
    check(
        "v | tojson(indent=2)",
        r#"{"a":[1,{}],"b":[]}"#,
        "{\n  \"a\": [\n    1,\n    {}\n  ],\n  \"b\": []\n}",
    );
    check("v | tojson(separators=(',', ':'), sort_keys=true)", r#"{"b": 1, "a": 2}"#, r#"{"a":2,"b":1}"#);
    check("v | tojson(ensure_ascii=true)", r#""é😀""#, r#""\u00e9\ud83d\ude00""#);
    refuses("undefined_name | tojson", "0");
}

#[test]
fn prints_values_as_python_does() {
    let value = r#"{"a": [true, null, 1.0, 1e-7], "it's": "x\ny", "q": "\""}"#;
    let expected = r#"{'a': [True, None, 1.0, 1e-07], "it's": 'x\ny', 'q': '"'}"#;
    check("v", value, expected);
    check("v | string", value, expected);
    check("'' ~ v", value, expected);
    check("v.a[3] ~ '|' ~ v.a[0] ~ '|' ~ none", value, "1e-07|True|None");
}

#[test]
fn length_is_pythons_len() {
    check("undefined_name | length", "0", "0");
    check("v | length", r#""é😀""#, "2");
    refuses("v | length", "null");
    refuses("v | length", "3");
}

#[test]
fn tests_of_kinds_are_pythons() {
    let kinds =
        "(v is iterable) ~ (v is sequence) ~ (v is mapping) ~ (v is number) ~ (v is integer) ~ (v is float)";
    check(kinds, "null", "FalseFalseFalseFalseFalseFalse");
    check(kinds, "{}", "TrueTrueTrueFalseFalseFalse");
    check(kinds, r#""a""#, "TrueTrueFalseFalseFalseFalse");
    check(kinds, "true", "FalseFalseFalseTrueFalseFalse");
    check(kinds, "1e30", "FalseFalseFalseTrueFalseTrue");
    check(kinds, "123456789012345678901234567890123456789012345", "FalseFalseFalseTrueTrueFalse");
}

#[test]
fn texts_have_pythons_methods() {
    check("v.split('</think>')[-1].lstrip('\\n')", r#""<think>\nx\n</think>\n\nyes""#, "yes");
    check("v.split()", r#""  a b\tc ""#, "['a', 'b', 'c']");
    check("v.split(',', 1)", r#""a,b,c""#, "['a', 'b,c']");
    check("v.rsplit(',', 1)", r#""a,b,c""#, "['a,b', 'c']");
    check("v.rsplit(none, 1)", r#"" a b  c ""#, "[' a b', 'c']");
    check("v.split(none, 1)", r#"" a  b ""#, "['a', 'b ']");
    check("v.startswith(('x', 'a'))", r#""abc""#, "True");
    check("v.find('c') ~ v.find('z')", r#""éc""#, "1-1");
    check("v.title()", r#""it's a test""#, "It'S A Test");
    check("v.splitlines()", r#""a\r\nb\n\nc""#, "['a', 'b', '', 'c']");
    check("v.partition('=')", r#""k=v=w""#, "['k', '=', 'v=w']");
    check("'{} {1} {{}}'.format(v, 2)", r#""a""#, "a 2 {}");
    check("v.removeprefix('a').center(5, '-')", r#""abc""#, "--bc-");
    refuses("v.no_such_method()", r#""abc""#);
    refuses("v.split('')", r#""abc""#);
}

#[test]
fn dictionaries_and_lists_have_pythons_methods() {
    check("v.get('a') ~ v.get('z') ~ v.get('z', 7)", r#"{"a": 1}"#, "1None7");
    check("v.items() | length", r#"{"items": [], "b": 1}"#, "2");
    check("v.keys() | list", r#"{"b": 1, "a": 2}"#, "['b', 'a']");
    check("v.index(2)", "[1, 2]", "1");
    refuses("v.append(3)", "[1, 2]");
}

#[test]
fn a_template_cannot_hang_or_read_files() {
    let endless = "{% for a in range(9999) %}{% for b in range(9999) %}{% endfor %}{% endfor %}";
    let env = environment(endless, clock()).expect("compiles");
    assert!(env.get_template("chat").and_then(|chat| chat.render(())).is_err());
    let env = environment("{% include '/etc/hostname' %}", clock()).expect("compiles");
    assert!(env.get_template("chat").and_then(|chat| chat.render(())).is_err());
}

#[test]
fn generation_tags_do_nothing() {
    let source = "a {%- generation -%} b {%- endgeneration %} c{% if x %}{% endif %}";
    let env = environment(source, clock()).expect("compiles");
    assert_eq!(env.get_template("chat").and_then(|chat| chat.render(())).expect("renders"), "ab c");
}

#[test]
fn dates_are_pinned() {
    check(
        "strftime_now('%d %b %Y %H:%M:%S %A %j %-d %y %I %p %%')",
        "0",
        "02 Jan 2026 03:04:05 Friday 002 2 26 03 AM %",
    );
    assert_eq!(Clock::new(2026, 1, 2, 3, 4, 5), Some(clock()));
    assert_eq!(Clock::new(2023, 2, 29, 0, 0, 0), None);
    assert_eq!(Clock::from_unix_seconds(951_782_400).strftime("%F %a"), "2000-02-29 Tue");
    assert_eq!(Clock::from_unix_seconds(-1).strftime("%c"), "Wed Dec 31 23:59:59 1969");
    assert!(!Clock::from_unix_seconds(i64::MIN).strftime("%c").is_empty());
    assert!(!Clock::from_unix_seconds(i64::MAX).strftime("%c").is_empty());
}

proptest! {
    /// `tojson` of what was read is JSON with the same meaning.
    #[test]
    fn tojson_gives_back_what_was_read(text in any::<String>(), number in any::<f64>(), integer in any::<i128>()) {
        prop_assume!(number.is_finite());
        let text = serde_json::to_string(&text).expect("a text");
        let json = JsonText::new(format!("{{\"t\": {text}, \"n\": {number:e}, \"i\": {integer}}}")).expect("valid");
        let written = tojson::compact(&read(&json)).expect("JSON");
        let written = JsonText::new(written).expect("valid");
        prop_assert_eq!(tojson::compact(&read(&written)).expect("JSON"), written.as_str());
        let value: serde_json::Value = serde_json::from_str(written.as_str()).expect("valid");
        prop_assert_eq!(value["t"].to_string(), text);
        prop_assert_eq!(value["n"].as_f64(), Some(number));
        prop_assert!(written.as_str().contains(&integer.to_string()));
    }

    #[test]
    fn float_spellings_read_back(number in any::<f64>()) {
        prop_assume!(number.is_finite());
        prop_assert_eq!(repr::float(number).parse::<f64>().expect("a number").to_bits(), number.to_bits());
    }

    /// No text or arguments make a method panic.
    #[test]
    fn methods_are_total(text in any::<String>(), argument in any::<String>(), number in -3..9i64) {
        for method in ["strip", "split", "rsplit", "splitlines", "partition", "rpartition", "find", "format", "title",
                       "center", "zfill", "count", "index", "replace", "startswith", "capitalize", "swapcase"] {
            for args in [vec![], vec![Value::from(argument.as_str())], vec![Value::from(number)],
                         vec![Value::from(argument.as_str()), Value::from(number)]] {
                let _result = methods::call(&Value::from(text.as_str()), method, &args);
            }
        }
    }
}
