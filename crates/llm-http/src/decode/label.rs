//! Labels of weights, as an engine writes them.

use std::sync::Arc;

use respool_core::PolicyVersion;
use respool_llm::version_of_label;
use serde::Deserialize;

use super::json::Text;

/// What an engine calls its weights.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Label {
    /// One of our versions.
    Version(PolicyVersion),
    /// Anything else, such as `default`.
    Other(Arc<str>),
}

/// A stretch of an answer's tokens that were sampled under one label.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LabelSpan {
    /// Offset in the answer's tokens.
    pub start: u32,
    /// Number of tokens; not 0.
    pub len: u32,
    /// The label.
    pub label: Label,
}

/// A span as both engines write it.
#[derive(Deserialize)]
pub(super) struct RawSpan<'a> {
    #[serde(borrow)]
    version: Option<Text<'a>>,
    start: u32,
    end: u32,
}

/// Makes labels of texts. Every event of a stream repeats the same one.
#[derive(Debug, Default)]
pub(super) struct Labels {
    last: Option<Arc<str>>,
}

impl Labels {
    pub(super) fn label(&mut self, text: &Text<'_>) -> Label {
        let text: &str = &text.0;
        if let Some(version) = version_of_label(text) {
            return Label::Version(version);
        }
        if self.last.as_deref() != Some(text) {
            self.last = Some(Arc::from(text));
        }
        Label::Other(self.last.clone().unwrap_or_default())
    }

    /// Spans that are empty, or of which the label is not known, say nothing.
    pub(super) fn spans(&mut self, raw: Option<Vec<RawSpan<'_>>>) -> Vec<LabelSpan> {
        let spans = raw.into_iter().flatten().filter_map(|span| {
            let len = span.end.checked_sub(span.start).filter(|&len| len > 0)?;
            Some(LabelSpan { start: span.start, len, label: self.label(span.version.as_ref()?) })
        });
        spans.collect()
    }
}
