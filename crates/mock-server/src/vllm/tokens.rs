//! The answers of `/inference/v1/generate`.

use bytes::BytesMut;
use respool_core::Token;

use super::request::Facts;
use crate::MockHttpConfig;
use crate::shown::{Chunk, JsonOut, Shown};
use crate::writer::{Finish, Progress, Writer, write_spans};

/// How much less likely each alternative is than the one before.
const STEP: f32 = 0.5;

/// Writes the answers of `/inference/v1/generate`.
pub(super) struct TokenWriter {
    name: String,
    model: String,
    facts: Usage,
    prompt: Option<Vec<Token>>,
    logprobs: Option<u32>,
    has_old_logprobs: bool,
    vocab_size: u32,
}

/// Tokens of the prompt, and whether a stream tells the use.
#[derive(Clone, Copy)]
pub(super) struct Usage {
    pub(super) prompt_tokens: usize,
    pub(super) in_stream: bool,
}

impl TokenWriter {
    pub(super) fn new(config: &MockHttpConfig, name: String, facts: &Facts) -> Self {
        Self {
            name,
            model: config.model_name.clone(),
            facts: Usage { prompt_tokens: facts.prompt_tokens, in_stream: facts.has_usage },
            prompt: facts.prompt.clone(),
            logprobs: facts.logprobs,
            has_old_logprobs: config.old_logprobs,
            vocab_size: config.vocab_size,
        }
    }

    fn write_choice(&self, out: &mut BytesMut, chunk: &Chunk, progress: &Progress<'_>) {
        out.text("{\"index\":0,");
        write_finish(out, progress);
        out.text(",\"token_ids\":");
        out.list(&chunk.tokens, |out, token| out.number(*token));
        out.text(",\"routed_experts\":null,\"sampling_mask\":null,\"weight_versions\":");
        write_spans(out, progress.end.and_then(|end| end.spans));
        out.text(",\"logprobs\":");
        match self.logprobs {
            None => out.text("null"),
            Some(count) => {
                out.text("{\"content\":");
                out.list(&chunk.shown, |out, shown| self.write_logprob(out, *shown, count));
                out.text("}");
            }
        }
        out.text("}");
    }

    /// The sampled token is the most likely one, and the first of its alternatives.
    fn write_logprob(&self, out: &mut BytesMut, shown: Shown, count: u32) {
        self.open_logprob(out, shown, 1);
        out.text(",\"top_logprobs\":");
        out.list(0..count.max(1), |out, rank| {
            self.open_logprob(out, alternative(shown, rank, self.vocab_size), rank + 1);
            out.text("}");
        });
        out.text("}");
    }

    fn open_logprob(&self, out: &mut BytesMut, shown: Shown, rank: u32) {
        if self.has_old_logprobs {
            out.text("{\"token\":\"token_id:");
            out.number(shown.id);
            out.text("\",\"logprob\":");
            out.value(shown.value);
            out.text(",\"bytes\":null");
        } else {
            out.text("{\"token_id\":");
            out.number(shown.id);
            out.text(",\"logprob\":");
            out.value(shown.value);
            out.text(",\"rank\":");
            out.number(rank);
        }
    }
}

impl Writer for TokenWriter {
    fn event(&mut self, out: &mut BytesMut, chunk: &Chunk, progress: &Progress<'_>) {
        out.text("{\"request_id\":");
        out.quoted(&self.name);
        out.text(",\"usage\":null,\"output_mode\":\"tokens\",\"choices\":[");
        self.write_choice(out, chunk, progress);
        out.text("]}");
    }

    fn whole(&mut self, out: &mut BytesMut, chunk: &Chunk, progress: &Progress<'_>) {
        out.text("{\"request_id\":");
        out.quoted(&self.name);
        out.text(",\"model\":");
        out.quoted(&self.model);
        out.text(",\"created\":0,\"usage\":");
        self.facts.write(out, progress.sampled, true);
        out.text(",\"prompt_logprobs\":null,\"prompt_token_id_logprobs\":null,\"prompt_token_ids\":");
        match &self.prompt {
            Some(prompt) => out.list(prompt, |out, token| out.number(*token)),
            None => out.text("null"),
        }
        out.text(
            ",\"mm_placeholders\":null,\"metrics\":null,\"kv_transfer_params\":null,\"ec_transfer_params\":null,\
             \"output_mode\":\"tokens\",\"choices\":[",
        );
        self.write_choice(out, chunk, progress);
        out.text("]}");
    }

    fn epilogue(&self, out: &mut BytesMut, sampled: u32) -> bool {
        if self.facts.in_stream {
            out.text("{\"request_id\":");
            out.quoted(&self.name);
            out.text(",\"usage\":");
            self.facts.write(out, sampled, false);
            out.text(",\"output_mode\":\"tokens\",\"choices\":[]}");
        }
        self.facts.in_stream
    }

    fn error(&self, out: &mut BytesMut, message: &str) {
        write_error(out, message);
    }
}

impl Usage {
    pub(super) fn write(self, out: &mut BytesMut, sampled: u32, has_details: bool) {
        out.text("{\"prompt_tokens\":");
        out.number(self.prompt_tokens);
        out.text(",\"total_tokens\":");
        out.number(self.prompt_tokens + sampled as usize);
        out.text(",\"completion_tokens\":");
        out.number(sampled);
        if has_details {
            out.text(",\"prompt_tokens_details\":null,\"completion_tokens_details\":null");
        }
        out.text("}");
    }
}

/// The token that is this much less likely.
pub(super) fn alternative(shown: Shown, rank: u32, vocab_size: u32) -> Shown {
    let id = (u64::from(shown.id) + u64::from(rank)) % u64::from(vocab_size.max(1));
    let id = if rank == 0 { shown.id } else { id as Token };
    Shown { id, value: if rank == 0 { shown.value } else { shown.value.less(STEP * rank as f32) } }
}

/// `finish_reason` and `stop_reason`: a stop token is named only if the request asked for it, but
/// who reads it can use it always.
pub(super) fn write_finish(out: &mut BytesMut, progress: &Progress<'_>) {
    let finish = progress.end.map(|end| end.finish);
    match finish {
        None => out.text("\"finish_reason\":null"),
        Some(finish) => {
            out.text("\"finish_reason\":\"");
            out.text(finish.name());
            out.text("\"");
        }
    }
    out.text(",\"stop_reason\":");
    match finish {
        Some(Finish::Stop(token)) => out.number(token),
        _ => out.text("null"),
    }
}

pub(super) fn write_error(out: &mut BytesMut, message: &str) {
    out.text("{\"error\":{\"message\":");
    out.quoted(message);
    out.text(",\"type\":\"InternalServerError\",\"param\":null,\"code\":500}}");
}
