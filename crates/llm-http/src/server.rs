//! One SGLang or vLLM server.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use futures_util::future::BoxFuture;
use futures_util::{FutureExt, TryFutureExt, TryStreamExt};
use http::{Response, StatusCode};
use hyper::body::Incoming;
use respool_core::{Fault, GenerateFinish, GenerateRequest, PolicyVersion};
use respool_llm::{ControlFuture, Controls, LlmServer, Load, ModelInfo, ServerCall, WeightSync};
use respool_stack::GenerateStream;
use tokio::sync::Semaphore;
use tokio_util::sync::WaitForCancellationFutureOwned;

use crate::abort::{ABORTS, AbortGuard, Aborting};
use crate::answer::{Answer, Facts, Prompt, server_error};
use crate::encode::{Envelope, encode};
use crate::stream::{ClientStream, Generation};
use crate::transport::Transport;
use crate::{Api, ClientError, Engine, ErrorKind, HttpConfig, HttpSettings, check_sampling};

/// What the clones of a server share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) transport: Transport,
    pub(crate) api: Api,
    pub(crate) settings: HttpSettings,
    pub(crate) facts: Arc<Facts>,
    pub(crate) model: Option<String>,
    pub(crate) weight_label: Option<String>,
    pub(crate) controls: Controls,
    /// The version that was last set through us, and whether there was one.
    pub(crate) last_version: AtomicU64,
    /// Whether it holds running requests.
    pub(crate) is_holding: AtomicBool,
    /// Each abort that is on its way has one.
    pub(crate) aborts: Semaphore,
}

/// An SGLang or vLLM server. Clones are the same server.
#[derive(Clone)]
pub struct HttpServer {
    pub(crate) shared: Arc<Shared>,
}

impl fmt::Debug for HttpServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Shared { transport, api, .. } = &*self.shared;
        f.debug_struct("HttpServer").field("url", &transport.base()).field("api", api).finish_non_exhaustive()
    }
}

impl HttpServer {
    /// The server at that URL. Nothing is sent.
    ///
    /// # Errors
    /// If the URL or a setting is wrong, or a key cannot be read.
    pub fn new(config: HttpConfig, settings: HttpSettings) -> Result<Self, ClientError> {
        let HttpConfig { url, api, model, vocab_size, weight_label, controls } = config;
        let transport = Transport::new(&url, &settings)?;
        settings.check(transport.base())?;
        let facts = Arc::new(Facts {
            name: transport.base().to_owned(),
            vocab_size,
            accept_changed_prompt: settings.accept_changed_prompt,
            label_reported: AtomicBool::new(false),
        });
        let (last_version, is_holding) = (AtomicU64::new(0), AtomicBool::new(false));
        let shared = Shared {
            transport,
            api,
            settings,
            facts,
            model,
            weight_label,
            controls,
            last_version,
            is_holding,
            aborts: Semaphore::new(ABORTS),
        };
        Ok(Self { shared: Arc::new(shared) })
    }

    /// How it is asked for tokens.
    #[must_use]
    pub fn api(&self) -> Api {
        self.shared.api
    }

    /// The body that is sent for a request under this wire id while this version is in force, for
    /// those who want to see or measure it. Nothing is sent.
    ///
    /// # Errors
    /// If the request cannot be written.
    pub fn request_body(
        &self,
        request: &GenerateRequest,
        id: &str,
        version: PolicyVersion,
    ) -> Result<Vec<u8>, ClientError> {
        self.shared.body(request, id, version)
    }

    /// Asks for tokens, once. The future is ready when the answer begins, or when there is none:
    /// with an error, or with a stream that only ends.
    ///
    /// # Errors
    /// If the request is refused, by us or by the server, or the connection breaks.
    pub async fn stream(&self, call: ServerCall) -> Result<ClientStream, ClientError> {
        match self.open(call).await? {
            Opened::Running(generation) => Ok(ClientStream::new(generation)),
            Opened::Ended(finish) => Ok(ClientStream::ended(finish)),
        }
    }

