//! The self-test: whether a server is fit for training, before any rollout depends on it.

mod routes;

use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;

use respool_core::{EffectId, GenerateEvent, GenerateRequest, PolicyVersion, RolloutId, Sampling, Token};
use respool_llm::{Controls, ServerCall, WireIds};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::server::Opened;
use crate::{
    Api, ClientError, Engine, EngineChoice, ErrorKind, HttpConfig, HttpServer, HttpSettings, Report,
    StreamStyle,
};

/// What the caller knows of the model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expectations {
    /// The name or path under which it must be served; `None` takes any.
    pub model: Option<String>,
    /// The size of its vocabulary.
    pub vocab_size: Option<u32>,
    /// A prompt to try it with; must not be empty.
    pub prompt_ids: Vec<Token>,
}

impl Default for Expectations {
    /// Any model; the prompt is token 1.
    fn default() -> Self {
        Self { model: None, vocab_size: None, prompt_ids: vec![1] }
    }
}

/// Tests a server and gives the way to it.
///
/// # Errors
/// As [`self_test`].
pub async fn connect(
    url: &str,
    choice: EngineChoice,
    expected: &Expectations,
    settings: HttpSettings,
) -> Result<(HttpServer, Report), ClientError> {
    let report = self_test(url, choice, expected, &settings).await?;
    Ok((HttpServer::new(report.config(), settings)?, report))
}

/// Asks the server what it is and for a few tokens. Changes nothing on it.
///
/// # Errors
/// If it cannot be reached, or is not fit for use: it gives no token ids or log-probabilities, has
/// another model or another vocabulary, or takes no token ids. The message says what to do.
pub async fn self_test(
    url: &str,
    choice: EngineChoice,
    expected: &Expectations,
    settings: &HttpSettings,
) -> Result<Report, ClientError> {
    let asker = |api: Api, model: Option<&str>| {
        let config = HttpConfig {
            url: url.to_owned(),
            api,
            model: model.map(str::to_owned),
            vocab_size: expected.vocab_size,
            weight_label: None,
            controls: Controls::default(),
        };
        HttpServer::new(config, settings.clone())
    };
    let engine = match choice {
        EngineChoice::Sglang => Engine::Sglang,
        EngineChoice::Vllm => Engine::Vllm,
        EngineChoice::Auto => detect(&asker(Api::SglangGenerate, None)?).await?,
    };
    let (info, apis): (Info, &[Api]) = match engine {
        Engine::Sglang => (sglang_info(&asker(Api::SglangGenerate, None)?).await?, &[Api::SglangGenerate]),
        Engine::Vllm => (
            vllm_info(&asker(Api::VllmGenerate, None)?).await?,
            &[Api::VllmGenerate, Api::VllmCompletions, Api::VllmCompletionsAsIds],
        ),
    };
    let model = info.check_model(expected, url)?;
    let mut reasons = Vec::new();
    for &api in apis {
        let server = asker(api, model.as_deref())?;
        match try_tokens(&server, expected).await {
            Ok(trial) => return Ok(report(&server, info, model, trial, expected, reasons).await),
            Err(error) if error.kind() == ErrorKind::Connect => return Err(error),
            Err(error) => reasons.push(format!("{}: {}: {}", api.path(), error.kind(), error.message())),
        }
    }
    let message = format!("no route gives tokens that can be trained on: {}", reasons.join("; "));
    Err(ClientError::new(ErrorKind::Unfit, url, message))
}

/// The answer to a question that a server need not be able to answer.
async fn ask(server: &HttpServer, path: &str) -> Result<Option<Value>, ClientError> {
    match server.get(path).await {
        Ok(value) => Ok(Some(value)),
        Err(error) if matches!(error.kind(), ErrorKind::Connect | ErrorKind::Timeout) => Err(error),
        Err(_) => Ok(None),
    }
}

async fn detect(server: &HttpServer) -> Result<Engine, ClientError> {
    for path in ["/model_info", "/get_model_info"] {
        if ask(server, path).await?.is_some_and(|info| info.get("model_path").is_some()) {
            return Ok(Engine::Sglang);
        }
    }
    if ask(server, "/version").await?.is_some_and(|info| info.get("version").is_some()) {
        return Ok(Engine::Vllm);
    }
    let owner = ask(server, "/v1/models")
        .await?
        .and_then(|models| models["data"][0]["owned_by"].as_str().map(str::to_owned));
    match owner.as_deref() {
        Some("sglang") => Ok(Engine::Sglang),
        Some("vllm") => Ok(Engine::Vllm),
        _ => Err(ClientError::new(
            ErrorKind::Unfit,
            server.shared.transport.base(),
            "answers neither /model_info (SGLang) nor /version (vLLM): give the URL of the engine itself, \
             or say which engine it is",
        )),
    }
}

/// What a server says about itself.
#[derive(Default)]
struct Info {
    version: Option<String>,
    /// Names and paths of its model; the first one is what requests call it.
    models: Vec<String>,
    context_length: Option<u64>,
    weight_label: Option<String>,
}

impl Info {
    fn check_model(&self, expected: &Expectations, url: &str) -> Result<Option<String>, ClientError> {
        let served = self.models.first().cloned();
        match (&expected.model, &served) {
            (Some(expected), Some(served)) if !self.models.contains(expected) => {
                let message = format!("serves the model {served}, expected {expected}");
                Err(ClientError::new(ErrorKind::Unfit, url, message))
            }
            // vLLM serves adapters beside their model.
            (Some(expected), _) => Ok(Some(expected.clone())),
            (None, _) => Ok(served),
        }
    }

