//! The seam of generation: the protocol of streams, budgets, and the same tokens after an abort.

use std::{pin::Pin, sync::Arc};

use futures_util::StreamExt;
use proptest::{strategy::BoxedStrategy, test_runner::Config};
use respool_core::{GenerateEvent, GenerateFinish, GenerateRequest, Logprob, Token};
use respool_stack::{GenerateCall, GenerateService, GenerateStream};
use tokio_util::sync::CancellationToken;
use tower::ServiceExt;

use crate::{CheckError, Clock, Violation, search::search, violation::Property};

/// How a generate service is checked.
#[derive(Clone, Debug)]
pub struct GenerateConfig {
    /// How many cases, and where failures are kept.
    pub cases: Config,
    /// Requests to send; where they are given, `select(requests).boxed()`.
    pub requests: BoxedStrategy<GenerateRequest>,
    /// Whether the same prefix always gives the same tokens: greedy sampling, or a mock.
    pub deterministic: bool,
    /// By which clock the cases run.
    pub clock: Clock,
}

/// Sends requests, whole and aborted after some tokens, and goes on with what came.
///
/// - The response comes, and its stream ends: after one `Ended`, and nothing after it.
/// - Every delta has one log-probability a token, and no stop token but at its end.
/// - No more than `max_tokens` come; `Length` comes only when they are used up.
/// - An aborted stream ends; with `deterministic`, what came and the rest are the whole.
///
/// # Errors
/// [`CheckError::Broken`] with the smallest request that shows otherwise.
pub fn check_generate_service(service: &GenerateService, config: GenerateConfig) -> Result<(), CheckError> {
    let strategy = (config.requests.clone(), 0..12u32);
    let check = |(request, cut): (GenerateRequest, u32)| {
        config.clock.run(async {
            let whole = receive(service, request.clone(), None).await?;
            let mut part = receive(service, request.clone(), Some(cut)).await?;
            if part.finish == GenerateFinish::Abort {
                part = go_on(service, request, part).await?;
            }
            if config.deterministic { same(&whole, &part) } else { Ok(()) }
        })
    };
    search(config.cases.clone(), &strategy, check, |(request, cut)| {
        format!("aborted after {cut} tokens: {request:?}")
    })
}

/// What came of a stream.
#[derive(Debug, PartialEq, Eq)]
struct Received {
    tokens: Vec<Token>,
    logprobs: Vec<Logprob>,
    finish: GenerateFinish,
}

impl Received {
    fn and(mut self, rest: Self) -> Self {
        self.tokens.extend(rest.tokens);
        self.logprobs.extend(rest.logprobs);
        Self { finish: rest.finish, ..self }
    }
}

fn broken(what: impl Into<String>) -> Violation {
    Violation::new(Property::Answers, what)
}

fn same(whole: &Received, parts: &Received) -> Result<(), Violation> {
    if whole == parts {
        return Ok(());
    }
    let what = format!("whole: {whole:?}; aborted and continued: {parts:?}");
    Err(Violation::new(Property::ResumeEquivalence, what))
}

/// Asks for the rest of an aborted turn, where there is one (R3).
async fn go_on(
    service: &GenerateService,
    mut request: GenerateRequest,
    part: Received,
) -> Result<Received, Violation> {
    let came =
        u32::try_from(part.tokens.len()).map_err(|_| broken("more tokens came than can be counted"))?;
    if part.tokens.last().is_some_and(|last| request.stop_token_ids.contains(last)) {
        return Ok(Received { finish: GenerateFinish::Stop, ..part });
    }
    if came == request.max_tokens {
        return Ok(Received { finish: GenerateFinish::Length, ..part });
    }
    request.prompt_ids.extend(&part.tokens);
    request.turn_tokens += came;
    request.max_tokens -= came;
    request.effect.attempt += 1;
    Ok(part.and(receive(service, request, None).await?))
}

/// Sends the request, aborts it after `cut` tokens, and reads the stream to its end.
async fn receive(
    service: &GenerateService,
    request: GenerateRequest,
    cut: Option<u32>,
) -> Result<Received, Violation> {
    let (max_tokens, stop) = (request.max_tokens, Arc::clone(&request.stop_token_ids));
    let abort = CancellationToken::new();
    // A budget that is used up is no abort: the engine would not ask for the rest.
    let cut = cut.filter(|cut| *cut < max_tokens);
    let call = GenerateCall { request, abort: abort.clone() };
    let response = service.clone().oneshot(call).await;
    let mut stream = response.map_err(|fault| broken(format!("the request failed: {fault}")))?;
    let mut received = Received { tokens: Vec::new(), logprobs: Vec::new(), finish: GenerateFinish::Abort };
    loop {
        if cut.is_some_and(|cut| received.tokens.len() >= cut as usize) {
            abort.cancel();
        }
        let event = next(&mut stream).await?.ok_or_else(|| broken("the stream ended without `Ended`"))?;
        match event {
            GenerateEvent::Delta(delta) => {
                if delta.tokens.len() != delta.logprobs.len() {
                    let (tokens, logprobs) = (delta.tokens.len(), delta.logprobs.len());
                    return Err(broken(format!(
                        "a delta has {tokens} tokens and {logprobs} log-probabilities"
                    )));
                }
                received.tokens.extend(delta.tokens);
                received.logprobs.extend(delta.logprobs);
            }
            GenerateEvent::Versions { .. } => {}
            GenerateEvent::Ended(finish) => {
                received.finish = finish;
                break;
            }
        }
    }
    if next(&mut stream).await?.is_some() {
        return Err(broken("something came after `Ended`"));
    }
    check_tokens(&received, max_tokens, &stop, abort.is_cancelled())?;
    // As the engine does: a stop token that is the last one of the budget is a stop, whatever the
    // server calls it.
    if received.finish == GenerateFinish::Length
        && received.tokens.last().is_some_and(|last| stop.contains(last))
    {
        received.finish = GenerateFinish::Stop;
    }
    Ok(received)
}

async fn next(stream: &mut GenerateStream) -> Result<Option<GenerateEvent>, Violation> {
    let event = Pin::as_mut(stream).next().await.transpose();
    event.map_err(|fault| broken(format!("the stream broke: {fault}")))
}

fn check_tokens(
    received: &Received,
    max_tokens: u32,
    stop: &[Token],
    is_aborted: bool,
) -> Result<(), Violation> {
    let (tokens, len) = (&received.tokens, received.tokens.len());
    if len > max_tokens as usize {
        return Err(Violation::new(
            Property::Budget,
            format!("{len} tokens came, max_tokens is {max_tokens}"),
        ));
    }
    if let Some(at) = tokens.iter().position(|token| stop.contains(token))
        && at + 1 < len
    {
        return Err(broken(format!("tokens came after stop token {} at {at}", tokens[at])));
    }
    match received.finish {
        GenerateFinish::Length if len < max_tokens as usize => {
            Err(broken(format!("it ended for length after {len} of {max_tokens} tokens")))
        }
        GenerateFinish::Abort if !is_aborted => Err(broken("it ended as aborted, but nobody aborted it")),
        _ => Ok(()),
    }
}