    pub(crate) async fn open(&self, call: ServerCall) -> Result<Opened, ClientError> {
        let shared = &self.shared;
        shared.check(&call.request)?;
        if call.abort.is_cancelled() {
            return Ok(Opened::Ended(GenerateFinish::Abort));
        }
        let mut cancelled = Box::pin(call.abort.clone().cancelled_owned());
        let mut noted = call.version;
        loop {
            let sent = shared.send(&call, noted, &mut cancelled).await;
            let Sent { mut guard, aborting, response } = match sent? {
                Some(sent) => sent,
                None => return Ok(Opened::Ended(GenerateFinish::Abort)),
            };
            if response.status().is_success() {
                let prompt = Prompt::new(&call.request.prompt_ids);
                let answer = Answer::new(shared.facts.clone(), shared.api.decoder(), prompt, noted)
                    .with_stop_tokens(Arc::clone(&call.request.stop_token_ids));
                let limit = shared.settings.max_event_bytes;
                let generation = Generation::new(response, answer, guard, cancelled, aborting, limit);
                return Ok(Opened::Running(Box::new(generation)));
            }
            if is_refusal(response.status()) {
                guard.disarm();
            }
            if aborting.is_some() {
                return Ok(Opened::Ended(GenerateFinish::Abort));
            }
            let may_be_paused =
                response.status() == StatusCode::SERVICE_UNAVAILABLE && shared.api.engine() == Engine::Vllm;
            let refusal = async {
                let error = shared.transport.failure(response).await;
                // Who cannot say whether it is paused is not known to be.
                let was_paused = may_be_paused && self.wait_while_paused().await.unwrap_or(false);
                (error, was_paused)
            };
            let (error, was_paused) = tokio::select! {
                biased;
                () = &mut cancelled => return Ok(Opened::Ended(GenerateFinish::Abort)),
                refusal = refusal => refusal,
            };
            if error.is_context_length() {
                return Ok(Opened::Ended(GenerateFinish::ContextLength));
            }
            if !was_paused {
                return Err(server_error(ErrorKind::HttpStatus, &shared.facts.name, &error));
            }
            // The weights may have changed meanwhile.
            noted = noted.max(PolicyVersion(shared.last_version.load(Ordering::Acquire)));
        }
    }
}

/// Whether nothing runs for a request that was answered so. A router may say 502 or 504 of a request
/// that the engine still works on.
fn is_refusal(status: StatusCode) -> bool {
    status.is_client_error() || status == StatusCode::SERVICE_UNAVAILABLE
}

/// What a request led to.
pub(crate) enum Opened {
    Running(Box<Generation>),
    Ended(GenerateFinish),
}

/// A request that was answered.
struct Sent {
    guard: AbortGuard,
    aborting: Option<Aborting>,
    response: Response<Incoming>,
}

impl Shared {
    /// Sends the request under a fresh name. `None` if it was aborted before its answer began.
    async fn send(
        self: &Arc<Self>,
        call: &ServerCall,
        noted: PolicyVersion,
        cancelled: &mut Pin<Box<WaitForCancellationFutureOwned>>,
    ) -> Result<Option<Sent>, ClientError> {
        let request = &call.request;
        let id = call.ids.next(request.rollout, request.effect.turn);
        let body = self.body(request, &id, noted)?;
        let session = request.rollout.to_string();
        let mut guard = AbortGuard::new(self.clone(), id);
        let mut response = Box::pin(self.transport.generate(self.api.path(), body, &session));
        let first = tokio::select! {
            biased;
            () = cancelled => None,
            response = &mut response => Some(response),
        };
        match first {
            Some(Ok(response)) => Ok(Some(Sent { guard, aborting: None, response })),
            Some(Err(error)) => {
                if error.kind() == ErrorKind::Connect {
                    guard.disarm();
                }
                Err(error)
            }
            None => {
                let mut aborting = guard.abort();
                let late = tokio::select! {
                    biased;
                    response = response => response.ok(),
                    () = &mut aborting => None,
                };
                if late.is_none() && aborting.was_told() {
                    guard.disarm();
                }
                Ok(late.map(|response| Sent { guard, aborting: Some(aborting), response }))
            }
        }
    }

