//! Goldens: renderings, token ids and continuations as Python makes them, one file a family.

mod continuation;
mod conversation;
mod family;
mod refusal;

use std::path::Path;
use std::sync::Arc;

use anyhow::Result;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::args::Args;
use crate::item::{self, Item};
use crate::report::Verdict;
use family::{Family, Header};

#[derive(Debug, Deserialize)]
struct Lists {
    #[serde(default)]
    conversations: Vec<Box<RawValue>>,
    #[serde(default)]
    continuations: Vec<Box<RawValue>>,
    /// Renderings of templates that come without a tokenizer.
    #[serde(default)]
    goldens: Vec<Box<RawValue>>,
}

/// What a golden gives: `Ok` is a pass.
type Checked = Result<(), Verdict>;

/// How the goldens of a list are checked.
type Check = fn(&RawValue, &Family) -> Checked;

/// All goldens of a folder.
///
/// # Errors
/// If the folder cannot be read.
pub(crate) fn items(args: &Args) -> Result<Vec<Item>> {
    Ok(item::json_files(&args.dir)?.iter().flat_map(|path| file_items(path, args)).collect())
}

fn file_items(path: &Path, args: &Args) -> Vec<Item> {
    let name = item::stem(path);
    let read = || {
        let text = item::read(path)?;
        let header: Header = item::parse(&text)?;
        let lists: Lists = item::parse(&text)?;
        Ok((Family::new(header, args)?, lists))
    };
    let (family, lists) = match read() {
        Ok(read) => read,
        Err(verdict) => return vec![Item::known(name, verdict)],
    };
    let family = Arc::new(family);
    let checks: [(Vec<_>, Check); 3] = [
        (lists.conversations, conversation::check),
        (lists.continuations, continuation::check),
        (lists.goldens, conversation::check_template),
    ];
    let raws = checks.into_iter().flat_map(|(raws, check)| raws.into_iter().map(move |raw| (raw, check)));
    let items = raws.enumerate().map(|(index, (raw, check))| {
        let family = Arc::clone(&family);
        Item::new(item::id_of(&raw, &name, index), move || {
            check(&raw, &family).err().unwrap_or(Verdict::Pass)
        })
    });
    items.collect()
}
