//! Who depends on whom.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use anyhow::{Context, Result};
use serde_json::Value;

/// The packages that the workspace builds from, and their arrows. Dev-dependencies are none.
#[derive(Debug, Default)]
pub(super) struct Graph {
    /// The workspace's own packages, sorted.
    pub(super) members: Vec<String>,
    /// From each package to those that it uses, by name.
    arrows: BTreeMap<String, BTreeSet<String>>,
}

impl Graph {
    /// Reads what `cargo metadata` prints.
    ///
    /// # Errors
    /// If it has another form than expected.
    pub(super) fn from_metadata(json: &[u8]) -> Result<Self> {
        let metadata: Value = serde_json::from_slice(json).context("cargo metadata printed no JSON")?;
        let mut graph = Self::default();
        let mut names = BTreeMap::new();
        for package in list(&metadata, "packages")? {
            names.insert(text(package, "id")?, text(package, "name")?);
        }
        let name_of = |id: &str| names.get(id).copied().with_context(|| format!("package {id} has no entry"));
        for member in list(&metadata, "workspace_members")? {
            graph
                .members
                .push(name_of(member.as_str().context("a workspace member is no text")?)?.to_owned());
        }
        graph.members.sort();
        // What a member declares counts even where a feature leaves it out today.
        for package in list(&metadata, "packages")? {
            if graph.members.iter().any(|member| text(package, "name").is_ok_and(|name| name == member)) {
                for dependency in list(package, "dependencies")? {
                    if dependency["kind"] != "dev" {
                        graph.arrow(text(package, "name")?, text(dependency, "name")?);
                    }
                }
            }
        }
        for node in list(&metadata["resolve"], "nodes")? {
            for dependency in list(node, "deps")? {
                if list(dependency, "dep_kinds")?.iter().any(|kind| kind["kind"] != "dev") {
                    graph.arrow(name_of(text(node, "id")?)?, name_of(text(dependency, "pkg")?)?);
                }
            }
        }
        Ok(graph)
    }

    /// Adds an arrow.
    pub(super) fn arrow(&mut self, from: &str, to: &str) {
        self.arrows.entry(from.to_owned()).or_default().insert(to.to_owned());
    }

    /// What a package uses itself.
    pub(super) fn uses(&self, from: &str) -> impl Iterator<Item = &str> {
        self.arrows.get(from).into_iter().flatten().map(String::as_str)
    }

    /// The shortest way from one package to another, both included.
    pub(super) fn path<'a>(&'a self, from: &'a str, to: &str) -> Option<Vec<&'a str>> {
        let mut seen = BTreeSet::from([from]);
        let mut ways = VecDeque::from([vec![from]]);
        while let Some(way) = ways.pop_front() {
            let last = *way.last()?;
            if last == to {
                return Some(way);
            }
            for next in self.uses(last) {
                if seen.insert(next) {
                    ways.push_back([way.as_slice(), &[next]].concat());
                }
            }
        }
        None
    }
}

fn list<'a>(value: &'a Value, key: &str) -> Result<&'a Vec<Value>> {
    value[key].as_array().with_context(|| format!("cargo metadata: {key} is no list"))
}

fn text<'a>(value: &'a Value, key: &str) -> Result<&'a str> {
    value[key].as_str().with_context(|| format!("cargo metadata: {key} is no text"))
}
