//! Finding the tokenizers that test data names.

use std::path::PathBuf;

use crate::report::Verdict;

/// The folder of the tokenizer of that name, in the first of the folders that has it.
///
/// # Errors
/// Where none has: the item is skipped.
pub(crate) fn find(name: &str, folders: &[PathBuf]) -> Result<PathBuf, Verdict> {
    let is_a_name = !name.contains(['/', '\\']) && !name.starts_with('.') && !name.is_empty();
    let found = folders.iter().map(|folder| folder.join(name)).find(|path| is_a_name && path.is_dir());
    found.ok_or_else(|| {
        let folders: Vec<_> = folders.iter().map(|folder| folder.display().to_string()).collect();
        Verdict::Skipped(format!("no tokenizer {name:?} in {}", folders.join(", ")))
    })
}
