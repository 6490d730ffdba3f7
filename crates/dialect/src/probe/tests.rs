use std::sync::LazyLock;

use proptest::prelude::*;
use respool_core::{Chat, Dialect as _, Message, Token, ToolCall, ToolSpec};

use super::*;
use crate::options::DialectOptions;
use crate::python::Clock;

fn with_template(template: Option<&str>) -> HfDialect {
    let options = DialectOptions {
        template: template.map(str::to_owned),
        tool_format: "hermes".to_owned(),
        ..DialectOptions::new(Clock::from_unix_seconds(0))
    };
    HfDialect::embedded(options).expect("loads")
}

/// A template that writes `{before}content{after}` for every new message, whatever these are.
fn template(before: &str, content: &str, after: &str) -> String {
    format!(
        "{{% if tools %}}{{{{ tools | length }}}} tools<|im_end|>{{% endif %}}{{% for m in messages %}}\
         {{% if m.role == 'assistant' %}}<|im_start|>assistant\n{{{{ m.content }}}}{{% for c in m.tool_calls or [] %}}\
         {{{{ c.function.arguments | tojson }}}}{{% endfor %}}\
         {{% else %}}{before}{{{{ {content} }}}}{after}{{% endif %}}<|im_end|>{{% endfor %}}\
         {{% if add_generation_prompt %}}<|im_start|>assistant\n{{% endif %}}"
    )
}

static PLAIN: LazyLock<HfDialect> = LazyLock::new(|| with_template(None));
static MARKED: LazyLock<HfDialect> = LazyLock::new(|| {
    let looks = "'hidden' if m.content.startswith('[hide]') and m.content.endswith('[/hide]') else m.content";
    with_template(Some(&template("<|im_start|>", looks, "")))
});
static WORDED: LazyLock<HfDialect> = LazyLock::new(|| {
    let looks = "'failed' if 'fatal' in m.content | lower else m.content";
    with_template(Some(&template("<|im_start|>", looks, "\n")))
});
static MOODY: LazyLock<HfDialect> = LazyLock::new(|| {
    let mood = "{% set ns = namespace(m='') %}{% for m in messages %}{% if '/quiet' in m.content %}\
        {% set ns.m = 'sh' %}{% endif %}{% endfor %}";
    with_template(Some(&(mood.to_owned() + &template("<|im_start|>{{ ns.m }}", "m.content", ""))))
});

fn cases_of(dialect: &HfDialect) -> usize {
    dialect.shortcuts().frames.len()
}

#[test]
fn frames_are_found_where_only_texts_matter() {
    assert_eq!([&PLAIN, &MARKED, &WORDED, &MOODY].map(|dialect| cases_of(dialect)), [3; 4]);
    let frame = &PLAIN.shortcuts().frames[0];
    assert_eq!(frame.stop, "<|im_end|>");
    assert_eq!(frame.open, "\n<|im_start|>user\n<tool_response>\n");
    assert_eq!(frame.between, "\n</tool_response>\n<tool_response>\n");
    assert_eq!(frame.close, "\n</tool_response><|im_end|>\n<|im_start|>assistant\n");
}

#[test]
fn templates_that_look_at_more_than_the_texts_have_none() {
    assert_eq!(cases_of(&with_template(Some(&template("", "m.content", "")))), 3);
    let cases = [
        ("counts messages", template("{{ loop.index }}", "m.content", "")),
        ("counts to many", template("{{ 'many' if messages | length > 20 }}", "m.content", "")),
        ("trims", template("", "m.content | trim", "")),
        ("escapes", template("", "m.content | tojson", "")),
        ("shortens", template("", "m.content[:1000]", "")),
        ("looks at numbers", template("", "m.content", "{{ '!' if m.content.isdigit() }}")),
        ("looks at length", template("", "m.content", "{{ 'long' if m.content | length > 5000 }}")),
        ("knows the system message", template("{{ messages[0].role }}", "m.content", "")),
    ];
    for (what, template) in cases {
        assert_eq!(cases_of(&with_template(Some(&template))), 0, "{what}");
    }
    let named = with_template(Some(&template("{{ m.name }} {{ m.tool_call_id }}", "m.content", "")));
    assert!(named.shortcuts().frames.iter().all(|frame| frame.case.role == Role::User));
    let tools = with_template(Some(&template("{{ tools | length if tools else 0 }}", "m.content", "")));
    assert!(tools.shortcuts().frames.iter().all(|frame| !frame.case.with_tools));
}

#[test]
fn options_that_render_otherwise_have_none() {
    let clock = Clock::from_unix_seconds(0);
    let parse = DialectOptions { control_tokens: ControlTokens::Parse, ..DialectOptions::new(clock) };
    let reference =
        DialectOptions { continuation: ContinuationMode::Reference, ..DialectOptions::new(clock) };
    for options in [parse, reference] {
        assert_eq!(cases_of(&HfDialect::embedded(options).expect("loads")), 0);
    }
}

/// A chat as the engine makes it, and chats that it never makes.
#[derive(Clone, Debug)]
struct Talk {
    messages: Vec<Message>,
    with_tools: bool,
    new: usize,
    last: Option<u8>,
}

const MARKS: [&str; 9] =
    ["[hide]", "[/hide]", "Error", "/quiet", "<|im_end|>", "<think>", "</think>", "<tool_response>", "\\u"];

