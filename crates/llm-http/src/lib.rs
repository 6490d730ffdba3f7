//! SGLang and vLLM over HTTP.

mod decode;
mod error;
mod sse;

pub use decode::{
    Decoded, Decoder, Label, LabelSpan, Malformed, ServerError, SglangDecoder, VllmDecoder, WireFinish,
};
pub use error::{ClientError, ErrorKind};
pub use sse::{SseDecoder, SseEvent, SseTooLarge};
