//! A limit on the time until a response is there.

use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use respool_core::Fault;
use tower::{Layer, Service};

use crate::Call;
use crate::call::describe;

/// Fails a call, as transient, whose response is not there in time. It is dropped then.
///
/// A generation's response is there when the request was accepted; for what comes through the
/// stream see [`StreamTimeoutLayer`](crate::StreamTimeoutLayer).
#[derive(Clone, Copy, Debug)]
pub struct TimeoutLayer {
    limit: Duration,
}

impl TimeoutLayer {
    /// Waits at most `limit` for a response.
    #[must_use]
    pub const fn new(limit: Duration) -> Self {
        Self { limit }
    }
}

impl<S> Layer<S> for TimeoutLayer {
    type Service = Timeout<S>;

    fn layer(&self, inner: S) -> Timeout<S> {
        Timeout { inner, limit: self.limit }
    }
}

/// The service of [`TimeoutLayer`].
#[derive(Clone, Debug)]
pub struct Timeout<S> {
    inner: S,
    limit: Duration,
}

impl<S, C> Service<C> for Timeout<S>
where
    S: Service<C, Error = Fault>,
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
        let limit = self.limit;
        let (rollout, effect) = (call.rollout(), call.effect());
        let response = tokio::time::timeout(limit, self.inner.call(call));
        async move {
            response.await.unwrap_or_else(|_elapsed| {
                let call = describe::<C>(rollout, effect);
                Err(Fault::transient(format!("{call}: no answer within {limit:?}")))
            })
        }
        .boxed()
    }
}

#[cfg(test)]
mod tests;
