//! The same request gives the same shape of answer as a real engine's, where recordings are there.

use std::path::{Path, PathBuf};

use super::*;
use crate::testing::{Seen, open};

/// What the mock server does not have: chats, texts, batches, sleep, metrics; and a duplicate id,
/// which needs two requests.
const NOT_OURS: [&str; 13] = [
    "chat",
    "text_mode",
    "batch",
    "sleep",
    "wake",
    "metrics",
    "tokenize",
    "duplicate",
    "13_chat",
    "12_completions",
    "engine_death",
    "smollm2",
    "disconnects",
];

/// Long answers of which the mock server has a part.
const PARTS: [&str; 4] = ["model_info", "server_info", "loads", "models"];

#[test]
fn recorded_requests_give_recorded_shapes() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/recordings");
    if !root.is_dir() {
        println!("skipped: no recordings");
        return;
    }
    let mut compared = 0;
    for (folder, engine) in [("sglang", Engine::Sglang), ("vllm", Engine::Vllm)] {
        for path in files(&root.join(folder)) {
            compared += usize::from(compare(engine, &path));
        }
    }
    assert!(compared > 40, "{compared}");
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

/// Whether the file was compared.
fn compare(engine: Engine, path: &Path) -> bool {
    let name = path.file_name().unwrap().to_string_lossy().into_owned();
    if NOT_OURS.iter().any(|word| name.contains(word)) {
        return false;
    }
    let recording: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    let answer = &recording["response"];
    let seen = block_on(ask_again(engine, &recording["request"], answer));
    let status = answer["status_line"].as_str().unwrap().split(' ').nth(1).unwrap();
    assert_eq!(seen.status.to_string(), status, "{name}: {seen:?}");
    if let Some(chunks) = answer["http_chunks"].as_array() {
        let bytes = chunks.iter().map(|chunk| chunk.as_str().unwrap()).collect::<String>().into_bytes();
        let recorded = Seen { bytes, ..Seen::default() };
        let ((ours, our_end), (theirs, their_end)) = (seen.events(), recorded.events());
        assert_eq!(our_end, their_end, "{name}");
        for index in [0, 1] {
            same(&ours[index], &theirs[index], false, &format!("{name} event {index}"));
            let (ours, theirs) = (&ours[ours.len() - 1 - index], &theirs[theirs.len() - 1 - index]);
            same(ours, theirs, false, &format!("{name} event {index} from the end"));
        }
    } else if !answer["body"].is_null() {
        let is_part = PARTS.iter().any(|word| name.contains(word));
        same(&seen.json(), &answer["body"], is_part, &name);
    }
    true
}

/// The answer of a fresh server, which aborts where the real one did.
async fn ask_again(engine: Engine, request: &Value, answer: &Value) -> Seen {
    let mut config = counting_config(engine);
    config.model_name = "tiny".to_owned();
    config.stop_tokens = Vec::new();
    config.vocab_size = 151_936;
    config.context_length = 4096;
    if engine == Engine::Sglang {
        config.context_length = 8192;
    }
    let text = answer.to_string();
    if text.contains("\"type\":\"abort\"")
        || text.contains("finish_reason\":\"abort")
        || text.contains("abort\\\"")
    {
        let fault = HttpFault::Abort { after: 5 };
        config.faults =
            HttpFaults { script: vec![ScriptedFault { request: 0, fault }], ..HttpFaults::default() };
    }
    let server = start(config).await;
    let (method, path) = (request["method"].as_str().unwrap(), request["path"].as_str().unwrap());
    open(server.addr(), method, path, &request["body"]).await.unwrap().whole().await
}

/// Both have the same keys with values of the same kind, wherever neither is null or empty.
fn same(ours: &Value, theirs: &Value, is_part: bool, at: &str) {
    match (ours, theirs) {
        (Value::Null, _) | (_, Value::Null) => {}
        // Keyed by the texts of tokens.
        (Value::Object(_), Value::Object(_)) if at.ends_with("top_logprobs[]") && !at.contains("content") => {
        }
        (Value::Object(our), Value::Object(their)) => {
            let missing: Vec<_> = their.keys().filter(|key| !our.contains_key(*key)).collect();
            assert!(is_part || missing.is_empty(), "{at}: missing {missing:?}");
            for (key, value) in our {
                let theirs = their.get(key).unwrap_or_else(|| panic!("{at}: {key} is not in the recording"));
                same(value, theirs, is_part, &format!("{at}.{key}"));
            }
        }
        (Value::Array(our), Value::Array(their)) => {
            if let (Some(our), Some(their)) = (our.first(), their.first()) {
                same(our, their, is_part, &format!("{at}[]"));
            }
        }
        _ => {
            let kind = |value: &Value| (value.is_string(), value.is_number(), value.is_boolean());
            assert_eq!(kind(ours), kind(theirs), "{at}: {ours} for {theirs}");
        }
    }
}
