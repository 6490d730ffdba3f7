use respool_core::{Chat, Continuation, Dialect, DialectError, JsonText, Message, Role, ToolCall};

use crate::{Clock, DialectOptions, HfDialect};

/// Takes tool messages only after an assistant message with calls, and nothing beside those.
const STRICT: &str = "{% set ns = namespace(call=none) %}{% for m in messages %}\
    {% if m.role == 'tool' %}\
    {% if ns.call is none %}{{ raise_exception('no call before') }}{% endif %}\
    <{{ ns.call }}>{{ m.content }}<|im_end|>\
    {% elif m.tool_calls %}\
    {% if m.content %}{{ raise_exception('text beside calls') }}{% endif %}\
    {% set ns.call = m.tool_calls[0].function.name %}{{ m.tool_calls | tojson }}<|im_end|>\
    {% else %}{% set ns.call = none %}{{ m.role }}:{{ m.content }}<|im_end|>{% endif %}\
    {% endfor %}{% if add_generation_prompt %}assistant:{% endif %}";

fn result(name: Option<&str>) -> Message {
    let mut result = Message::new(Role::Tool, "Error: not JSON");
    result.tool_call_id = Some("c00000000".to_owned());
    result.name = name.map(str::to_owned);
    result
}

fn said(text: &str) -> Message {
    Message::new(Role::Assistant, text)
}

#[track_caller]
fn check(chat: &[Message], new: &[Message], expected: Result<&str, &str>) {
    let mut options = DialectOptions::new(Clock::from_unix_seconds(0));
    options.template = Some(STRICT.to_owned());
    options.tool_format = "hermes".to_owned();
    let dialect = HfDialect::embedded(options).expect("loads");
    let args = JsonText::empty_object();
    let suffix = dialect.encode_continuation(&Continuation {
        chat: Chat { messages: chat, tools: &[], template_args: &args },
        new_messages: new,
        last_token: dialect.token("<|im_end|>"),
    });
    match (suffix, expected) {
        (Ok(suffix), Ok(expected)) => assert_eq!(dialect.decode(&suffix.tokens), expected),
        (Err(DialectError { message, .. }), Err(expected)) => {
            assert!(message.contains(expected), "{message}")
        }
        (found, expected) => panic!("expected {expected:?}, found {found:?}"),
    }
}

#[test]
fn malformed_calls_are_answered_where_the_template_wants_calls() {
    let user = || Message::new(Role::User, "2+3?");
    let chat = [user(), said("")];
    check(&chat, &[result(Some("add"))], Ok("<add>Error: not JSON<|im_end|>assistant:"));
    check(&chat, &[result(None)], Ok("<unknown>Error: not JSON<|im_end|>assistant:"));
    let chat = [user(), said("I add them.")];
    check(&chat, &[result(Some("add"))], Ok("<add>Error: not JSON<|im_end|>assistant:"));
    // The same turn may be long past.
    let chat = [user(), said("hm"), result(Some("add")), said("5")];
    check(&chat, &[user()], Ok("user:2+3?<|im_end|>assistant:"));
}

#[test]
fn other_refusals_stay() {
    let call = ToolCall {
        id: "c00000000".to_owned(),
        slot: 0,
        name: "add".to_owned(),
        arguments: JsonText::empty_object(),
    };
    let turn = Message { tool_calls: vec![call], ..said("I add them.") };
    check(&[Message::new(Role::User, "2+3?"), turn], &[result(Some("add"))], Err("text beside calls"));
}
