//! A family's dialect, loaded when the first golden needs it.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::OnceLock;

use respool_core::ControlTokens;
use respool_dialect::{Clock, DialectOptions, HfDialect, Template};
use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::args::Args;
use crate::report::Verdict;
use crate::{clock, item, tokenizers};

/// What a file says about all of its goldens.
#[derive(Debug, Deserialize)]
pub(super) struct Header {
    clock: Option<String>,
    family: Option<String>,
    #[serde(default)]
    special_tokens: BTreeMap<String, SpecialToken>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum SpecialToken {
    Text(String),
    /// Lists such as `additional_special_tokens`: no template reads one.
    List(IgnoredAny),
}

/// The models of a file's goldens.
#[derive(Debug)]
pub(super) struct Family {
    name: Option<String>,
    tokenizers: Vec<PathBuf>,
    templates: PathBuf,
    clock: Clock,
    special_tokens: Vec<(String, String)>,
    parse: OnceLock<Result<HfDialect, Verdict>>,
    plain: OnceLock<Result<HfDialect, Verdict>>,
}

impl Family {
    /// The family that a file's header names, of the folder that `args` name.
    ///
    /// # Errors
    /// If the clock is not understood.
    pub(super) fn new(header: Header, args: &Args) -> Result<Self, Verdict> {
        let texts = header.special_tokens.into_iter().filter_map(|(name, token)| match token {
            SpecialToken::Text(text) => Some((name, text)),
            SpecialToken::List(_) => None,
        });
        Ok(Self {
            name: header.family,
            tokenizers: args.tokenizers.clone(),
            templates: args.dir.join("templates"),
            clock: clock::read_or_unset(header.clock.as_deref())?,
            special_tokens: texts.collect(),
            parse: OnceLock::new(),
            plain: OnceLock::new(),
        })
    }

    /// The variables such as `bos_token` that templates see.
    pub(super) fn special_tokens(&self) -> &[(String, String)] {
        &self.special_tokens
    }

    /// The family's dialect, with control strings in messages as that option says.
    ///
    /// # Errors
    /// If it is not built, not there or cannot be loaded.
    pub(super) fn dialect(&self, control_tokens: ControlTokens) -> Result<&HfDialect, Verdict> {
        let loaded = match control_tokens {
            ControlTokens::Parse => &self.parse,
            ControlTokens::Plain => &self.plain,
        };
        loaded.get_or_init(|| self.load(control_tokens)).as_ref().map_err(Clone::clone)
    }

    fn load(&self, control_tokens: ControlTokens) -> Result<HfDialect, Verdict> {
        let not_understood = || Verdict::NotUnderstood("the file names no family".to_owned());
        let name = self.name.as_deref().ok_or_else(not_understood)?;
        let folder = tokenizers::find(name, &self.tokenizers)?;
        let options = DialectOptions { control_tokens, ..DialectOptions::new(self.clock) };
        HfDialect::load(&folder, options).map_err(|error| Verdict::Fail(error.to_string()))
    }

    /// A template that comes without a tokenizer.
    ///
    /// # Errors
    /// If it is not there or does not compile.
    pub(super) fn template(&self, name: &str) -> Result<Template, Verdict> {
        let path = self.templates.join(name);
        let is_a_name = !name.contains(['/', '\\']) && !name.starts_with('.');
        if !is_a_name || !path.is_file() {
            return Err(Verdict::Skipped(format!("no template {name:?} in {}", self.templates.display())));
        }
        let source = item::read(&path)?;
        Template::new(name, &source, self.clock).map_err(|error| Verdict::Fail(error.to_string()))
    }
}
