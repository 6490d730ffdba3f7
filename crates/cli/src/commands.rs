//! The subcommands.

use std::process::ExitCode;

use crate::args::Command;

mod check;
mod compare;
mod dialect;
mod execute;
mod mock_server;
mod resume;
mod run;
mod verify;

/// Some rollouts or rows failed, or what was compared differs.
pub(crate) const FAILED: u8 = 1;
/// A wrong argument, configuration or directory.
pub(crate) const USAGE: u8 = 2;

/// Does what was asked. An error is the user's to mend: nothing was run.
pub(crate) fn dispatch(command: Command) -> anyhow::Result<ExitCode> {
    match command {
        Command::Run(args) => run::command(&args),
        Command::Resume(args) => resume::command(&args),
        Command::Inspect(args) => crate::inspect::command(&args),
        Command::Compare(args) => compare::command(&args),
        Command::Verify(args) => verify::command(&args),
        Command::Check(args) => check::command(&args),
        Command::Dialect(command) => dialect::command(&command),
        Command::MockServer(args) => mock_server::command(&args),
    }
}
