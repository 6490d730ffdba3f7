//! Finds at load which continuations need no rendering: a frame is learned from one chat and tried
//! on many others, in each of which it must give what rendering in context gives.

use std::collections::HashMap;

use aho_corasick::{AhoCorasick, BuildError};
use respool_core::{Continuation, ContinuationMode, ControlTokens, DialectError, Encoded, JsonText, Role};

use crate::dialect::HfDialect;
use crate::literals::{is_peculiar, literals};
use crate::report::Continues;
use crate::shortcut::{Case, Frame, Shortcuts};
use crate::trial::{self, Trial};

/// What may be appended without rendering; nothing if the options or the tokenizer forbid it.
pub(crate) fn shortcuts(dialect: &HfDialect) -> Shortcuts {
    found(dialect).unwrap_or_default()
}

fn found(dialect: &HfDialect) -> Option<Shortcuts> {
    let options = &dialect.options;
    if options.continuation != ContinuationMode::Template
        || options.control_tokens != ControlTokens::Plain
        || !dialect.vocabulary.controls().are_verbatim()
    {
        return None;
    }
    let (common, mut watched) = watched_and_common(dialect)?;
    let frames = cases(dialect).filter_map(|case| Frame::learn(dialect, case)).collect();
    let mut shortcuts = Shortcuts { frames, watched: finder(&watched).ok() };
    let tried = shortcuts.frames.iter().filter(|frame| frame.holds(dialect, &shortcuts)).cloned();
    shortcuts.frames = tried.collect();
    if shortcuts.frames.is_empty() {
        return None;
    }
    watched.extend(common.into_iter().filter(|literal| {
        let trials = shortcuts.frames.iter().flat_map(|frame| trial::with_literal(frame.case, literal));
        !agree(dialect, &shortcuts, trials)
    }));
    shortcuts.watched = finder(&watched).ok();
    Some(shortcuts)
}

/// Tool results need tools, and what the report calls otherwise than append-only is not tried.
fn cases(dialect: &HfDialect) -> impl Iterator<Item = Case> {
    let report = dialect.continuations();
    let all = [
        (&report.tool, Case { role: Role::Tool, with_tools: true }),
        (&report.user, Case { role: Role::User, with_tools: true }),
        (&report.user, Case { role: Role::User, with_tools: false }),
    ];
    all.into_iter().filter(|(continues, _)| **continues == Continues::AppendOnly).map(|(_, case)| case)
}

/// The literals of the templates: those that are too common in messages to be watched for, and
/// what is watched for, as a message spells it and as the arguments of a call do.
fn watched_and_common(dialect: &HfDialect) -> Option<(Vec<String>, Vec<String>)> {
    let mut all = literals(dialect.template(false).source())?;
    all.extend(literals(dialect.template(true).source())?);
    let (mut watched, mut common): (Vec<String>, Vec<String>) =
        all.into_iter().partition(|literal| is_peculiar(literal));
    common.sort();
    common.dedup();
    // What is reported as a change depends on these; and JSON can hide any letter behind the others.
    watched.extend(["think>", "\\u", "\\/"].map(str::to_owned));
    Some((common, watched))
}

fn finder(watched: &[String]) -> Result<AhoCorasick, BuildError> {
    let in_json = watched.iter().map(|text| serde_json::Value::from(text.as_str()).to_string());
    let in_json: Vec<String> = in_json.map(|quoted| quoted[1..quoted.len() - 1].to_owned()).collect();
    AhoCorasick::builder().ascii_case_insensitive(true).build(watched.iter().chain(&in_json))
}

impl Frame {
    fn learn(dialect: &HfDialect, case: Case) -> Option<Self> {
        let [one, two] = ["the one", "the other"];
        let (stop, single) = appended(dialect, &Trial::simple(case, &[one])).ok()?;
        let (open, close) = single.split_once(one)?;
        let between = match case.role {
            Role::Tool => {
                let (_, pair) = appended(dialect, &Trial::simple(case, &[one, two])).ok()?;
                let (before, after) = pair.split_once(one)?;
                let (between, after) = after.split_once(two)?;
                (before == open && after == close).then(|| between.to_owned())?
            }
            Role::System | Role::Developer | Role::User | Role::Assistant => String::new(),
        };
        let whole = format!("{stop}{open}{one}{between}{one}{close}");
        let pieces = dialect.vocabulary.controls().split(&whole).map(|(piece, _)| piece);
        let mut known = HashMap::new();
        for piece in pieces.filter(|piece| !piece.contains(one)) {
            let ids = dialect.vocabulary.encode_pieces(piece, &HashMap::new()).ok()?;
            known.insert(piece.to_owned(), ids);
        }
        Some(Self { case, stop, open: open.to_owned(), between, close: close.to_owned(), known })
    }

    /// Whether the frame is right for every chat that is tried.
    fn holds(&self, dialect: &HfDialect, shortcuts: &Shortcuts) -> bool {
        let stop = dialect.token(&self.stop);
        let Some(watched) = &shortcuts.watched else { return false };
        let controls = dialect.vocabulary.controls();
        let texts = trial::texts(|text| !watched.is_match(text) && controls.find(text, 0).is_none());
        !texts.is_empty() && agree(dialect, shortcuts, trial::all(self.case, &texts, stop))
    }
}

/// Whether every trial comes out as in context, where a shortcut would be taken at all.
fn agree(dialect: &HfDialect, shortcuts: &Shortcuts, mut trials: impl Iterator<Item = Trial>) -> bool {
    let args = JsonText::empty_object();
    trials.all(|trial| {
        let next = trial.continuation(&args);
        let short = shortcuts.encode(dialect, &next);
        short.is_none_or(|short| in_context(dialect, &next).is_ok_and(|full| full == short))
    })
}

/// What the template gives.
pub(crate) fn in_context(
    dialect: &HfDialect,
    continuation: &Continuation<'_>,
) -> Result<Encoded, DialectError> {
    dialect.with_next(continuation, |next| dialect.encode_in_context(next))
}

/// The turn's end and the text after it.
fn appended(dialect: &HfDialect, trial: &Trial) -> Result<(String, String), DialectError> {
    dialect.with_next(&trial.continuation(&JsonText::empty_object()), |next| {
        let in_context = dialect.in_context(next)?;
        Ok((in_context.cut.stop.clone(), in_context.opaque.reveal(&in_context.cut.suffix).text))
    })
}

#[cfg(test)]
mod tests;
