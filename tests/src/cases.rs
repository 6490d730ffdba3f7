//! Cases: single questions with their answers, one file an area.

mod expected;
mod http_stream;
mod state_machine;
mod template_tokenizer;
mod tool_parser;
mod tools_mcp_sandbox;

use std::path::Path;

use anyhow::Result;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::args::Args;
use crate::item::{self, Item};
use crate::report::Verdict;

/// A case, its area's part not read yet.
#[derive(Debug, Deserialize)]
struct Case {
    area: Option<String>,
    input: Box<RawValue>,
    expected: Box<RawValue>,
}

/// What an area makes of a case: `Ok` is a pass.
type Checked = Result<(), Verdict>;

/// All cases of a folder.
///
/// # Errors
/// If the folder cannot be read.
pub(crate) fn items(args: &Args) -> Result<Vec<Item>> {
    Ok(item::json_files(&args.dir)?.iter().flat_map(|path| file_items(path)).collect())
}

fn file_items(path: &Path) -> Vec<Item> {
    let file = item::stem(path);
    let raws = item::read(path).and_then(|text| item::parse::<Vec<Box<RawValue>>>(&text));
    let raws = match raws {
        Ok(raws) => raws,
        Err(verdict) => return vec![Item::known(file, verdict)],
    };
    let items = raws.into_iter().enumerate().map(|(index, raw)| {
        let (id, area) = (item::id_of(&raw, &file, index), file.clone());
        Item::new(id, move || check(&raw, &area).err().unwrap_or(Verdict::Pass))
    });
    items.collect()
}

/// Hands a case to its area; a case that names none is of its file's.
fn check(raw: &RawValue, file: &str) -> Checked {
    let case: Case = item::parse(raw.get())?;
    match case.area.as_deref().unwrap_or(file) {
        "state_machine" => state_machine::check(&case),
        "template_tokenizer" => template_tokenizer::check(&case),
        "tool_parser" => tool_parser::check(&case),
        "tools_mcp_sandbox" => tools_mcp_sandbox::check(&case),
        "http_stream" => http_stream::check(&case),
        "scheduling_durability" => Err(Verdict::NotBuilt),
        area => Err(Verdict::NotUnderstood(format!("unknown area {area:?}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_raw(case: &str, expected: fn(&Verdict) -> bool) {
        let raw = RawValue::from_string(case.to_owned()).expect("json");
        let verdict = check(&raw, "http_stream").err().unwrap_or(Verdict::Pass);
        assert!(expected(&verdict), "{case}: {verdict:?}");
    }

    #[test]
    fn a_case_of_another_form_is_not_understood() {
        let not_understood = |verdict: &Verdict| matches!(verdict, Verdict::NotUnderstood(_));
        check_raw("7", not_understood);
        check_raw(r#"{"id": "X-1", "input": {}}"#, not_understood);
        check_raw(r#"{"area": "poetry", "input": {}, "expected": {}}"#, not_understood);
        check_raw(r#"{"area": "tool_parser", "input": [], "expected": {}}"#, not_understood);
        check_raw(r#"{"input": {}, "expected": {}}"#, not_understood);
    }
}
