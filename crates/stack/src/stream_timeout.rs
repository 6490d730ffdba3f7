//! Limits on the time between the tokens of a generation.

use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use futures_core::Stream;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use respool_core::{EffectId, Fault, GenerateEvent, RolloutId};
use tokio::time::{Instant, Sleep};
use tower::{Layer, Service};

use crate::call::describe;
use crate::{Call, GenerateCall, GenerateStream};

/// Ends a generation's stream, with a transient fault, when it stalls.
///
/// The clock runs while a server holds requests (a `keep` weight sync, a queue), so both limits
/// must be longer than the longest pause.
#[derive(Clone, Copy, Debug)]
pub struct StreamTimeoutLayer {
    limits: Limits,
}

#[derive(Clone, Copy, Debug)]
struct Limits {
    first_token: Duration,
    idle: Duration,
}

impl StreamTimeoutLayer {
    /// Waits at most `first_token` for the first token (from the request's acceptance on), and at
    /// most `idle` between two items of the stream after that.
    #[must_use]
    pub const fn new(first_token: Duration, idle: Duration) -> Self {
        Self { limits: Limits { first_token, idle } }
    }
}

impl<S> Layer<S> for StreamTimeoutLayer {
    type Service = StreamTimeout<S>;

    fn layer(&self, inner: S) -> StreamTimeout<S> {
        StreamTimeout { inner, limits: self.limits }
    }
}

/// The service of [`StreamTimeoutLayer`].
#[derive(Clone, Debug)]
pub struct StreamTimeout<S> {
    inner: S,
    limits: Limits,
}

impl<S> Service<GenerateCall> for StreamTimeout<S>
where
    S: Service<GenerateCall, Response = GenerateStream, Error = Fault>,
    S::Future: Send + 'static,
{
    type Response = GenerateStream;
    type Error = Fault;
    type Future = BoxFuture<'static, Result<GenerateStream, Fault>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Fault>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, call: GenerateCall) -> Self::Future {
        let (rollout, effect, limits) = (call.rollout(), call.request.effect, self.limits);
        let response = self.inner.call(call);
        async move {
            let timed = Timed::new(response.await?, limits, rollout, effect);
            Ok(Box::pin(timed) as GenerateStream)
        }
        .boxed()
    }
}

/// A stream with a clock.
struct Timed {
    /// `None` once it has ended.
    stream: Option<GenerateStream>,
    /// Moved only when it fires, so that an item costs no timer operation.
    alarm: Pin<Box<Sleep>>,
    /// When the stream is late.
    deadline: Instant,
    /// The limit that applies now: the first token's, then the idle one.
    limit: Duration,
    idle: Duration,
    rollout: RolloutId,
    effect: EffectId,
}

impl Timed {
    fn new(stream: GenerateStream, limits: Limits, rollout: RolloutId, effect: EffectId) -> Self {
        let deadline = later(limits.first_token);
        Self {
            stream: Some(stream),
            alarm: Box::pin(tokio::time::sleep_until(deadline)),
            deadline,
            limit: limits.first_token,
            idle: limits.idle,
            rollout,
            effect,
        }
    }

    fn on_event(&mut self, event: &GenerateEvent) {
        let is_empty = matches!(event, GenerateEvent::Delta(delta) if delta.tokens.is_empty());
        if self.limit == self.idle || !is_empty {
            self.limit = self.idle;
            self.deadline = later(self.idle);
            if self.deadline < self.alarm.deadline() {
                self.alarm.as_mut().reset(self.deadline);
            }
        }
    }

    /// Ready when the stream is late.
    fn poll_late(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        loop {
            ready!(self.alarm.as_mut().poll(cx));
            if self.alarm.deadline() >= self.deadline {
                return Poll::Ready(());
            }
            self.alarm.as_mut().reset(self.deadline);
        }
    }
}

/// That long from now; a limit beyond what the clock can tell is none.
fn later(limit: Duration) -> Instant {
    const FAR: Duration = Duration::from_secs(365 * 24 * 3600);
    Instant::now() + limit.min(FAR)
}

impl Stream for Timed {
    type Item = Result<GenerateEvent, Fault>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let Some(stream) = &mut self.stream else {
            return Poll::Ready(None);
        };
        if let Poll::Ready(item) = stream.as_mut().poll_next(cx) {
            match &item {
                Some(Ok(event)) => self.on_event(event),
                Some(Err(_)) | None => self.stream = None,
            }
            return Poll::Ready(item);
        }
        ready!(self.poll_late(cx));
        self.stream = None;
        let call = describe::<GenerateCall>(self.rollout, Some(self.effect));
        Poll::Ready(Some(Err(Fault::transient(format!("{call}: no token within {:?}", self.limit)))))
    }
}

#[cfg(test)]
mod tests;
