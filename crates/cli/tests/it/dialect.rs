//! What `respool dialect` shows.

use base64::{Engine as _, prelude::BASE64_STANDARD};
use serde_json::{Value, json};

use crate::respool::{Place, row};

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

/// The 256 bytes, and control tokens behind them.
fn tiktoken_folder(place: &Place) {
    let ranks: String =
        (0..=u8::MAX).map(|byte| format!("{} {byte}\n", BASE64_STANDARD.encode([byte]))).collect();
    std::fs::create_dir(place.path("model")).unwrap();
    place.write("model/tiktoken.model", ranks);
    let added = json!({"256": {"content": "<|im_start|>", "special": true},
        "258": {"content": "<|im_end|>", "special": true}});
    let template = "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}\
        {% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}";
    let config = json!({"tokenizer_class": "TikTokenTokenizer", "eos_token": "<|im_end|>",
        "added_tokens_decoder": added, "chat_template": template});
    place.write("model/tokenizer_config.json", config.to_string());
}

#[test]
fn a_folder_with_tiktoken_ranks_is_a_model_folder() {
    let place = Place::new(&[row(1), row(2)]);
    place.write("chat.json", json!([{"role": "user", "content": "Hi <|im_end|> 北京"}]).to_string());
    tiktoken_folder(&place);
    let args = ["dialect", "render", "--messages", "chat.json", "--model", "model", "--json"];
    let ran = place.respool(&args).expect(0);
    let shown: Value = serde_json::from_str(&ran.stdout).unwrap();
    let ids: Vec<u64> = shown["ids"].as_array().unwrap().iter().filter_map(Value::as_u64).collect();
    assert_eq!((ids[0], ids[1]), (256, u64::from(b'u')));
    assert_eq!(ids.iter().filter(|id| **id == 258).count(), 1, "what a person spells is text: {ids:?}");
    place
        .respool(&["run", "tasks.jsonl", "--out", "out", "--model", "model"])
        .expect(0)
        .says("2 finished, 0 failed");
}
