//! Scenarios: whole rollouts, compared with what the reference made of them.

mod compare;
mod input;
mod right;
mod run;
mod tools;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Result;

use crate::args::Args;
use crate::item::{self, Item};
use crate::report::Verdict;
use input::{Expected, Scenario};

/// With which options a scenario is run, and which output it is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// `compat = "verl"`, against the reference of January 2026.
    Reference,
    /// The same with `continuation = template` and `truncate_side = cut`, against verl 0.9.1.
    Template,
}

impl Way {
    const fn name(self) -> &'static str {
        match self {
            Self::Reference => "reference",
            Self::Template => "template",
        }
    }

    const fn folder(self) -> &'static str {
        match self {
            Self::Reference => "expected",
            Self::Template => "expected_template_exact",
        }
    }
}

/// All scenarios of a folder, each in both ways.
///
/// # Errors
/// If the folder cannot be read.
pub(crate) fn items(args: &Args) -> Result<Vec<Item>> {
    let tokenizers: Arc<[PathBuf]> = args.tokenizers.clone().into();
    let both = |path: &PathBuf| [Way::Reference, Way::Template].map(|way| item_of(path, way, &tokenizers));
    Ok(item::json_files(&args.dir)?.iter().flat_map(both).collect())
}

fn item_of(path: &Path, way: Way, tokenizers: &Arc<[PathBuf]>) -> Item {
    let name = item::stem(path);
    let (path, tokenizers) = (path.to_owned(), Arc::clone(tokenizers));
    Item::new(format!("{name}/{}", way.name()), move || {
        check(&path, &name, way, &tokenizers).err().unwrap_or(Verdict::Pass)
    })
}

fn check(path: &Path, name: &str, way: Way, tokenizers: &[PathBuf]) -> Result<(), Verdict> {
    let scenario: Scenario = item::parse(&item::read(path)?)?;
    if scenario.format != "agent-loop-scenario/1" {
        return Err(Verdict::NotUnderstood(format!("format {:?}", scenario.format)));
    }
    let expected = expected(path, way.folder(), name)?;
    let facts = run::run(&scenario, way, tokenizers)?;
    if let Some(rule) = right::by_rule(name) {
        return rule.check(&facts, &expected, way);
    }
    match (&scenario.verl_fault, &scenario.right_equals, way) {
        (Some(_), Some(right), Way::Reference) => {
            compare::tokens(&facts, &self::expected(path, way.folder(), right)?)
        }
        (Some(fault), None, Way::Reference) => {
            Err(Verdict::NotUnderstood(format!("verl_fault without right_equals: {fault}")))
        }
        (Some(_), _, Way::Template) | (None, _, _) => compare::all(&facts, &expected),
    }
}

/// The reference's output of that name.
fn expected(path: &Path, folder: &str, name: &str) -> Result<Expected, Verdict> {
    let path = path.with_file_name(folder).join(format!("{name}.json"));
    match fs::read_to_string(&path) {
        Ok(text) => item::parse(&text),
        Err(error) => Err(Verdict::Skipped(format!("no {folder}/{name}.json: {error}"))),
    }
}
