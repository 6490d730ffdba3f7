//! Asking a server with the real client, and what came of it.

use std::sync::Arc;

use futures_util::StreamExt;
use respool_core::{
    EffectId, Fault, GenerateEvent, GenerateFinish, GenerateRequest, Logprob, PolicyVersion, RolloutId,
    Sampling, Token, VersionSpan,
};
use respool_llm::{ServerCall, WireIds};
use respool_llm_http::{Api, ClientError, HttpConfig, HttpServer, HttpSettings};
use respool_stack::{GenerateCall, GenerateService};
use tokio_util::sync::CancellationToken;
use tower::ServiceExt;

/// Everything that the client gave.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Collected {
    pub(crate) tokens: Vec<Token>,
    pub(crate) logprobs: Vec<Logprob>,
    /// The label of each token, before `spans` change it.
    pub(crate) versions: Vec<PolicyVersion>,
    pub(crate) spans: Vec<VersionSpan>,
    pub(crate) finish: Option<GenerateFinish>,
    /// Why the client gave up.
    pub(crate) error: Option<ClientError>,
    /// Why the service did.
    pub(crate) fault: Option<Fault>,
}

/// When the generation is aborted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AbortAt {
    Never,
    FirstToken,
}

/// A request for what follows these tokens.
pub(crate) fn request(prompt_ids: Vec<Token>, max_tokens: u32) -> GenerateRequest {
    GenerateRequest {
        rollout: RolloutId(0xab),
        effect: EffectId { turn: 0, slot: 0, attempt: 0 },
        prompt_ids,
        turn_tokens: 0,
        max_tokens,
        stop_token_ids: Arc::from([]),
        sampling: Arc::new(Sampling::default()),
        seed: 0,
    }
}

/// Ids with nonces that count up.
pub(crate) fn wire_ids() -> WireIds {
    let sent = std::sync::atomic::AtomicU64::new(0);
    WireIds::new(move || sent.fetch_add(1, std::sync::atomic::Ordering::Relaxed))
}

/// The client of a server at that URL.
///
/// # Errors
/// If the client does not take the URL.
pub(crate) fn client(url: &str, api: Api) -> Result<HttpServer, ClientError> {
    let config = HttpConfig { model: Some("model".to_owned()), ..HttpConfig::new(url, api) };
    HttpServer::new(config, HttpSettings::default())
}

/// Sends the request and reads the answer to its end.
pub(crate) async fn ask(server: &HttpServer, request: GenerateRequest, abort_at: AbortAt) -> Collected {
    let abort = CancellationToken::new();
    let call =
        ServerCall { request, abort: abort.clone(), version: PolicyVersion(0), ids: Arc::new(wire_ids()) };
    let mut all = Collected::default();
    let mut stream = match server.stream(call).await {
        Ok(stream) => stream,
        Err(error) => return Collected { error: Some(error), ..all },
    };
    while let Some(item) = stream.next().await {
        match item {
            Ok(event) => all.take(event),
            Err(error) => all.error = Some(error),
        }
        if abort_at == AbortAt::FirstToken && !all.tokens.is_empty() {
            abort.cancel();
        }
    }
    all
}

/// Everything that a service gives, aborted after so many tokens.
pub(crate) async fn collect(
    service: &GenerateService,
    request: GenerateRequest,
    abort: &CancellationToken,
    after: usize,
) -> Collected {
    let mut all = Collected::default();
    let call = GenerateCall { request, abort: abort.clone() };
    let mut stream = match service.clone().oneshot(call).await {
        Ok(stream) => stream,
        Err(fault) => return Collected { fault: Some(fault), ..all },
    };
    while let Some(item) = stream.next().await {
        match item {
            Ok(event) => all.take(event),
            Err(fault) => all.fault = Some(fault),
        }
        if all.tokens.len() >= after {
            abort.cancel();
        }
    }
    all
}

impl Collected {
    fn take(&mut self, event: GenerateEvent) {
        match event {
            GenerateEvent::Delta(delta) => {
                self.versions.extend(delta.tokens.iter().map(|_| delta.version));
                self.tokens.extend(delta.tokens);
                self.logprobs.extend(delta.logprobs);
            }
            GenerateEvent::Versions { spans, .. } => self.spans.extend(spans),
            GenerateEvent::Ended(finish) => self.finish = Some(finish),
        }
    }
}

/// A finish in the words of the test data; a stream without one was interrupted.
pub(crate) fn finish_word(finish: Option<&GenerateFinish>) -> &'static str {
    match finish {
        Some(GenerateFinish::Stop) => "stop",
        Some(GenerateFinish::Length | GenerateFinish::ContextLength) => "length",
        Some(GenerateFinish::Abort) => "abort",
        Some(GenerateFinish::Repetition | GenerateFinish::Other(_)) => "other",
        None => "interrupted",
    }
}