    fn body(
        &self,
        request: &GenerateRequest,
        id: &str,
        version: PolicyVersion,
    ) -> Result<Vec<u8>, ClientError> {
        let envelope = Envelope { id, model: self.model.as_deref(), version, settings: &self.settings };
        encode(self.api, request, envelope)
            .map_err(|error| self.transport.error(ErrorKind::Refused, error.to_string()))
    }

    /// Refuses what would do harm: to the server, or to the data.
    fn check(&self, request: &GenerateRequest) -> Result<(), ClientError> {
        let refuse = |message: &str| Err(self.transport.error(ErrorKind::Refused, message));
        if request.prompt_ids.is_empty() {
            return refuse("the prompt is empty");
        }
        if request.max_tokens == 0 {
            return refuse("max_tokens is 0: there is nothing to ask for");
        }
        if let Err(error) = check_sampling(&request.sampling, request.turn_tokens > 0) {
            return refuse(&error.to_string());
        }
        let vocab = self.facts.vocab_size.unwrap_or(u32::MAX);
        let is_known = |&token: &u32| token < vocab;
        let wrong = |what: &str, at, token: &u32| {
            let message = format!("{what} {at} is {token}, the vocabulary has {vocab}; it was not sent");
            self.transport.error(ErrorKind::TokenOutOfVocabulary, message)
        };
        if let Some(at) = request.prompt_ids.iter().position(|token| !is_known(token)) {
            return Err(wrong("prompt token", at, &request.prompt_ids[at]));
        }
        if let Some(at) = request.stop_token_ids.iter().position(|token| !is_known(token)) {
            return Err(wrong("stop token", at, &request.stop_token_ids[at]));
        }
        Ok(())
    }
}

impl LlmServer for HttpServer {
    fn name(&self) -> &str {
        &self.shared.facts.name
    }

    fn generate(&self, call: ServerCall) -> BoxFuture<'static, Result<GenerateStream, Fault>> {
        let server = self.clone();
        async move {
            let stream = server.stream(call).await?;
            Ok(Box::pin(stream.map_err(Fault::from)) as GenerateStream)
        }
        .boxed()
    }

    fn controls(&self) -> Controls {
        self.shared.controls
    }

    fn probe(&self) -> ControlFuture<'_, ()> {
        self.health().err_into().boxed()
    }

    fn pause(&self, mode: WeightSync) -> ControlFuture<'_, ()> {
        self.pause_as(mode).err_into().boxed()
    }

    fn continue_generation(&self) -> ControlFuture<'_, ()> {
        self.resume().err_into().boxed()
    }

    fn abort<'a>(&'a self, id: &'a str) -> ControlFuture<'a, ()> {
        self.abort_request(id).err_into().boxed()
    }

    fn abort_all(&self) -> ControlFuture<'_, ()> {
        self.abort_everything().err_into().boxed()
    }

    fn set_version(&self, version: PolicyVersion) -> ControlFuture<'_, ()> {
        self.label_weights(version).err_into().boxed()
    }

    fn weight_label(&self) -> ControlFuture<'_, String> {
        self.read_label().err_into().boxed()
    }

    fn update_from_disk<'a>(&'a self, model_path: &'a str, version: PolicyVersion) -> ControlFuture<'a, ()> {
        self.load_weights(model_path, version).err_into().boxed()
    }

    fn flush_cache(&self) -> ControlFuture<'_, ()> {
        self.empty_cache().err_into().boxed()
    }

    fn load(&self) -> ControlFuture<'_, Load> {
        self.read_load().err_into().boxed()
    }

    fn model_info(&self) -> ControlFuture<'_, ModelInfo> {
        self.read_model_info().err_into().boxed()
    }
}

#[cfg(test)]
mod tests;
