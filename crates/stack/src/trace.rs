//! A span around every call.

use std::task::{Context, Poll};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use respool_core::{Fault, GenerateEvent};
use tokio::time::Instant;
use tower::{Layer, Service};
use tracing::{Instrument, Span, debug, field, info_span, warn};

use crate::{Call, Observer, Response};

/// Puts every call into a span `effect` with its kind, rollout, turn, slot and attempt, for as
/// long as its response is running. Failures are warnings in it, everything else is `debug`.
/// Counts of tokens are told, tokens and texts never.
#[derive(Clone, Copy, Debug, Default)]
pub struct TraceLayer;

impl<S> Layer<S> for TraceLayer {
    type Service = Trace<S>;

    fn layer(&self, inner: S) -> Trace<S> {
        Trace { inner }
    }
}

/// The service of [`TraceLayer`].
#[derive(Clone, Debug)]
pub struct Trace<S> {
    inner: S,
}

impl<S, C> Service<C> for Trace<S>
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
        let span = span_of(&call);
        let mut traced = Traced { span: span.clone(), started: Instant::now(), tokens: 0 };
        let response = span.in_scope(|| self.inner.call(call));
        async move {
            match response.await {
                Ok(response) => Ok(response.observed(traced)),
                Err(fault) => {
                    traced.failed(&fault);
                    Err(fault)
                }
            }
        }
        .instrument(span)
        .boxed()
    }
}

fn span_of<C: Call>(call: &C) -> Span {
    let span = info_span!(
        "effect",
        kind = C::KIND,
        rollout = %call.rollout(),
        turn = field::Empty,
        slot = field::Empty,
        attempt = field::Empty,
    );
    if let Some(effect) = call.effect() {
        span.record("turn", effect.turn).record("slot", effect.slot).record("attempt", effect.attempt);
    }
    span
}

struct Traced {
    span: Span,
    started: Instant,
    tokens: usize,
}

impl Observer for Traced {
    fn event(&mut self, event: &GenerateEvent) {
        match event {
            GenerateEvent::Delta(delta) => self.tokens += delta.tokens.len(),
            GenerateEvent::Versions { spans, uncertain } => {
                debug!(parent: &self.span, spans = spans.len(), uncertain, "versions");
            }
            GenerateEvent::Ended(finish) => debug!(parent: &self.span, ?finish, "ended"),
        }
    }

    fn failed(&mut self, fault: &Fault) {
        warn!(parent: &self.span, class = ?fault.class, "{fault}");
    }

    fn span(&self) -> Option<&Span> {
        Some(&self.span)
    }
}

impl Drop for Traced {
    fn drop(&mut self) {
        debug!(parent: &self.span, tokens = self.tokens, elapsed = ?self.started.elapsed(), "over");
    }
}

#[cfg(test)]
mod tests;
