//! `respool dialect`: how a model folder reads and writes.

use std::{process::ExitCode, time::SystemTime};

use respool_dialect::{Clock, DialectOptions};

use crate::args::{DialectArgs, DialectCommand};

mod chat_file;
mod check;
mod render;

pub(super) fn command(command: &DialectCommand) -> anyhow::Result<ExitCode> {
    match command {
        DialectCommand::Check(args) => check::command(args),
        DialectCommand::Render(args) => render::command(args),
    }
}

/// Templates that ask for a date get the day of the question.
fn options(args: &DialectArgs) -> DialectOptions {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let now = i64::try_from(since.as_secs()).unwrap_or(i64::MAX);
    let mut options = DialectOptions::new(Clock::from_unix_seconds(now));
    if let Some(format) = &args.format {
        options.tool_format.clone_from(format);
    }
    options
}
