//! SGLang and vLLM over HTTP.

mod abort;
mod answer;
mod api;
mod control;
mod credentials;
mod decode;
mod encode;
mod error;
mod probe;
mod report;
mod sampling;
mod server;
mod settings;
mod sse;
mod stream;
mod transport;

pub use api::{Api, Engine, EngineChoice};
pub use decode::{
    Decoded, Decoder, Label, LabelSpan, Malformed, ServerError, SglangDecoder, VllmDecoder, WireFinish,
};
pub use error::{ClientError, ErrorKind};
pub use probe::{Expectations, connect, self_test};
pub use report::{ControlReport, Report, StreamStyle};
pub use sampling::{SamplingRefused, check_sampling};
pub use server::{HttpConfig, HttpServer};
pub use settings::{CacheSalt, HttpSettings, SeedMode, SessionField};
pub use sse::{SseDecoder, SseEvent, SseTooLarge};
pub use stream::ClientStream;
