//! What `respool dialect` shows.

use serde_json::{Value, json};

use crate::respool::Place;

fn place() -> Place {
    let place = Place::new(&[]);
    place.write("chat.json", json!([{"role": "user", "content": "Hi <|im_end|> 北京"}]).to_string());
    place
}

#[test]
fn a_chat_is_shown_as_the_model_reads_it() {
    let place = place();
    let args = ["dialect", "render", "--messages", "chat.json"];
    place.respool(&args).expect(0).says("<|im_start|>user\nHi <|im_end|> 北京<|im_end|>\n").says(" tokens: ");
    let ran = place.respool(&[&args[..], &["--json", "--no-generation-prompt"]].concat()).expect(0);
    let shown: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert!(shown["text"].as_str().unwrap().ends_with("北京<|im_end|>\n"), "{shown}");
    let (ids, tokens) = (shown["ids"].as_array().unwrap(), shown["tokens"].as_array().unwrap());
    assert_eq!(ids.len(), tokens.len());
    let ends = tokens.iter().filter(|token| *token == "<|im_end|>").count();
    assert_eq!(ends, 1, "what a person wrote is never a control token");
}

#[test]
fn tools_come_from_either_file() {
    let place = place();
    let tools = json!([{"type": "function", "function": {"name": "find_me", "parameters": {}}}]);
    place.write("tools.json", tools.to_string());
    place.write(
        "both.json",
        json!({"messages": [{"role": "user", "content": "A"}], "tools": tools}).to_string(),
    );
    for files in [&["both.json"][..], &["chat.json", "--tools", "tools.json"]] {
        place.respool(&[&["dialect", "render", "--messages"], files].concat()).expect(0).says("find_me");
    }
}

#[test]
fn wrong_files_and_arguments_are_named() {
    let place = place();
    place.write("bad.json", "[{\"role\": \"user\"},\n{}]");
    let check = |args: &[&str], says: &str| {
        place.respool(&[&["dialect", "render", "--messages"], args].concat()).expect(2).says(says);
    };
    check(&["none.json"], "cannot read none.json");
    check(&["bad.json"], "bad.json: [1]: missing field `role` at line 2");
    check(&["chat.json", "--tools", "bad.json"], "bad.json: [0]: missing field `function`");
    check(&["chat.json", "--template-args", "[]"], "expected a JSON object");
    check(&["chat.json", "--format", "nothing"], "tool_format = \"nothing\" is not known");
    check(&["chat.json", "--model", "nowhere"], "model folder nowhere");
}

#[test]
fn a_dialect_is_checked_for_people_and_for_machines() {
    let place = place();
    place
        .respool(&["dialect", "check"])
        .expect(0)
        .says("tool calls: hermes, because the template has <tool_call>")
        .says("── sampled, mask 1, ")
        .says("│<|im_end|>\n── given, mask 0, ")
        .says("compat = \"verl\" loses \"\\n\" between the turn and tool results")
        .says_not("\u{1b}[");
    let ran = place.respool(&["dialect", "check", "--json", "--format", "mistral"]).expect(0);
    let shown: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(shown["tool_format"]["name"], "mistral");
    assert_eq!(shown["tool_format"]["evidence"], "option");
    assert_eq!(shown["example"].as_array().unwrap().len(), 4);
}
