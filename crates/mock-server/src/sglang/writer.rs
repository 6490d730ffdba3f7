//! SGLang's answers: whole, cumulative and incremental.

use std::time::{Instant, SystemTime};

use bytes::BytesMut;
use respool_core::Token;

use crate::shown::{Chunk, JsonOut, Shown};
use crate::writer::{End, Finish, Progress, Writer, write_spans};

/// What an answer holds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shape {
    pub(super) is_cumulative: bool,
    pub(super) has_logprobs: bool,
}

/// Writes SGLang's answers.
pub(super) struct SglangWriter {
    rid: String,
    prompt_tokens: usize,
    shape: Shape,
    started: Instant,
    is_first: bool,
    /// What a cumulative stream repeats, as it is written: text, ids, log-probabilities.
    text: String,
    ids: BytesMut,
    logprobs: BytesMut,
    logprob_count: usize,
    /// What an abort repeats in an incremental stream.
    last: Option<(Token, Option<Shown>)>,
}

impl SglangWriter {
    pub(super) fn new(rid: &str, prompt_tokens: usize, shape: Shape) -> Self {
        Self {
            rid: rid.to_owned(),
            prompt_tokens,
            shape,
            started: Instant::now(),
            is_first: true,
            text: String::new(),
            ids: BytesMut::new(),
            logprobs: BytesMut::new(),
            logprob_count: 0,
            last: None,
        }
    }

    /// Takes in what is new.
    fn take(&mut self, chunk: &Chunk, end: Option<End<'_>>) {
        if !self.shape.is_cumulative {
            self.text.clear();
            self.ids.clear();
            self.logprobs.clear();
        }
        self.text.push_str(&chunk.text);
        chunk.tokens.iter().for_each(|token| push_id(&mut self.ids, *token));
        chunk.shown.iter().for_each(|shown| push_logprob(&mut self.logprobs, *shown));
        self.logprob_count += chunk.shown.len();
        let is_abort = end.is_some_and(|end| end.finish == Finish::Abort);
        if let Some(token) = chunk.tokens.last() {
            self.last = Some((*token, chunk.shown.last().copied()));
        } else if is_abort && !self.shape.is_cumulative {
            self.repeat_last();
        }
    }

    /// As SGLang does where an incremental stream is aborted.
    fn repeat_last(&mut self) {
        let Some((token, shown)) = self.last else { return };
        push_id(&mut self.ids, token);
        if let Some(shown) = shown {
            push_logprob(&mut self.logprobs, shown);
        }
    }

    fn write_meta(&mut self, out: &mut BytesMut, progress: &Progress<'_>) {
        out.text("\"meta_info\":{\"id\":");
        out.quoted(&self.rid);
        out.text(",\"finish_reason\":");
        write_finish(out, progress);
        out.text(",\"prompt_tokens\":");
        out.number(self.prompt_tokens);
        out.text(",\"weight_version\":");
        out.quoted(progress.label);
        out.text(",\"num_retractions\":");
        out.number(progress.end.map_or(0, |end| end.retractions));
        if self.shape.has_logprobs {
            out.text(",\"input_token_logprobs\":[],\"output_token_logprobs\":[");
            out.extend_from_slice(&self.logprobs);
            out.text("],\"output_token_logprobs_length\":");
            out.number(self.logprob_count);
        }
        out.text(",\"reasoning_tokens\":0,\"completion_tokens\":");
        out.number(progress.sampled);
        out.text(",\"cached_tokens\":0");
        if let Some(spans) = progress.end.and_then(|end| end.spans) {
            out.text(",\"weight_versions\":");
            write_spans(out, Some(spans));
        }
        out.text(",\"cached_tokens_details\":null,\"dp_rank\":null");
        if progress.end.is_some() {
            out.text(",\"e2e_latency\":");
            out.float(self.started.elapsed().as_secs_f64());
        }
        if std::mem::replace(&mut self.is_first, false) {
            out.text(",\"response_sent_to_client_ts\":");
            let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
            out.float(now.map_or(0.0, |now| now.as_secs_f64()));
        }
        out.text("}");
    }

    /// The answer to a request that never ran.
    fn write_queue_abort(&self, out: &mut BytesMut) {
        out.text("{\"text\":\"\",\"output_ids\":[],\"meta_info\":{\"id\":");
        out.quoted(&self.rid);
        out.text(
            ",\"finish_reason\":{\"type\":\"abort\",\"message\":\"Abort in waiting queue\",\"status_code\":null,\
             \"err_type\":null}}}",
        );
    }
}

impl Writer for SglangWriter {
    fn event(&mut self, out: &mut BytesMut, chunk: &Chunk, progress: &Progress<'_>) {
        let is_abort = progress.end.is_some_and(|end| end.finish == Finish::Abort);
        if is_abort && progress.sampled == 0 {
            return self.write_queue_abort(out);
        }
        self.take(chunk, progress.end);
        out.text("{\"text\":");
        out.quoted(&self.text);
        out.text(",\"output_ids\":[");
        out.extend_from_slice(&self.ids);
        out.text("],");
        self.write_meta(out, progress);
        out.text("}");
    }

    fn whole(&mut self, out: &mut BytesMut, chunk: &Chunk, progress: &Progress<'_>) {
        self.event(out, chunk, progress);
    }

    fn error(&self, out: &mut BytesMut, message: &str) {
        out.text("{\"error\":{\"message\":");
        out.quoted(message);
        out.text(",\"type\":\"InternalServerError\",\"code\":500,\"retryable\":true}}");
    }
}

fn separate(out: &mut BytesMut) {
    if !out.is_empty() {
        out.text(",");
    }
}

fn push_id(out: &mut BytesMut, token: Token) {
    separate(out);
    out.number(token);
}

fn push_logprob(out: &mut BytesMut, shown: Shown) {
    separate(out);
    out.text("[");
    out.value(shown.value);
    out.text(",");
    out.number(shown.id);
    out.text(",null]");
}

fn write_finish(out: &mut BytesMut, progress: &Progress<'_>) {
    match progress.end.map(|end| end.finish) {
        None => out.text("null"),
        Some(Finish::Stop(token)) => {
            out.text("{\"type\":\"stop\",\"matched\":");
            out.number(token);
            out.text("}");
        }
        Some(Finish::Length) => {
            out.text("{\"type\":\"length\",\"length\":");
            out.number(progress.sampled);
            out.text("}");
        }
        Some(Finish::Abort) => {
            out.text("{\"type\":\"abort\",\"message\":\"Aborted\",\"status_code\":null,\"err_type\":null}")
        }
    }
}
