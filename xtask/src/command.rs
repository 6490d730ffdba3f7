//! Starting other programs.

use std::ffi::OsStr;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

/// A command that says what it is before it runs.
pub(crate) struct Shown(Command);

/// The cargo that started us, in the workspace's root or wherever the user is.
pub(crate) fn cargo<'a>(args: impl IntoIterator<Item = &'a str>) -> Shown {
    let program = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(program);
    command.args(args);
    Shown(command)
}

/// The runner binary of `tests/`, on a folder of test data.
pub(crate) fn runner(kind: &str, args: &[String]) -> Result<()> {
    cargo(["run", "--quiet", "-p", "respool-tests", "--bin", "respool-tests", "--", kind]).args(args).run()
}

/// The workspace's root: the folder above this package.
pub(crate) fn root() -> Result<PathBuf> {
    let manifest = std::env::var_os("CARGO_MANIFEST_DIR")
        .context("CARGO_MANIFEST_DIR is not set, expected to be started as `cargo xtask`")?;
    let mut root = PathBuf::from(manifest);
    root.pop();
    Ok(root)
}

/// Whether the program starts and says that it is well.
pub(crate) fn works(program: &str, args: &[&str]) -> bool {
    let quiet = Command::new(program).args(args).stdout(Stdio::null()).stderr(Stdio::null()).status();
    quiet.is_ok_and(|status| status.success())
}

impl Shown {
    /// A program by its name.
    pub(crate) fn new<'a>(program: &str, args: impl IntoIterator<Item = &'a str>) -> Self {
        let mut command = Command::new(program);
        command.args(args);
        Self(command)
    }

    pub(crate) fn args(mut self, args: &[String]) -> Self {
        self.0.args(args);
        self
    }

    pub(crate) fn env(mut self, key: &str, value: &str) -> Self {
        self.0.env(key, value);
        self
    }

    /// Runs it, with our own input and outputs.
    ///
    /// # Errors
    /// If it does not start, or ends with another status than 0.
    pub(crate) fn run(mut self) -> Result<()> {
        let line = self.line();
        eprintln!("$ {line}");
        let status = self.0.status().with_context(|| format!("cannot start `{line}`"))?;
        if !status.success() {
            bail!("`{line}` failed ({status})");
        }
        Ok(())
    }

    /// Runs it and gives what it wrote.
    ///
    /// # Errors
    /// As [`Self::run`].
    pub(crate) fn output(mut self) -> Result<Vec<u8>> {
        let line = self.line();
        let output = self.0.stderr(Stdio::inherit()).output();
        let output = output.with_context(|| format!("cannot start `{line}`"))?;
        if !output.status.success() {
            bail!("`{line}` failed ({})", output.status);
        }
        Ok(output.stdout)
    }

    fn line(&self) -> String {
        let settings = self.0.get_envs().filter_map(|(key, value)| {
            value.map(|value| format!("{}=\"{}\"", key.to_string_lossy(), value.to_string_lossy()))
        });
        let program = PathBuf::from(self.0.get_program());
        let program = program.file_name().map_or_else(|| program.as_os_str().to_owned(), OsStr::to_owned);
        let words = std::iter::once(program.as_os_str()).chain(self.0.get_args());
        let words = words.map(|word| word.to_string_lossy().into_owned());
        settings.chain(words).collect::<Vec<_>>().join(" ")
    }
}
