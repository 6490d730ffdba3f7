//! What processes use, as Linux tells it, and how many files this one may open.

use anyhow::{Context, Result, bail};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Files beside the streams: pipes, the runtime's own, connections of aborts.
const OTHERS: u64 = 256;

/// CPU time in seconds, all threads, user and system.
pub(crate) fn cpu_seconds(process: u32) -> Result<f64> {
    let tasks = std::fs::read_dir(format!("/proc/{process}/task")).context("this benchmark needs Linux")?;
    let mut nanoseconds = 0.0;
    for task in tasks {
        let stat = std::fs::read_to_string(task?.path().join("schedstat"))?;
        nanoseconds += stat.split(' ').next().unwrap_or_default().parse::<f64>()?;
    }
    Ok(nanoseconds / 1e9)
}

/// Memory in use, in bytes.
pub(crate) fn resident_bytes() -> Result<u64> {
    let status = std::fs::read_to_string("/proc/self/status").context("this benchmark needs Linux")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kilobytes = line.and_then(|line| line.trim().strip_suffix(" kB")).context("no VmRSS")?;
    Ok(kilobytes.trim().parse::<u64>()? * 1024)
}

/// Raises the limit on open files as far as it goes, for this process and those it starts.
///
/// # Errors
/// If so many streams do not fit; the message says what is needed.
pub(crate) fn allow_files(streams: usize) -> Result<()> {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    if current != maximum {
        // What cannot be raised is checked below.
        let _raised = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
    }
    let needed = streams as u64 + OTHERS;
    match getrlimit(Resource::Nofile).current {
        Some(limit) if limit < needed => bail!(
            "{streams} streams need {needed} open files, and this process may have {limit}: \
             raise the limit (`ulimit -n {needed}`), or ask for less with --streams"
        ),
        _ => Ok(()),
    }
}
