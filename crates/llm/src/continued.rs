//! Fail-over that keeps the tokens, for those who use `llm` without Respool's engine.

use std::time::Duration;

use futures_util::{StreamExt, stream};
use respool_core::{Class, Fault, GenerateDelta, GenerateEvent, GenerateFinish, Logprob, VersionSpan};
use respool_stack::{GenerateCall, GenerateService, GenerateStream, Waste, ready_after, wasted};
use tower::Service;

use crate::{Backoff, draws::Draws};

/// How [`continued`] asks again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ContinueSettings {
    /// The most attempts in a row that bring no token. 0 counts as 1.
    pub max_attempts: u32,
    /// The delays between attempts.
    pub backoff: Backoff,
    /// Decides their jitter, together with the rollout.
    pub seed: u64,
}

impl Default for ContinueSettings {
    /// Eight attempts, as rollouts have; the default delays, seed 0.
    fn default() -> Self {
        Self { max_attempts: 8, backoff: Backoff::default(), seed: 0 }
    }
}

/// One stream over as many attempts as it takes: where an attempt breaks and its class allows, the
/// rest is asked for, with the tokens that arrived as prompt. They are never asked for twice.
///
/// An attempt that breaks after a stop token has stopped, one that breaks with its budget used up
/// ended as [`Length`](GenerateFinish::Length), an abort by the caller ends at once. An abort by whoever manages the
/// servers (a weight sync) is no failure: the rest is asked for after a short wait. Tokens over
/// the budget are dropped and counted (`respool_wasted_tokens_total`). The response comes at once; a
/// fault, the first attempt's too, comes through the stream.
///
/// Our engine applies the same rule to rollouts: put this around a service for other callers only.
#[must_use]
pub fn continued(service: GenerateService, settings: ContinueSettings) -> GenerateService {
    GenerateService::new(tower::service_fn(move |call: GenerateCall| {
        let merged = Merged::new(service.clone(), settings, call);
        let items = stream::unfold(merged, async |mut merged| merged.next().await.map(|item| (item, merged)));
        std::future::ready(Ok::<_, Fault>(Box::pin(items) as GenerateStream))
    }))
}

type Item = Result<GenerateEvent, Fault>;

/// The attempts at one generation.
struct Merged {
    service: GenerateService,
    settings: ContinueSettings,
    /// What is to be asked next: the prompt holds what arrived, the budget is what is left.
    call: GenerateCall,
    attempt: Option<GenerateStream>,
    /// Tokens that arrived, in all.
    received: u32,
    /// Those that had arrived before this attempt.
    before: u32,
    /// Attempts in a row without a token.
    fruitless: u32,
    /// How long to wait before the next attempt.
    delay: Duration,
    draws: Draws,
    is_over: bool,
}

impl Merged {
    fn new(service: GenerateService, settings: ContinueSettings, call: GenerateCall) -> Self {
        let rollout = call.request.rollout.0;
        let draws = Draws::new(settings.seed ^ (rollout as u64) ^ ((rollout >> 64) as u64));
        Self {
            service,
            settings,
            call,
            attempt: None,
            received: 0,
            before: 0,
            fruitless: 0,
            delay: Duration::ZERO,
            draws,
            is_over: false,
        }
    }

    async fn next(&mut self) -> Option<Item> {
        while !self.is_over {
            let item = match &mut self.attempt {
                Some(attempt) => match attempt.next().await {
                    Some(item) => self.judge(item),
                    None => self.broke(Fault::transient("the stream ended without a finish reason")),
                },
                None => match self.ask().await {
                    Ok(attempt) => {
                        self.attempt = Some(attempt);
                        None
                    }
                    Err(fault) => self.broke(fault),
                },
            };
            if item.is_some() {
                return item;
            }
        }
        None
    }

    /// Starts an attempt. An abort ends the wait; once the request is sent, that is the service's
    /// part.
    async fn ask(&mut self) -> Result<GenerateStream, Fault> {
        ready_after(&mut self.service, self.delay, &self.call.abort).await?;
        self.before = self.received;
        self.service.call(self.call.clone()).await
    }

