//! The answers of `/v1/completions`.

use bytes::BytesMut;
use respool_core::Token;

use super::request::Facts;
use super::tokens::{Usage, alternative, write_error, write_finish};
use crate::shown::{Chunk, JsonOut, Shown};
use crate::writer::{Progress, Writer, write_spans};
use crate::{Decoder, MockHttpConfig};

/// Writes the answers of `/v1/completions`.
pub(super) struct CompletionWriter {
    name: String,
    model: String,
    usage: Usage,
    /// The prompt, until it was told; token ids are told if there is one.
    prompt: Option<Vec<Token>>,
    returns_ids: bool,
    logprobs: Option<u32>,
    tokens_as_ids: bool,
    decode: Option<Decoder>,
    tells_versions: bool,
    vocab_size: u32,
    /// Characters of text so far.
    offset: usize,
}

impl CompletionWriter {
    pub(super) fn new(config: &MockHttpConfig, name: String, facts: &Facts, tokens_as_ids: bool) -> Self {
        Self {
            name,
            model: config.model_name.clone(),
            usage: Usage { prompt_tokens: facts.prompt_tokens, in_stream: facts.has_usage },
            prompt: facts.prompt.clone(),
            returns_ids: facts.prompt.is_some(),
            logprobs: facts.logprobs,
            tokens_as_ids,
            decode: config.decode.clone(),
            // 0.32 has none on this route.
            tells_versions: config.reports_versions && !config.holds_while_paused,
            vocab_size: config.vocab_size,
            offset: 0,
        }
    }

    fn open(&self, out: &mut BytesMut) {
        out.text("{\"id\":");
        out.quoted(&self.name);
        out.text(",\"object\":\"text_completion\",\"created\":0,\"model\":");
        out.quoted(&self.model);
        out.text(",\"choices\":[");
    }

    fn write_choice(&mut self, out: &mut BytesMut, chunk: &Chunk, progress: &Progress<'_>, is_whole: bool) {
        out.text("{\"index\":0,\"text\":");
        out.quoted(&chunk.text);
        out.text(",\"logprobs\":");
        match self.logprobs {
            Some(count) => self.write_logprobs(out, &chunk.shown, count),
            None => out.text("null"),
        }
        out.text(",");
        write_finish(out, progress);
        out.text(",\"prompt_token_ids\":");
        match self.prompt.take() {
            Some(prompt) => out.list(&prompt, |out, token| out.number(*token)),
            None => out.text("null"),
        }
        out.text(",\"token_ids\":");
        if self.returns_ids {
            out.list(&chunk.tokens, |out, token| out.number(*token));
        } else {
            out.text("null");
        }
        if is_whole {
            out.text(",\"prompt_logprobs\":null,\"routed_experts\":null");
        }
        if self.tells_versions {
            out.text(",\"weight_versions\":");
            write_spans(out, progress.end.and_then(|end| end.spans));
        }
        out.text("}");
    }

    fn write_logprobs(&mut self, out: &mut BytesMut, shown: &[Shown], count: u32) {
        let names: Vec<String> = shown.iter().map(|shown| self.name_of(shown.id)).collect();
        out.text("{\"text_offset\":");
        out.list(&names, |out, name| {
            out.number(self.offset);
            self.offset += name.chars().count();
        });
        out.text(",\"token_logprobs\":");
        out.list(shown, |out, shown| out.value(shown.value));
        out.text(",\"tokens\":");
        out.list(&names, |out, name| out.quoted(name));
        out.text(",\"top_logprobs\":");
        out.list(shown, |out, shown| self.write_alternatives(out, *shown, count));
        out.text("}");
    }

    fn write_alternatives(&self, out: &mut BytesMut, shown: Shown, count: u32) {
        out.text("{");
        for rank in 0..count.max(1) {
            if rank > 0 {
                out.text(",");
            }
            let alternative = alternative(shown, rank, self.vocab_size);
            out.quoted(&self.name_of(alternative.id));
            out.text(":");
            out.value(alternative.value);
        }
        out.text("}");
    }

    /// A token as a text: its own where there is a decoder and no id is asked for.
    fn name_of(&self, token: Token) -> String {
        match &self.decode {
            Some(decode) if !self.tokens_as_ids => decode(&[token]),
            _ => format!("token_id:{token}"),
        }
    }
}

impl Writer for CompletionWriter {
    fn event(&mut self, out: &mut BytesMut, chunk: &Chunk, progress: &Progress<'_>) {
        self.open(out);
        self.write_choice(out, chunk, progress, false);
        out.text("]");
        if progress.end.is_some() {
            out.text(",\"system_fingerprint\":\"mock\"");
        }
        out.text("}");
    }

    fn whole(&mut self, out: &mut BytesMut, chunk: &Chunk, progress: &Progress<'_>) {
        self.open(out);
        self.write_choice(out, chunk, progress, true);
        out.text("],\"service_tier\":null,\"system_fingerprint\":\"mock\",\"usage\":");
        self.usage.write(out, progress.sampled, true);
        out.text(",\"kv_transfer_params\":null,\"ec_transfer_params\":null,\"metrics\":null}");
    }

    fn epilogue(&self, out: &mut BytesMut, sampled: u32) -> bool {
        if self.usage.in_stream {
            self.open(out);
            out.text("],\"usage\":");
            self.usage.write(out, sampled, false);
            out.text("}");
        }
        self.usage.in_stream
    }

    fn error(&self, out: &mut BytesMut, message: &str) {
        write_error(out, message);
    }
}
