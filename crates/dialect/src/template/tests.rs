use respool_core::JsonText;

use super::*;

fn json(text: &str) -> JsonText {
    JsonText::new(text).expect("valid JSON")
}

fn template(source: &str) -> Template {
    Template::new("t", source, Clock::from_unix_seconds(0)).expect("compiles")
}

fn render(source: &str, messages: &str, arguments: StringArguments) -> Result<String, TemplateError> {
    let input = RenderInput {
        messages: &json(messages),
        tools: None,
        template_args: &json(r#"{"mode": "x"}"#),
        special_tokens: &[("bos_token".to_owned(), "<s>".to_owned()), ("mode".to_owned(), "y".to_owned())],
        add_generation_prompt: true,
        string_arguments: arguments,
    };
    template(source).render(&input)
}

#[test]
fn sees_python_s_variables() {
    let source =
        "{{ bos_token }}{{ mode }}{{ tools is none }}{{ tools is defined }}{{ add_generation_prompt }}\n";
    assert_eq!(render(source, "[]", StringArguments::Object).expect("renders"), "<s>xTrueTrueTrue");
}

#[test]
fn arguments_as_text_become_an_object_if_wanted() {
    let source = "{{ messages[0].tool_calls[0].function.arguments | tojson }}";
    let call =
        r#"[{"role": "assistant", "tool_calls": [{"function": {"arguments": "{\"b\": 1, \"a\": 2}"}}]}]"#;
    let object = render(source, call, StringArguments::Object).expect("renders");
    assert_eq!(object, r#"{"b": 1, "a": 2}"#);
    let text = render(source, call, StringArguments::AsGiven).expect("renders");
    assert_eq!(text, r#""{\"b\": 1, \"a\": 2}""#);
}

#[test]
fn errors_name_the_template_and_what_it_said() {
    let error =
        render("{{ raise_exception('no tools here') }}", "[]", StringArguments::Object).expect_err("raises");
    assert_eq!(error.to_string(), "chat template t refuses these messages: no tools here");
    let error = render("a\n{{ messages[0].x.y }}", "[]", StringArguments::Object).expect_err("fails");
    assert!(error.to_string().starts_with("chat template t fails on these messages:"), "{error}");
    assert!(error.to_string().ends_with("(line 2)"), "{error}");
    let error = Template::new("t", "{% if %}", Clock::from_unix_seconds(0)).expect_err("does not compile");
    assert!(error.to_string().starts_with("chat template t does not compile:"), "{error}");
    let error = render("", r#"{"role": "user"}"#, StringArguments::Object).expect_err("no list");
    assert_eq!(error.to_string(), "messages must be a JSON list of objects");
}

#[track_caller]
fn check_hostile(source: &str, expected: &str) {
    let error = render(source, "[]", StringArguments::Object).expect_err("refused").to_string();
    assert!(error.contains(expected), "{source}: {error}");
}

#[test]
fn a_hostile_template_is_stopped() {
    let loops = "{% for a in range(9999) %}{% for b in range(9999) %}{% endfor %}{% endfor %}";
    check_hostile(loops, "takes more steps");
    let recursion = "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}";
    check_hostile(recursion, "");
    check_hostile("{{ 'x' * 10 ** 9 }}", "too large");
    check_hostile("{{ range(10 ** 9) | list }}", "too many elements");
    let long = "{% set x = 'x' * 1000000 %}{% for a in range(9999) %}{{ x }}{% endfor %}";
    check_hostile(long, "writes more text than any conversation needs");
    check_hostile("{{ 'x'.ljust(10 ** 12) | length }}{{ nothing.more }}", "");
}

#[test]
fn a_template_sees_no_files() {
    for source in [
        "{% include '/etc/hostname' %}",
        "{% import '/etc/hostname' as h %}",
        "{% from '/etc/hostname' import h %}",
        "{% extends '/etc/hostname' %}",
    ] {
        check_hostile(source, "include, import and extends are refused");
    }
}
