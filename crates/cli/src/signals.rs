//! Ctrl-C and SIGTERM: the first one leaves every rollout where it is, the second one exits at once.

use std::io::Write;

use anyhow::Context;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

/// Exit code of a process that was interrupted.
pub(crate) const INTERRUPTED: u8 = 130;

/// Cancels the token at the first signal.
pub(crate) fn listen() -> anyhow::Result<CancellationToken> {
    let mut interrupt = signal(SignalKind::interrupt()).context("cannot listen to Ctrl-C")?;
    let mut terminate = signal(SignalKind::terminate()).context("cannot listen to SIGTERM")?;
    let stop = CancellationToken::new();
    let stopped = stop.clone();
    #[expect(
        clippy::disallowed_methods,
        reason = "holds nothing but the signals, and lives as long as the process"
    )]
    let _listener = tokio::spawn(async move {
        for is_first in [true, false] {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
            }
            if !is_first {
                std::process::exit(i32::from(INTERRUPTED));
            }
            // Where nobody reads any more there is nobody to tell.
            let _written = writeln!(
                std::io::stderr(),
                "\ninterrupting: every rollout is left where it is (again to exit at once, losing what is in flight)"
            );
            stop.cancel();
        }
    });
    Ok(stopped)
}
