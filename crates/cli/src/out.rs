//! A run's directory: `run.json`, `trajectories.jsonl`, `failures.jsonl` and `snapshots/`.

use std::{
    fs,
    io::Write,
    path::{Path, PathBuf},
};

use anyhow::{Context, bail};
use respool_format::FailureRecord;
use serde::{Deserialize, Serialize};

mod lines;

use self::lines::Lines;
use crate::{fingerprint::FingerprintTexts, names::Key, plan::Plan};

/// What `run.json` holds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct RunFile {
    pub(crate) respool_version: String,
    /// SHA-256 of the task file, in hex.
    pub(crate) tasks_sha256: String,
    pub(crate) fingerprints: FingerprintTexts,
    /// The command line.
    pub(crate) arguments: Vec<String>,
    pub(crate) plan: Plan,
}

/// The names in a run's directory.
#[derive(Clone, Debug)]
pub(crate) struct RunDir(PathBuf);

impl RunDir {
    pub(crate) fn new(path: &Path) -> Self {
        Self(path.to_owned())
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    pub(crate) fn run_file(&self) -> PathBuf {
        self.0.join("run.json")
    }

    pub(crate) fn trajectories(&self) -> PathBuf {
        self.0.join("trajectories.jsonl")
    }

    pub(crate) fn failures(&self) -> PathBuf {
        self.0.join("failures.jsonl")
    }

    pub(crate) fn snapshots(&self) -> PathBuf {
        self.0.join("snapshots")
    }

    pub(crate) fn snapshot(&self, key: &Key) -> PathBuf {
        self.snapshots().join(key.snapshot_name())
    }

    /// Refuses a directory that holds a run already.
    pub(crate) fn check_new(&self) -> anyhow::Result<()> {
        let dir = self.0.display();
        if self.run_file().exists() {
            bail!("{dir} holds a run already; `respool resume {dir}` finishes it, or choose another --out");
        }
        // Empty ones were left by a process that was killed before it came to its run.json.
        let is_filled = |path: PathBuf| fs::metadata(path).is_ok_and(|file| file.len() > 0);
        if is_filled(self.trajectories()) || is_filled(self.failures()) {
            bail!("{dir} holds trajectories or failures without a run.json; choose another --out");
        }
        Ok(())
    }

    /// Makes the directory with its `run.json`. Only who holds the files that grow may write it:
    /// another process may have come here at the same time.
    pub(crate) fn create(&self, run: &RunFile, repaired: &mut dyn FnMut(String)) -> anyhow::Result<Output> {
        fs::create_dir_all(&self.0).with_context(|| format!("cannot create {}", self.0.display()))?;
        let output = Output::open(self.clone(), repaired)?;
        self.check_new()?;
        let mut text = serde_json::to_vec_pretty(run)?;
        text.push(b'\n');
        write_atomically(&self.run_file(), &text)?;
        Ok(output)
    }

    pub(crate) fn read(&self) -> anyhow::Result<RunFile> {
        let path = self.run_file();
        let name = path.display();
        let text =
            fs::read(&path).with_context(|| format!("no run in {}: cannot read {name}", self.0.display()))?;
        let deserializer = &mut serde_json::Deserializer::from_slice(&text);
        serde_path_to_error::deserialize(deserializer)
            .map_err(|error| anyhow::anyhow!("{name}: {}: {}", error.path(), error.inner()))
    }

    /// Keeps a rollout for a resume.
    pub(crate) fn write_snapshot(&self, key: &Key, bytes: &[u8]) -> anyhow::Result<()> {
        let folder = self.snapshots();
        fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
        write_atomically(&self.snapshot(key), bytes)
    }

    /// Forgets a snapshot whose rollout is on disk as a trajectory or a failure.
    pub(crate) fn remove_snapshot(&self, key: &Key) -> anyhow::Result<()> {
        let path = self.snapshot(key);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(error).with_context(|| format!("cannot remove the used snapshot {}", path.display()))
            }
            _ => Ok(()),
        }
    }
}

/// The files that grow. One process at a time holds them.
#[derive(Debug)]
pub(crate) struct Output {
    dir: RunDir,
    trajectories: Lines,
    failures: Lines,
    pub(crate) failed: Vec<FailureRecord>,
}

impl Output {
    /// Opens the files and cuts what a killed process left half written. `repaired` tells of it.
    pub(crate) fn open(dir: RunDir, repaired: &mut dyn FnMut(String)) -> anyhow::Result<Self> {
        let mut open = |path: &Path| -> anyhow::Result<Lines> {
            let (lines, cut) = Lines::open(path)?;
            if cut > 0 {
                repaired(format!("{}: cut an unfinished last line of {cut} bytes", path.display()));
            }
            Ok(lines)
        };
        let trajectories = open(&dir.trajectories())?;
        let failures = open(&dir.failures())?;
        Ok(Self { dir, trajectories, failures, failed: Vec::new() })
    }

    pub(crate) fn dir(&self) -> &RunDir {
        &self.dir
    }

    /// Appends a trajectory, given as its line.
    pub(crate) fn trajectory(&mut self, key: &Key, line: &[u8], had_snapshot: bool) -> anyhow::Result<()> {
        self.trajectories.append(line)?;
        if had_snapshot {
            self.trajectories.sync()?;
            self.dir.remove_snapshot(key)?;
        }
        Ok(())
    }

    /// Appends a failure.
    pub(crate) fn failure(&mut self, record: FailureRecord) -> anyhow::Result<()> {
        let mut line = Vec::new();
        record.write_line(&mut line)?;
        self.failures.append(&line)?;
        self.failed.push(record);
        Ok(())
    }

    /// As [`Self::failure`], for a rollout that may have had a snapshot.
    pub(crate) fn failed_rollout(&mut self, key: &Key, record: FailureRecord) -> anyhow::Result<()> {
        self.failure(record)?;
        self.dir.remove_snapshot(key)
    }

    /// Everything is on disk when this returns.
    pub(crate) fn sync(&self) -> anyhow::Result<()> {
        self.trajectories.sync()?;
        self.failures.sync()
    }
}

/// The whole new content, or what was there before.
fn write_atomically(path: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    let temporary = path.with_extension("tmp");
    let write = || {
        let mut file = fs::File::create(&temporary)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&temporary, path)
    };
    write().with_context(|| format!("cannot write {}", path.display()))
}
