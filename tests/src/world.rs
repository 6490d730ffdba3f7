//! A world that does what a script says: a server that answers request by request, and tools that
//! take their time. Everything else in a run is the real thing.

pub(crate) mod server;
pub(crate) mod tools;

use std::future::Future;

use anyhow::Result;

/// Runs a future where time passes only when everybody waits.
///
/// # Errors
/// If there is no runtime to run it on.
pub(crate) fn block_on<T>(future: impl Future<Output = T>) -> Result<T> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build()?;
    Ok(runtime.block_on(future))
}
