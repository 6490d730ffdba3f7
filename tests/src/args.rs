//! What the runner is asked for.

use std::path::PathBuf;

use anyhow::{Result, bail};

/// The kinds of folders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Single questions with answers, one file an area.
    Cases,
    /// Whole rollouts with the reference's output.
    Scenarios,
    /// Renderings and token ids as Python makes them.
    Goldens,
}

impl Kind {
    /// The command, and the folder's name.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Cases => "cases",
            Self::Scenarios => "scenarios",
            Self::Goldens => "goldens",
        }
    }
}

/// The runner's arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Args {
    /// What kind of folder.
    pub(crate) kind: Kind,
    /// The folder.
    pub(crate) dir: PathBuf,
    /// Where tokenizers are looked for, in this order.
    pub(crate) tokenizers: Vec<PathBuf>,
    /// Whether an absent folder, or an item that is not understood, makes the run fail.
    pub(crate) strict: bool,
}

const USAGE: &str = "expected: cases | scenarios | goldens [DIR] [--tokenizers DIR] [--strict]";

impl Args {
    /// Reads the arguments.
    ///
    /// # Errors
    /// If they are not as expected.
    pub(crate) fn parse(mut args: impl Iterator<Item = String>) -> Result<Self> {
        let kind = match args.next().as_deref() {
            Some("cases") => Kind::Cases,
            Some("scenarios") => Kind::Scenarios,
            Some("goldens") => Kind::Goldens,
            other => bail!("unknown kind {:?}, {USAGE}", other.unwrap_or("")),
        };
        let (mut dir, mut tokenizers, mut strict) = (None, Vec::new(), false);
        while let Some(arg) = args.next() {
            match arg.as_str() {
                "--strict" => strict = true,
                "--tokenizers" => match args.next() {
                    Some(folder) => tokenizers.push(PathBuf::from(folder)),
                    None => bail!("--tokenizers without a folder, {USAGE}"),
                },
                option if option.starts_with('-') => bail!("unknown option {option:?}, {USAGE}"),
                folder if dir.is_none() => dir = Some(PathBuf::from(folder)),
                surplus => bail!("{surplus:?} is a second folder, {USAGE}"),
            }
        }
        let dir = dir.unwrap_or_else(|| shared().join(kind.name()));
        tokenizers.push(dir.join("../tokenizers"));
        tokenizers.push(shared().join("tokenizers"));
        Ok(Self { kind, dir, tokenizers, strict })
    }
}

/// `../shared` beside the workspace, wherever the user is when cargo starts us.
pub(crate) fn shared() -> PathBuf {
    match std::env::var_os("CARGO_MANIFEST_DIR") {
        Some(package) => PathBuf::from(package).join("../../shared"),
        None => PathBuf::from("../shared"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Args> {
        Args::parse(line.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn folders_have_an_order() {
        let args = parse("goldens some/goldens --strict --tokenizers models").expect("arguments");
        assert_eq!((args.kind, args.strict), (Kind::Goldens, true));
        assert_eq!(
            args.tokenizers[..2],
            [PathBuf::from("models"), PathBuf::from("some/goldens/../tokenizers")]
        );
        assert_eq!(args.tokenizers.len(), 3);
    }

    #[test]
    fn the_default_folder_is_shared() {
        let args = parse("cases").expect("arguments");
        assert!(args.dir.ends_with("../shared/cases"), "{}", args.dir.display());
        assert!(!args.strict);
    }

    #[test]
    fn other_arguments_are_refused() {
        for line in ["", "case", "cases a b", "cases --tokenizers", "cases --fast"] {
            assert!(parse(line).is_err(), "{line}");
        }
    }
}
