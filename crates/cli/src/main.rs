//! The binary `respool`: from a task file to finished trajectories, interruptible at any token.

mod args;
mod commands;
mod config;
mod dialect;
mod files;
mod fingerprint;
mod inspect;
mod names;
mod out;
mod paint;
mod plan;
mod policy;
mod prepare;
mod progress;
mod rollouts;
mod screen;
mod servers;
mod setup;
mod signals;
mod stats;
mod summary;
mod tasks;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    let cli = args::Cli::parse();
    screen::trace();
    commands::dispatch(cli.command).unwrap_or_else(|error| {
        screen::error(&error);
        ExitCode::from(commands::USAGE)
    })
}