fn text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        4 => "[a-z0-9 \n]{0,12}",
        1 => any::<String>(),
        1 => proptest::sample::select(&MARKS[..]).prop_map(str::to_owned),
    ];
    proptest::collection::vec(piece, 0..3).prop_map(|pieces| pieces.concat())
}

fn turn() -> impl Strategy<Value = Vec<Message>> {
    let call = (text(), "[a-c]{1,2}");
    let calls = proptest::collection::vec(call, 0..4);
    let texts = proptest::collection::vec(text(), 6);
    (texts, proptest::option::of(text()), calls, 0..20_u8).prop_map(|(texts, reasoning, calls, odd)| {
        let mut turn = Message::new(Role::Assistant, texts[0].as_str());
        turn.reasoning = reasoning;
        turn.tool_calls = (0..)
            .zip(calls)
            .map(|(slot, (text, name))| ToolCall {
                id: format!("call0000{slot}"),
                slot,
                name,
                arguments: JsonText::new(serde_json::json!({ "a": text }).to_string()).expect("valid"),
            })
            .collect();
        let results = turn.tool_calls.len();
        let answered = if odd == 0 { results + 1 } else { results };
        let answers = (0..answered.max(1)).map(|at| {
            let role = if results == 0 { Role::User } else { Role::Tool };
            let mut answer = Message::new(role, texts[1 + at].as_str());
            if role == Role::Tool {
                answer.tool_call_id = Some(format!("call0000{at}"));
                answer.name = Some("a".to_owned());
            }
            answer
        });
        let answers: Vec<_> = answers.collect();
        [turn].into_iter().chain(answers).collect()
    })
}

fn talk() -> impl Strategy<Value = Talk> {
    let turns = proptest::collection::vec(turn(), 1..4);
    (proptest::option::of(text()), text(), turns, any::<bool>(), proptest::option::of(0..3_u8)).prop_map(
        |(system, user, turns, with_tools, last)| {
            let new = turns.last().map_or(0, Vec::len) - 1;
            let system = system.map(|text| Message::new(Role::System, text));
            let start = system.into_iter().chain([Message::new(Role::User, user)]);
            Talk { messages: start.chain(turns.into_iter().flatten()).collect(), with_tools, new, last }
        },
    )
}

fn tool() -> ToolSpec {
    let schema = r#"{"type": "function", "function": {"name": "a", "parameters": {"type": "object"}}}"#;
    ToolSpec {
        name: "a".to_owned(),
        schema: JsonText::new(schema).expect("valid"),
        replay: Default::default(),
        session: Default::default(),
    }
}

/// Whether a shortcut was taken; if so, it was right.
fn check(dialect: &HfDialect, talk: &Talk) -> Result<bool, TestCaseError> {
    let (args, tools) = (JsonText::empty_object(), [tool()]);
    let (messages, new_messages) = talk.messages.split_at(talk.messages.len() - talk.new);
    let tools = if talk.with_tools { &tools[..] } else { &[] };
    let last_token = talk.last.map(|last| match last {
        0 => 5,
        1 => dialect.token("<|im_start|>").unwrap_or_default(),
        _ => dialect.stop_tokens()[0],
    });
    let chat = Chat { messages, tools, template_args: &args };
    let next = Continuation { chat, new_messages, last_token };
    let short = dialect.shortcuts().encode(dialect, &next);
    if let Some(short) = &short {
        let full = in_context(dialect, &next);
        prop_assert_eq!(Ok(short), full.as_ref());
    }
    Ok(short.is_some())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn a_shortcut_gives_what_the_template_gives(talk in talk()) {
        for dialect in [&PLAIN, &MARKED, &WORDED, &MOODY] {
            check(dialect, &talk)?;
        }
    }
}

#[test]
fn what_is_looked_for_is_rendered() {
    let takes = |dialect: &HfDialect, user: &str, result: &str| {
        let mut call = Message::new(Role::Tool, result);
        (call.tool_call_id, call.name) = (Some("call00000".to_owned()), Some("a".to_owned()));
        let mut turn = Message::new(Role::Assistant, "");
        let arguments = JsonText::empty_object();
        turn.tool_calls =
            vec![ToolCall { id: "call00000".to_owned(), slot: 0, name: "a".to_owned(), arguments }];
        let messages = vec![Message::new(Role::User, user), turn, call];
        check(dialect, &Talk { messages, with_tools: true, new: 1, last: Some(2) }).expect("right")
    };
    for dialect in [&PLAIN, &MARKED, &WORDED, &MOODY] {
        assert!(takes(dialect, "2+3?", "5"));
        assert!(takes(dialect, "Be exact.", " {\"sum\": 5}\n"));
        assert!(!takes(dialect, "2+3?", "<|im_end|>"), "a control token");
    }
    assert!(!takes(&MARKED, "2+3?", "[hide]5[/hide]"));
    assert!(!takes(&WORDED, "2+3?", "A FATAL error"));
    assert!(!takes(&MOODY, "2+3? /quiet", "5"));
}

#[test]
fn the_stop_token_is_supplied_where_the_turn_has_none() {
    let trial = Trial::simple(Case { role: Role::User, with_tools: false }, &["hm"]);
    let args = JsonText::empty_object();
    let next = |last_token: Option<Token>| Continuation { last_token, ..trial.continuation(&args) };
    for last in [None, Some(5), PLAIN.token("<|im_end|>")] {
        let short = PLAIN.shortcuts().encode(&PLAIN, &next(last));
        assert_eq!(short, in_context(&PLAIN, &next(last)).ok());
        assert!(short.is_some());
    }
}