    /// What the caller gets of an item; `None` where it gets nothing.
    fn judge(&mut self, item: Item) -> Option<Item> {
        match item {
            Ok(GenerateEvent::Delta(delta)) => self.take(delta).map(|delta| Ok(GenerateEvent::Delta(delta))),
            Ok(GenerateEvent::Versions { spans, uncertain }) => {
                let shifted =
                    |span: VersionSpan| VersionSpan { start: span.start.saturating_add(self.before), ..span };
                let spans = spans.into_iter().map(shifted).collect();
                Some(Ok(GenerateEvent::Versions { spans, uncertain }))
            }
            Ok(GenerateEvent::Ended(GenerateFinish::Abort)) => self.aborted(),
            Ok(GenerateEvent::Ended(finish)) => self.end(finish),
            Err(fault) => self.broke(fault),
        }
    }

    /// Takes tokens up to the budget.
    fn take(&mut self, mut delta: GenerateDelta) -> Option<GenerateDelta> {
        let request = &mut self.call.request;
        let left = request.max_tokens as usize;
        let over = delta.tokens.len().saturating_sub(left);
        if over > 0 {
            wasted(Waste::OverBudget, over);
            delta.tokens.truncate(left);
        }
        delta.logprobs.resize(delta.tokens.len(), Logprob::MISSING);
        // The conversion cannot fail: no more than `max_tokens` are left.
        let taken = u32::try_from(delta.tokens.len()).unwrap_or(u32::MAX);
        request.prompt_ids.extend_from_slice(&delta.tokens);
        request.turn_tokens = request.turn_tokens.saturating_add(taken);
        request.max_tokens = request.max_tokens.saturating_sub(taken);
        self.received = self.received.saturating_add(taken);
        if over > 0 {
            // The server does not keep to the budget, and may never end.
            let finish = if self.ends_with_stop() { GenerateFinish::Stop } else { GenerateFinish::Length };
            self.attempt = Some(Box::pin(stream::iter([Ok(GenerateEvent::Ended(finish))])));
        }
        (taken > 0).then_some(delta)
    }

    /// The rule for attempts that are over without an end; `None` where the rest is to be asked for.
    fn finish_of_abort(&mut self) -> Option<GenerateFinish> {
        self.attempt = None;
        if self.ends_with_stop() {
            return Some(GenerateFinish::Stop);
        }
        if self.call.request.max_tokens == 0 {
            return Some(GenerateFinish::Length);
        }
        self.call.abort.is_cancelled().then_some(GenerateFinish::Abort)
    }

    /// Whoever manages the servers aborted it, for a weight sync: no failure, and the rest is asked for
    /// after a short wait.
    fn aborted(&mut self) -> Option<Item> {
        if let Some(finish) = self.finish_of_abort() {
            return self.end(finish);
        }
        let wait = self.settings.backoff.delay(0, Class::Transient, self.draws.next());
        self.delay = wait.unwrap_or_default();
        self.call.request.effect.attempt += 1;
        None
    }

    /// An attempt broke: it ends as an abort would, or another one is made.
    fn broke(&mut self, fault: Fault) -> Option<Item> {
        if let Some(finish) = self.finish_of_abort() {
            return self.end(finish);
        }
        self.fruitless = if self.received > self.before { 0 } else { self.fruitless + 1 };
        self.before = self.received;
        if self.fruitless >= self.settings.max_attempts.max(1) && fault.class.may_retry() {
            let message =
                format!("{} attempts without a new token; the last: {}", self.fruitless, fault.message);
            return self.fail(Fault { message, ..fault });
        }
        let retry = self.fruitless.saturating_sub(1);
        match self.settings.backoff.delay(retry, fault.class, self.draws.next()) {
            None => self.fail(fault),
            Some(delay) => {
                self.delay = delay;
                self.call.request.effect.attempt += 1;
                None
            }
        }
    }

    fn ends_with_stop(&self) -> bool {
        let request = &self.call.request;
        let last = request.prompt_ids.last().filter(|_| request.turn_tokens > 0);
        last.is_some_and(|token| request.stop_token_ids.contains(token))
    }

    fn end(&mut self, finish: GenerateFinish) -> Option<Item> {
        self.attempt = None;
        self.is_over = true;
        Some(Ok(GenerateEvent::Ended(finish)))
    }

    fn fail(&mut self, fault: Fault) -> Option<Item> {
        self.is_over = true;
        Some(Err(fault))
    }
}

#[cfg(test)]
mod tests;
