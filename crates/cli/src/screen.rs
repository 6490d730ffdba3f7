//! Lines for people: results to stdout, everything else to stderr.

use std::io::{self, IsTerminal, Write};

use tracing_subscriber::EnvFilter;

/// A line of result. Where nobody reads any more there is nobody to tell.
pub(crate) fn say(line: &str) {
    let _written = writeln!(io::stdout(), "{line}");
}

/// Something that a person should know and that stops nothing.
pub(crate) fn warn(line: &str) {
    let _written = writeln!(io::stderr(), "warning: {line}");
}

/// Why it ended.
pub(crate) fn error(error: &anyhow::Error) {
    let _written = writeln!(io::stderr(), "error: {error:#}");
}

/// Whether nobody said `NO_COLOR`.
pub(crate) fn wants_colours() -> bool {
    std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

/// Traces go to stderr; `RESPOOL_LOG` says which.
pub(crate) fn trace() {
    let filter = EnvFilter::try_from_env("RESPOOL_LOG").unwrap_or_else(|_| EnvFilter::new("warn"));
    let has_colours = io::stderr().is_terminal() && wants_colours();
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(io::stderr).with_ansi(has_colours).init();
}
