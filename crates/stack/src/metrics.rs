//! Counts of every call, through the `metrics` facade.

use std::task::{Context, Poll};

use ::metrics::{Counter, Gauge, Histogram, counter, gauge, histogram};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use respool_core::{Fault, GenerateEvent};
use tokio::time::Instant;
use tower::{Layer, Service};

use crate::{Call, Observer, Response};

/// Counts calls. Every metric has the label `kind` (`generate`, `tool`, `interact`, `session`):
///
/// | metric | is |
/// |---|---|
/// | `respool_requests_total` | calls made |
/// | `respool_errors_total` | calls that failed or broke off, with the label `class` |
/// | `respool_in_flight` | calls whose response is still running |
/// | `respool_latency_seconds` | from call to the response's end, dropped calls too |
/// | `respool_first_token_seconds` | from call to the first token |
/// | `respool_inter_token_seconds` | time for each further token: from delta to delta, by the delta's tokens |
/// | `respool_tokens_total` | sampled tokens that arrived |
#[derive(Clone, Copy, Debug, Default)]
pub struct MetricsLayer;

impl<S> Layer<S> for MetricsLayer {
    type Service = Metrics<S>;

    fn layer(&self, inner: S) -> Metrics<S> {
        Metrics { inner }
    }
}

/// The service of [`MetricsLayer`].
#[derive(Clone, Debug)]
pub struct Metrics<S> {
    inner: S,
}

impl<S, C> Service<C> for Metrics<S>
where
    S: Service<C, Error = Fault>,
    S::Response: Response,
    S::Future: Send + 'static,
    C: Call,
{
    type Response = S::Response;
    type Error = Fault;
    type Future = BoxFuture<'static, Result<S::Response, Fault>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Fault>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, call: C) -> Self::Future {
        let mut counted = Counted::begin(C::KIND);
        let response = self.inner.call(call);
        async move {
            match response.await {
                Ok(response) => Ok(response.observed(counted)),
                Err(fault) => {
                    counted.failed(&fault);
                    Err(fault)
                }
            }
        }
        .boxed()
    }
}

/// One call in flight.
struct Counted {
    kind: &'static str,
    started: Instant,
    in_flight: Gauge,
    /// Registered with the first token.
    tokens: Option<Tokens>,
}

/// What is counted from the first token on.
struct Tokens {
    count: Counter,
    gaps: Histogram,
    /// When the last ones came.
    last: Instant,
}

impl Counted {
    fn begin(kind: &'static str) -> Self {
        counter!("respool_requests_total", "kind" => kind).increment(1);
        let in_flight = gauge!("respool_in_flight", "kind" => kind);
        in_flight.increment(1.0);
        Self { kind, started: Instant::now(), in_flight, tokens: None }
    }

    fn first_came(&self, count: usize) -> Tokens {
        let last = Instant::now();
        histogram!("respool_first_token_seconds", "kind" => self.kind).record(last - self.started);
        let tokens = counter!("respool_tokens_total", "kind" => self.kind);
        tokens.increment(count as u64);
        Tokens { count: tokens, gaps: histogram!("respool_inter_token_seconds", "kind" => self.kind), last }
    }
}

impl Tokens {
    fn came(&mut self, count: usize) {
        let now = Instant::now();
        self.gaps.record((now - self.last).as_secs_f64() / count as f64);
        self.last = now;
        self.count.increment(count as u64);
    }
}

impl Observer for Counted {
    fn event(&mut self, event: &GenerateEvent) {
        let GenerateEvent::Delta(delta) = event else { return };
        if delta.tokens.is_empty() {
            return;
        }
        let count = delta.tokens.len();
        match &mut self.tokens {
            Some(tokens) => tokens.came(count),
            None => self.tokens = Some(self.first_came(count)),
        }
    }

    fn failed(&mut self, fault: &Fault) {
        counter!("respool_errors_total", "kind" => self.kind, "class" => fault.class.name()).increment(1);
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.in_flight.decrement(1.0);
        histogram!("respool_latency_seconds", "kind" => self.kind).record(self.started.elapsed());
    }
}

#[cfg(test)]
mod tests;
