//! The self-test: whether a server is fit for training, before any rollout depends on it.

mod info;
mod routes;
mod tokenizer;

use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use respool_core::{
    Class, EffectId, GenerateEvent, GenerateRequest, PolicyVersion, RolloutId, Sampling, Token,
};
use respool_llm::{ServerCall, WireIds};
use tokio_util::sync::CancellationToken;

use self::info::{Info, detect, sglang_info, vllm_info};
use self::tokenizer::check_tokenizer;
use crate::server::Opened;
use crate::{
    Api, ClientError, Engine, EngineChoice, ErrorKind, HttpConfig, HttpServer, HttpSettings, Report,
    StreamStyle,
};

/// How long the first tokens may take: an engine compiles its kernels for the first request.
const FIRST_TOKENS: Duration = Duration::from_secs(120);

/// What the caller knows of the model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expectations {
    /// The name or path under which it must be served; `None` takes any.
    pub model: Option<String>,
    /// The size of its vocabulary.
    pub vocab_size: Option<u32>,
    /// A prompt to try it with; must not be empty.
    pub prompt_ids: Vec<Token>,
    /// The text of that prompt: a server that tokenizes it otherwise serves another model.
    pub prompt: Option<String>,
}

impl Default for Expectations {
    /// Any model; the prompt is token 1.
    fn default() -> Self {
        Self { model: None, vocab_size: None, prompt_ids: vec![1], prompt: None }
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
            model: model.map(str::to_owned),
            vocab_size: expected.vocab_size,
            ..HttpConfig::new(url, api)
        };
        let server = HttpServer::new(config, settings.clone())?;
        // The report tells the label.
        server.shared.facts.label_reported.store(true, Ordering::Relaxed);
        Ok::<_, ClientError>(server)
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
    check_tokenizer(&asker(apis[0], model.as_deref())?, model.as_deref(), expected).await?;
    let mut reasons = Vec::new();
    for &api in apis {
        let server = asker(api, model.as_deref())?;
        match try_patiently(&server, expected).await {
            Ok(trial) => return Ok(report(&server, info, model, trial, expected, reasons).await),
            // Says nothing of the route: the next one would not do better.
            Err(error) if matches!(error.kind(), ErrorKind::Connect | ErrorKind::Timeout) => {
                return Err(error);
            }
            Err(error) => reasons.push(format!("{}: {}: {}", api.path(), error.kind(), error.message())),
        }
    }
    let message = format!("no route gives tokens that can be trained on: {}", reasons.join("; "));
    Err(ClientError::new(ErrorKind::Unfit, url, message))
}

/// What a few tokens showed.
struct Trial {
    labels_tokens: bool,
    is_cumulative: bool,
}

/// Whether an error may pass by itself: a server that has too much to do, or is just starting.
fn is_passing(error: &ClientError) -> bool {
    let kinds = [
        ErrorKind::Connect,
        ErrorKind::Timeout,
        ErrorKind::Broken,
        ErrorKind::HttpStatus,
        ErrorKind::ServerError,
    ];
    error.class() != Class::Terminal && kinds.contains(&error.kind())
}

/// Tries again, a few times, where an error may pass.
async fn try_patiently(server: &HttpServer, expected: &Expectations) -> Result<Trial, ClientError> {
    const LONGEST: Duration = Duration::from_secs(5);
    let mut result = try_tokens(server, expected).await;
    for pause in [Duration::from_millis(300), Duration::from_secs(1)] {
        let Err(error) = &result else { break };
        if !is_passing(error) || error.kind() == ErrorKind::Timeout {
            break;
        }
        let wish = if let Class::Overloaded { after } = error.class() { after } else { None };
        tokio::time::sleep(wish.unwrap_or(pause).min(LONGEST)).await;
        result = try_tokens(server, expected).await;
    }
    result
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
    let limit = server.shared.settings.control_timeout.max(FIRST_TOKENS);
    let late = |_| {
        let message = format!("no tokens within {limit:?}; is it paused?");
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
