//! What the bytes of an answer say: one event of a stream, or a whole body.

mod failure;
mod finish;
mod json;
mod label;
mod scan;
mod sglang;
mod vllm;

use respool_core::{Logprob, Token};

pub use self::failure::ServerError;
pub use self::finish::WireFinish;
pub(crate) use self::json::quote_event;
pub use self::label::{Label, LabelSpan};
pub use self::sglang::SglangDecoder;
pub use self::vllm::VllmDecoder;
use crate::ErrorKind;

/// What one event says. In a stream, what it says that earlier ones did not.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Decoded {
    /// New tokens.
    pub tokens: Vec<Token>,
    /// One for each of `tokens`.
    pub logprobs: Vec<Logprob>,
    /// The weights in force, if the engine says.
    pub label: Option<Label>,
    /// Which weights sampled which tokens of the whole answer; empty if the engine does not say.
    pub spans: Vec<LabelSpan>,
    /// Why the generation ended, if it did.
    pub finish: Option<WireFinish>,
    /// The prompt as the engine read it, if it echoes it.
    pub prompt_ids: Option<Vec<Token>>,
}

/// An event that is not what the wire format says.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Malformed {
    /// [`ErrorKind::InvalidResponse`] or [`ErrorKind::MissingTokenIds`].
    pub kind: ErrorKind,
    /// What was found, what was expected.
    pub message: String,
}

impl Malformed {
    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self { kind: ErrorKind::InvalidResponse, message: message.into() }
    }

    fn missing_ids(flag: &str) -> Self {
        Self {
            kind: ErrorKind::MissingTokenIds,
            message: format!(
                "the answer has text but no token ids (text is never tokenized again); \
                 expected {flag}: something between us and the engine may strip it"
            ),
        }
    }
}

/// The decoder of an engine's answer.
#[derive(Debug)]
pub enum Decoder {
    /// SGLang's `/generate`.
    Sglang(SglangDecoder),
    /// vLLM's `/inference/v1/generate` and `/v1/completions`.
    Vllm(VllmDecoder),
}

impl Decoder {
    /// Reads the next event, or a whole body.
    ///
    /// # Errors
    /// If it is not what the wire format says.
    pub fn decode(&mut self, event: &[u8]) -> Result<Decoded, Malformed> {
        match self {
            Self::Sglang(decoder) => decoder.decode(event),
            Self::Vllm(decoder) => decoder.decode(event),
        }
    }

    /// The request's name as the server knows it, once it said.
    #[must_use]
    pub fn request_id(&self) -> Option<&str> {
        match self {
            Self::Sglang(decoder) => decoder.request_id(),
            Self::Vllm(decoder) => decoder.request_id(),
        }
    }

    /// Whether the events repeat earlier ones, as far as seen.
    #[must_use]
    pub fn is_cumulative(&self) -> bool {
        match self {
            Self::Sglang(decoder) => decoder.is_cumulative(),
            Self::Vllm(_) => false,
        }
    }
}

#[cfg(test)]
mod tests;
