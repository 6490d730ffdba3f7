//! SGLang and vLLM over HTTP, token for token.
//!
//! [`connect`] tests a server before use and gives an [`HttpServer`], which implements
//! [`LlmServer`](respool_llm::LlmServer). What reads the answers ([`SseDecoder`], [`SglangDecoder`],
//! [`VllmDecoder`]) does no I/O and can be used alone.
//!
#![doc = include_str!("sampling.md")]
//!
//! It is deliberately not a pool: it sends a request once, to one server, and never again; which
//! server, and what happens after a failure, others decide. It knows no text and no tools.
//!
//! *Invariant:* every token that a server delivered is given out once, with its own
//! log-probability or an explicit *missing*, however the stream ends; what cannot be told for
//! certain is an error, never a guess.
//!
//! ```
//! use respool_core::Logprob;
//! use respool_llm_http::{SglangDecoder, WireFinish};
//!
//! // By default every event of SGLang repeats all tokens.
//! let mut decoder = SglangDecoder::new();
//! let event = br#"{"output_ids": [5], "meta_info": {"completion_tokens": 1,
//!     "output_token_logprobs": [[-0.5, 5, null]], "finish_reason": null}}"#;
//! assert_eq!(decoder.decode(event).unwrap().tokens, [5]);
//! let event = br#"{"output_ids": [5, 6], "meta_info": {"completion_tokens": 2,
//!     "output_token_logprobs": [[-0.5, 5, null], [NaN, 6, null]], "finish_reason": {"type": "abort"}}}"#;
//! let last = decoder.decode(event).unwrap();
//! assert_eq!((last.tokens, last.logprobs), (vec![6], vec![Logprob::MISSING]));
//! assert_eq!(last.finish, Some(WireFinish::Abort));
//! ```

//!
//! A pool of tested servers, and what one request gives (with `respool-llm`, `respool-core`, `tower` and
//! `futures-util`; inside a tokio runtime):
//!
//! ```no_run
//! use std::sync::Arc;
//! use futures_util::StreamExt;
//! use respool_core::{GenerateRequest, PolicyVersion};
//! use respool_llm::{ContinueSettings, Pool, PoolSettings, ServerManager, WireIds, continued};
//! use respool_llm_http::{EngineChoice, Expectations, HttpSettings, connect};
//! use respool_stack::GenerateCall;
//! use tower::ServiceExt;
//!
//! # async fn example(request: GenerateRequest, nonce: fn() -> u64) -> Result<(), Box<dyn std::error::Error>> {
//! // Every nonce has to be another one: an engine refuses an id that it has seen.
//! let pool = Pool::new(PoolSettings::default(), WireIds::new(nonce), 0, PolicyVersion(0));
//! let (server, report) =
//!     connect("http://localhost:8000", EngineChoice::Auto, &Expectations::default(), HttpSettings::default()).await?;
//! println!("{report}");
//! pool.add(Arc::new(server))?;
//! // `generate` is the trait's; `continued` asks for the rest where a stream breaks.
//! let service = continued(pool.generate(), ContinueSettings::default());
//! let mut events = service.oneshot(GenerateCall { request, abort: Default::default() }).await?;
//! while let Some(event) = events.next().await {
//!     println!("{:?}", event?);
//! }
//! # Ok(())
//! # }
//! ```

mod abort;
mod answer;
mod api;
mod config;
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

#[cfg(test)]
mod corpus;
#[cfg(test)]
mod testing;

pub use api::{Api, Engine, EngineChoice};
pub use config::HttpConfig;
pub use decode::{
    Decoded, Decoder, Label, LabelSpan, Malformed, ServerError, SglangDecoder, VllmDecoder, WireFinish,
};
pub use error::{ClientError, ErrorKind};
pub use probe::{Expectations, connect, self_test};
pub use report::{ControlReport, Report, StreamStyle};
pub use sampling::{SamplingRefused, check_sampling};
pub use server::HttpServer;
pub use settings::{CacheSalt, HttpSettings, SeedMode, SessionField};
pub use sse::{SseDecoder, SseEvent, SseTooLarge};
pub use stream::ClientStream;