    fn take_models(&mut self, models: Option<&Value>) {
        let models = models.and_then(|models| models.get("data")?.as_array()).into_iter().flatten();
        for model in models {
            let names = ["id", "root"].iter().filter_map(|key| model.get(key)?.as_str());
            self.models.extend(names.map(str::to_owned));
            self.context_length = self.context_length.or_else(|| model.get("max_model_len")?.as_u64());
        }
    }
}

fn text(value: Option<&Value>, key: &str) -> Option<String> {
    value?.get(key)?.as_str().map(str::to_owned)
}

async fn sglang_info(server: &HttpServer) -> Result<Info, ClientError> {
    let model = ask(server, "/model_info").await?;
    let about = ask(server, "/server_info").await?;
    let models = ask(server, "/v1/models").await?;
    let mut info = Info {
        version: text(about.as_ref(), "version"),
        models: Vec::new(),
        context_length: about.as_ref().and_then(|about| about.get("context_length")?.as_u64()),
        weight_label: text(model.as_ref(), "weight_version"),
    };
    let names = ["served_model_name", "model_path"].iter().filter_map(|key| text(model.as_ref(), key));
    info.models.extend(names);
    info.take_models(models.as_ref());
    Ok(info)
}

async fn vllm_info(server: &HttpServer) -> Result<Info, ClientError> {
    let mut info =
        Info { version: text(ask(server, "/version").await?.as_ref(), "version"), ..Info::default() };
    info.take_models(ask(server, "/v1/models").await?.as_ref());
    info.weight_label = text(ask(server, "/weight_info").await?.as_ref(), "weight_version");
    Ok(info)
}

/// What a few tokens showed.
struct Trial {
    labels_tokens: bool,
    is_cumulative: bool,
}

async fn try_tokens(server: &HttpServer, expected: &Expectations) -> Result<Trial, ClientError> {
    const TOKENS: u32 = 4;
    let nonce = || RandomState::new().hash_one(0_u8);
    let request = GenerateRequest {
        rollout: RolloutId(0),
        effect: EffectId { turn: 0, slot: 0, attempt: 0 },
        prompt_ids: expected.prompt_ids.clone(),
        turn_tokens: 0,
        max_tokens: TOKENS,
        stop_token_ids: Arc::from([]),
        sampling: Arc::new(Sampling { temperature: Some(0.0), ignore_eos: true, ..Sampling::default() }),
        seed: 0,
    };
    let abort = CancellationToken::new();
    let call = ServerCall { request, abort, version: PolicyVersion(0), ids: Arc::new(WireIds::new(nonce)) };
    let limit = server.shared.settings.control_timeout;
    let late = |_| {
        let message = format!("no tokens within {limit:?} (control_timeout); is it paused?");
        server.shared.transport.error(ErrorKind::Timeout, message)
    };
    tokio::time::timeout(limit, read_tokens(server, call)).await.map_err(late)?
}

async fn read_tokens(server: &HttpServer, call: ServerCall) -> Result<Trial, ClientError> {
    let unfit = |message: String| server.shared.transport.error(ErrorKind::Unfit, message);
    let mut generation = match server.open(call).await? {
        Opened::Running(generation) => generation,
        Opened::Ended(finish) => return Err(unfit(format!("ended without a token: {finish:?}"))),
    };
    let (mut tokens, mut missing) = (0, 0);
    loop {
        match generation.next().await? {
            GenerateEvent::Delta(delta) => {
                tokens += delta.tokens.len();
                missing += delta.logprobs.iter().filter(|logprob| logprob.get().is_none()).count();
            }
            GenerateEvent::Versions { .. } => {}
            GenerateEvent::Ended(_) => break,
        }
    }
    if tokens == 0 {
        return Err(unfit(
            "gave no token ids: something between us and the engine may strip them".to_owned(),
        ));
    }
    if missing > 0 {
        return Err(unfit(format!(
            "{missing} of {tokens} tokens came without a log-probability, which was asked for: something \
             between us and the engine may strip them, or the model's logits are broken"
        )));
    }
    let answer = generation.answer();
    Ok(Trial { labels_tokens: answer.tells_weights(), is_cumulative: answer.is_cumulative() })
}

async fn report(
    server: &HttpServer,
    info: Info,
    model: Option<String>,
    trial: Trial,
    expected: &Expectations,
    mut notes: Vec<String>,
) -> Report {
    let engine = server.api().engine();
    if trial.is_cumulative {
        notes.push(
            "each event repeats all tokens: start SGLang with --incremental-streaming-output".to_owned(),
        );
    }
    if engine == Engine::Vllm && server.api() != Api::VllmGenerate {
        notes.push("start vLLM with --enable-scale-out for /inference/v1/generate".to_owned());
    }
    if expected.vocab_size.is_none() {
        notes.push("the vocabulary's size is not known: ids outside it will be sent".to_owned());
    }
    Report {
        url: server.shared.transport.base().to_owned(),
        engine,
        version: info.version,
        api: server.api(),
        model,
        context_length: info.context_length,
        vocab_size: expected.vocab_size,
        weight_label: info.weight_label,
        labels_tokens: trial.labels_tokens,
        stream_style: if trial.is_cumulative { StreamStyle::Cumulative } else { StreamStyle::Incremental },
        controls: routes::control_reports(server).await,
        notes,
    }
}

#[cfg(test)]
mod tests;
