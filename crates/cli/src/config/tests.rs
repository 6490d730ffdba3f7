use respool_core::{CallsOverLimit, Compat, ContinuationMode, Limits, Options, TruncateSide};

use super::*;

fn parse(text: &str) -> Config {
    Config::parse(text, "respool.toml").unwrap()
}

#[test]
fn nothing_is_the_defaults() {
    let config = parse("");
    assert_eq!(config, Config::default());
    assert_eq!(config.limits.resolve(), Limits::default());
    assert_eq!(config.options.resolve(&config.compat), Options::default());
}

#[test]
fn compat_is_a_name_or_a_table_over_one() {
    assert_eq!(parse("compat = \"verl\"").compat.resolve(), Compat::verl());
    assert_eq!(parse("compat = \"respool\"").compat.resolve(), Compat::default());
    let ours = parse("[compat]\ncalls_over_limit = \"drop\"\ntruncate_side = \"keep_old\"").compat.resolve();
    let expected =
        Compat { calls_over_limit: CallsOverLimit::Drop, truncate_keep_old: true, ..Compat::default() };
    assert_eq!(ours, expected);
    let verl = parse("[compat]\npreset = \"verl\"\ncontinuation = \"template\"").compat.resolve();
    assert_eq!(verl, Compat { continuation: ContinuationMode::Template, ..Compat::verl() });
}

#[test]
fn every_named_option_takes_both_values() {
    for (name, ours, theirs) in [
        ("continuation", "template", "reference"),
        ("calls_over_limit", "answer", "drop"),
        ("malformed_calls", "answer", "drop"),
        ("failed_call_reward", "none", "zero"),
        ("truncate_side", "cut", "keep_old"),
        ("terminating_reply_tokens", "omit", "append"),
        ("control_tokens", "plain", "parse"),
    ] {
        let compat = |value: &str| parse(&format!("[compat]\n{name} = \"{value}\"")).compat.resolve();
        assert_eq!(compat(ours), Compat::default(), "{name}");
        assert_ne!(compat(theirs), Compat::default(), "{name}");
    }
}

#[test]
fn a_resolved_configuration_is_read_back_from_json() {
    let config = parse(
        "compat = \"verl\"\n[run]\nn = 4\nweight_sync_every = \"1s\"\n[options]\n\
         tool_response_truncate_side = \"left\"\n[tools.calculator]\ntimeout = \"5s\"\n[reward]\nkind = \"gsm8k\"\n\
         [interaction.doubt]\nkind = \"scripted\"\nreplies = [{ content = \"sure?\" }]\n\
         [model.apply_chat_template_kwargs]\nenable_thinking = false\n",
    );
    let text = serde_json::to_string(&config).unwrap();
    assert_eq!(serde_json::from_str::<Config>(&text).unwrap(), config);
    assert_eq!(config.options.resolve(&config.compat).cut_side(), TruncateSide::Right);
}

#[track_caller]
fn check_error(text: &str, expected: &str) {
    let error = Config::parse(text, "respool.toml").unwrap_err().to_string();
    assert!(error.starts_with(expected), "{error}");
}

#[test]
fn errors_name_file_line_and_key() {
    check_error("\n[limits]\nprompt_length = -1", "respool.toml:3: limits.prompt_length: ");
    check_error(
        "compat = \"vrl\"",
        "respool.toml:1: compat: invalid value: string \"vrl\", expected \"respool\"",
    );
    check_error("compat = 3", "respool.toml:1: compat: invalid type");
    check_error(
        "[limits]\nresponse_length = 0",
        "respool.toml:2: limits.response_length: invalid value: integer `0`, expected a whole number from 1",
    );
    check_error(
        "[tools.calculator]\ntimeout = 5",
        "respool.toml:2: tools.calculator.timeout: invalid type: integer `5`, expected a duration such as \"5ms\"",
    );
    check_error(
        "[policy]\nerror_rate = 2.0",
        "respool.toml:2: policy.error_rate: found 2, expected a number from 0 to 1",
    );
    check_error("[reward]\nkind = \"bleu\"", "respool.toml:");
    check_error("[polcy]", "respool.toml:1: polcy: unknown field");
    check_error("x = = 1", "respool.toml:1: ");
}
