//! `respool inspect`: trajectories and snapshots, as a person wants to read them.

use std::{
    fs,
    io::{self, Write},
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::{Context, anyhow, bail};
use respool_core::{Finish, Trajectory};
use respool_dialect::HfDialect;
use respool_format::{Records, Snapshot, TrajectoryRecord};
use serde_json::json;

use crate::{args::InspectArgs, config::Config, dialect::load_dialect, out::RunDir, paint::Paint, screen};

mod view;

use self::view::View;

/// A trajectory, or a rollout that is not over.
#[derive(Debug)]
struct Item {
    record: TrajectoryRecord,
    /// The phase of a snapshot.
    state: Option<&'static str>,
}

pub(crate) fn command(args: &InspectArgs) -> anyhow::Result<ExitCode> {
    let out = &mut io::BufWriter::new(io::stdout().lock());
    let dialect = if args.json { None } else { dialect(args) };
    let view = View { paint: Paint::for_stdout(), dialect: dialect.as_ref(), tokens: args.tokens };
    let mut shown = 0;
    let mut show = |item: Item| -> anyhow::Result<bool> {
        if !is_wanted(&item, args) {
            return Ok(true);
        }
        let written = if args.json { write_json(&item, out) } else { view.write(&item, out) };
        match written {
            // Somebody has read enough, as `head` does.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => return Ok(false),
            written => written.context("cannot write to the standard output")?,
        }
        shown += 1;
        Ok(args.first.is_none_or(|first| shown < first.get()))
    };
    each_item(&args.path, &mut show)?;
    if let Err(error) = out.flush()
        && error.kind() != io::ErrorKind::BrokenPipe
    {
        return Err(error).context("cannot write to the standard output");
    }
    if shown == 0 {
        bail!("{} holds no such rollout; what failed is in failures.jsonl of its run", args.path.display());
    }
    Ok(ExitCode::SUCCESS)
}

fn is_wanted(item: &Item, args: &InspectArgs) -> bool {
    args.task.as_ref().is_none_or(|task| item.record.task_id == *task)
        && args.sample.is_none_or(|sample| item.record.sample_index == sample)
}

/// Every item of a file, or of a run's directory; until `show` has enough.
fn each_item(path: &Path, show: &mut dyn FnMut(Item) -> anyhow::Result<bool>) -> anyhow::Result<()> {
    if !path.exists() {
        bail!(
            "nothing is at {}; expected a run's directory, trajectories.jsonl or a snapshot",
            path.display()
        );
    }
    if !path.is_dir() {
        return if path.extension().is_some_and(|extension| extension == "snap") {
            show(snapshot(path)?).map(|_| ())
        } else {
            trajectories(path, show).map(|_| ())
        };
    }
    let dir = RunDir::new(path);
    if dir.trajectories().exists() && !trajectories(&dir.trajectories(), show)? {
        return Ok(());
    }
    for path in snapshots(&dir.snapshots())? {
        if !show(snapshot(&path)?)? {
            break;
        }
    }
    Ok(())
}

fn trajectories(path: &Path, show: &mut dyn FnMut(Item) -> anyhow::Result<bool>) -> anyhow::Result<bool> {
    for record in Records::open(path)? {
        if !show(Item { record: record?, state: None })? {
            return Ok(false);
        }
    }
    Ok(true)
}

fn snapshots(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    if !folder.exists() {
        return Ok(Vec::new());
    }
    let entries = fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    let mut paths = entries.map(|entry| entry.map(|entry| entry.path())).collect::<io::Result<Vec<_>>>()?;
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "snap"));
    paths.sort();
    Ok(paths)
}

fn snapshot(path: &Path) -> anyhow::Result<Item> {
    let name = path.display();
    let bytes = fs::read(path).with_context(|| format!("cannot read {name}"))?;
    let Snapshot { data, state, fingerprints: _ } =
        respool_format::decode(&bytes).map_err(|error| anyhow!("{name}: {error}"))?;
    let finish = Finish::Other("interrupted".to_owned());
    let record = TrajectoryRecord::from(&Trajectory { data, finish });
    Ok(Item { record, state: Some(state.name()) })
}

fn write_json(item: &Item, out: &mut dyn Write) -> io::Result<()> {
    match item.state {
        None => item.record.write_line(out),
        Some(state) => {
            serde_json::to_writer(&mut *out, &json!({ "state": state, "rollout": &item.record }))?;
            writeln!(out)
        }
    }
}

/// The dialect that `--model` names, else the run's own.
fn dialect(args: &InspectArgs) -> Option<HfDialect> {
    let loaded = match &args.model {
        Some(model) => {
            let mut config = Config::default();
            config.model.path = Some(model.clone());
            load_dialect(&config, 0)
        }
        None => {
            let plan = run_of(&args.path)?.read().map(|run| run.plan);
            plan.and_then(|plan| load_dialect(&plan.config, plan.started))
        }
    };
    loaded.map_err(|error| screen::warn(&format!("showing messages instead of tokens: {error:#}"))).ok()
}

/// The run that a path belongs to: itself, or the directory (of `snapshots/`) that it is in.
fn run_of(path: &Path) -> Option<RunDir> {
    path.ancestors().take(3).map(RunDir::new).find(|dir| dir.run_file().is_file())
}
