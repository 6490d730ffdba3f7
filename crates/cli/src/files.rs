//! The limit on open files: every stream of a server is one.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Files beside the streams: output, snapshots, what the runtime keeps.
const OTHERS: u64 = 64;
/// Files that a stream can need: while it is aborted and has not ended, its successor may be open.
const OF_A_STREAM: u64 = 2;
/// Files for each server beside its streams: probes, control calls, aborts.
const OF_A_SERVER: u64 = 64;

/// Raises the soft limit as far as it goes and checks that so many streams to so many servers fit.
///
/// # Errors
/// If they do not; the message says what is needed.
pub(crate) fn allow(streams: u64, servers: u64) -> anyhow::Result<()> {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    if current != maximum {
        // What cannot be raised is checked below.
        let _raised = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
    }
    let of_streams = streams.saturating_mul(OF_A_STREAM);
    let needed = of_streams.saturating_add(servers.saturating_mul(OF_A_SERVER)).saturating_add(OTHERS);
    match getrlimit(Resource::Nofile).current {
        Some(limit) if limit < needed => anyhow::bail!(
            "{streams} streams at a time need {needed} open files, and this process may have {limit}; lower the \
             concurrency, or raise the limit (`ulimit -n {needed}`, or LimitNOFILE of the service)"
        ),
        _ => Ok(()),
    }
}
