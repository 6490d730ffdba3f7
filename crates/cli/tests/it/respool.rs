//! A directory with task files, and the binary on it.

use std::{
    fs,
    path::PathBuf,
    process::{Child, Command, Output, Stdio},
};

use serde_json::{Value, json};

/// A temporary directory with a configuration that uses everything.
pub(crate) struct Place {
    dir: tempfile::TempDir,
}

pub(crate) const CONFIG: &str = "
[tools.calculator]
[reward]
kind = \"gsm8k\"
[policy]
error_rate = 0.5
token_latency = \"0ms\"
";

impl Place {
    pub(crate) fn new(tasks: &[Value]) -> Self {
        let place = Self { dir: tempfile::tempdir().unwrap() };
        place.write("respool.toml", CONFIG);
        place.write("tasks.jsonl", lines(tasks));
        place
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        fs::write(self.path(name), content).unwrap();
    }

    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_respool"));
        command.current_dir(self.dir.path()).args(args).stdin(Stdio::null());
        for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("RESPOOL_")) {
            command.env_remove(name);
        }
        command
    }

    pub(crate) fn respool(&self, args: &[&str]) -> Ran {
        Ran::new(self.command(args).output().unwrap())
    }

    pub(crate) fn start(&self, args: &[&str]) -> Child {
        self.command(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    /// The objects in a file of lines.
    pub(crate) fn jsonl(&self, name: &str) -> Vec<Value> {
        let text = fs::read_to_string(self.path(name)).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    pub(crate) fn json(&self, name: &str) -> Value {
        serde_json::from_slice(&fs::read(self.path(name)).unwrap()).unwrap()
    }

    pub(crate) fn snapshots(&self, out: &str) -> Vec<String> {
        let Ok(entries) = fs::read_dir(self.path(out).join("snapshots")) else { return Vec::new() };
        let mut names: Vec<_> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// Waits until a file has so many whole lines. The process must be running.
    pub(crate) fn wait_for_lines(&self, name: &str, count: usize, child: &mut Child) {
        loop {
            let found = fs::read(self.path(name)).unwrap_or_default();
            if found.iter().filter(|byte| **byte == b'\n').count() >= count {
                return;
            }
            assert!(child.try_wait().unwrap().is_none(), "it ended before {name} had {count} lines");
            std::thread::yield_now();
        }
    }
}

/// What a process said.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Ran {
    pub(crate) fn new(output: Output) -> Self {
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Self { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
    }

    #[track_caller]
    pub(crate) fn expect(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{self:#?}");
        self
    }

    #[track_caller]
    pub(crate) fn says_not(self, text: &str) -> Self {
        assert!(!self.stdout.contains(text) && !self.stderr.contains(text), "said: {text}\n{self:#?}");
        self
    }

    pub(crate) fn says(self, text: &str) -> Self {
        assert!(self.stdout.contains(text) || self.stderr.contains(text), "not said: {text}\n{self:#?}");
        self
    }
}

pub(crate) fn lines(rows: &[Value]) -> String {
    rows.iter().map(|row| format!("{row}\n")).collect()
}

/// A row with two calculator calls.
pub(crate) fn row(index: u32) -> Value {
    let sum = index + 2;
    let answer = format!("First <<{index}+2={sum}>>{sum} eggs.\nThen <<{sum}*3={0}>>{0}.\n#### {0}", sum * 3);
    json!({
        "data_source": "test/eggs",
        "prompt": [{"role": "system", "content": "Use the calculator."}, {"role": "user", "content": "How many?"}],
        "reward_model": {"style": "rule", "ground_truth": (sum * 3).to_string()},
        "extra_info": {"split": "test", "index": index, "answer": answer},
    })
}

/// A row that takes long: so many words before each of its calls.
pub(crate) fn long_row(index: u32, words: usize) -> Value {
    let mut row = row(index);
    let answer = row["extra_info"]["answer"].as_str().unwrap();
    let text = "counting slowly ".repeat(words);
    row["extra_info"]["answer"] = format!("{text}{answer}").into();
    row
}

pub(crate) fn key(record: &Value) -> (String, u64) {
    (record["task_id"].as_str().unwrap().to_owned(), record["sample_index"].as_u64().unwrap())
}
