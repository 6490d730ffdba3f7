use crate::{Clock, HfDialect};

use super::*;

const LIST: &str = r#"{"eos_token": "<|im_end|>", "chat_template": [
    {"name": "rag", "template": "rag<|im_end|>"}, {"name": "default", "template": "plain<|im_end|>"},
    {"name": "tool_use", "template": "tools<|im_end|>"}]}"#;

fn load(
    config: &str,
    files: &[(&str, &str)],
    change: impl FnOnce(&mut DialectOptions),
) -> Result<HfDialect, String> {
    let mut options = DialectOptions::new(Clock::from_unix_seconds(0));
    change(&mut options);
    let additional: Vec<_> =
        files.iter().map(|(name, source)| ((*name).to_owned(), (*source).to_owned())).collect();
    let parts = Parts {
        name: "m",
        tokenizer: include_str!("../../embedded/tokenizer.json"),
        tokenizer_config: config,
        chat_template: None,
        additional_templates: &additional,
        generation_config: None,
        model_config: None,
    };
    HfDialect::from_parts(&parts, options).map_err(|error| error.to_string())
}

/// The templates without and with tools.
#[track_caller]
fn check(loaded: Result<HfDialect, String>, expected: [&str; 2]) {
    let dialect = loaded.expect("loads");
    let found = [false, true].map(|with_tools| dialect.template(with_tools).source().to_owned());
    assert_eq!(found, expected.map(|name| format!("{name}<|im_end|>")));
}

#[test]
fn chats_with_tools_have_their_own_template() {
    check(load(LIST, &[], |_| {}), ["plain", "tools"]);
    check(load(LIST, &[("tool_use", "file<|im_end|>")], |_| {}), ["plain", "file"]);
}

#[test]
fn a_template_is_chosen_by_name() {
    check(load(LIST, &[], |options| options.template_name = Some("rag".to_owned())), ["rag", "rag"]);
    let named = load(LIST, &[], |options| options.template_name = Some("chat".to_owned()));
    assert_eq!(
        named.unwrap_err(),
        "template_name = \"chat\": the model folder has no such chat template; it has default, rag, tool_use"
    );
    let lacking = r#"{"chat_template": [{"name": "rag", "template": ""}]}"#;
    let lacking = load(lacking, &[], |_| {}).unwrap_err();
    assert!(lacking.ends_with("or template_name where they have names, found rag"), "{lacking}");
    let wrong = load(r#"{"chat_template": [{"name": "rag"}]}"#, &[], |_| {}).unwrap_err();
    assert!(wrong.contains("expected a text or a list of {name, template}"), "{wrong}");
}

#[test]
fn additional_templates_are_files_by_their_names() {
    let folder = std::env::temp_dir().join(format!("respool-named-{}", std::process::id()));
    std::fs::create_dir_all(folder.join(FOLDER)).expect("a folder");
    std::fs::write(folder.join(FOLDER).join("tool_use.jinja"), "x").expect("a file");
    std::fs::write(folder.join(FOLDER).join("notes.txt"), "y").expect("a file");
    let found = additional(&folder).expect("read");
    std::fs::remove_dir_all(&folder).expect("removed");
    assert_eq!(found, [("tool_use".to_owned(), "x".to_owned())]);
    assert!(additional(&folder).expect("none").is_empty());
}
