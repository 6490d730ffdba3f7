//! `cargo xtask layers`: the arrows between crates are those of the design.

mod graph;
mod rules;

use anyhow::{Result, bail};

use crate::command::cargo;
use graph::Graph;

/// Checks the workspace.
///
/// # Errors
/// With every arrow that breaks a rule, by crate, path and rule.
pub(crate) fn run() -> Result<()> {
    let graph = read()?;
    let faults = rules::check(&graph);
    if faults.is_empty() {
        println!("layers: {} crates, every arrow allowed", graph.members.len());
        return Ok(());
    }
    bail!("{} arrows are not allowed\n  {}", faults.len(), faults.join("\n  "));
}

/// The names of the workspace's packages.
///
/// # Errors
/// If cargo does not tell.
pub(crate) fn packages() -> Result<Vec<String>> {
    Ok(read()?.members)
}

fn read() -> Result<Graph> {
    Graph::from_metadata(&cargo(["metadata", "--format-version", "1", "--quiet"]).output()?)
}

#[cfg(test)]
mod tests;
