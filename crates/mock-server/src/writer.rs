//! What turns tokens into an engine's JSON.

use std::sync::Arc;

use bytes::BytesMut;
use respool_core::Token;

use crate::LabelSpan;
use crate::shown::{Chunk, JsonOut};

/// How far an answer is.
#[derive(Debug)]
pub(crate) struct Progress<'a> {
    /// Tokens sampled so far, this chunk's included.
    pub(crate) sampled: u32,
    /// What the weights are called.
    pub(crate) label: &'a Arc<str>,
    /// How it ended, if it did.
    pub(crate) end: Option<End<'a>>,
}

/// The end of an answer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct End<'a> {
    pub(crate) finish: Finish,
    /// Labels of all tokens; `None` if the server does not tell.
    pub(crate) spans: Option<&'a [LabelSpan]>,
    /// How often a pause sent it back to the queue.
    pub(crate) retractions: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Finish {
    Stop(Token),
    Length,
    Abort,
}

impl Finish {
    /// OpenAI's word for it.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Stop(_) => "stop",
            Self::Length => "length",
            Self::Abort => "abort",
        }
    }
}

/// Writes one answer. It may remember what it wrote.
pub(crate) trait Writer: Send {
    /// The JSON of one event of a stream.
    fn event(&mut self, out: &mut BytesMut, chunk: &Chunk, progress: &Progress<'_>);

    /// The JSON of a whole answer.
    fn whole(&mut self, out: &mut BytesMut, chunk: &Chunk, progress: &Progress<'_>);

    /// The JSON of an event that follows the last one.
    fn epilogue(&self, _out: &mut BytesMut, _sampled: u32) -> bool {
        false
    }

    /// The JSON of an error event.
    fn error(&self, out: &mut BytesMut, message: &str);
}

/// `weight_versions` as a list, or null.
pub(crate) fn write_spans(out: &mut BytesMut, spans: Option<&[LabelSpan]>) {
    let Some(spans) = spans else { return out.text("null") };
    out.list(spans, |out, span| {
        out.text("{\"version\":");
        out.quoted(&span.label);
        out.text(",\"start\":");
        out.number(span.start);
        out.text(",\"end\":");
        out.number(span.end);
        out.text("}");
    });
}
