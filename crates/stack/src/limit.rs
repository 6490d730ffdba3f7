//! A limit on how many calls run at once.

use std::sync::Arc;
use std::task::{Context, Poll, ready};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use respool_core::Fault;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::PollSemaphore;
use tower::{Layer, Service};

use crate::{Observer, Response};

/// Lets so many calls run at once; others wait their turn, first come, first served.
///
/// A call is over when its response is, so a generation counts until its stream has ended. All
/// services made by one layer, and all their clones, share the limit.
#[derive(Clone, Debug)]
pub struct ConcurrencyLimitLayer {
    permits: Arc<Semaphore>,
}

impl ConcurrencyLimitLayer {
    /// At most `limit` calls at once; 0 counts as 1, as with none at all every call would hang.
    #[must_use]
    pub fn new(limit: usize) -> Self {
        Self { permits: Arc::new(Semaphore::new(limit.clamp(1, Semaphore::MAX_PERMITS))) }
    }
}

impl<S> Layer<S> for ConcurrencyLimitLayer {
    type Service = ConcurrencyLimit<S>;

    fn layer(&self, inner: S) -> ConcurrencyLimit<S> {
        ConcurrencyLimit { inner, permits: PollSemaphore::new(Arc::clone(&self.permits)), permit: None }
    }
}

/// The service of [`ConcurrencyLimitLayer`]. It is ready when it holds a permit.
#[derive(Debug)]
pub struct ConcurrencyLimit<S> {
    inner: S,
    permits: PollSemaphore,
    permit: Option<OwnedSemaphorePermit>,
}

impl<S: Clone> Clone for ConcurrencyLimit<S> {
    /// A clone has to ask for its own permit.
    fn clone(&self) -> Self {
        Self { inner: self.inner.clone(), permits: self.permits.clone(), permit: None }
    }
}

/// Nothing to see: the permit is there to be held.
impl Observer for OwnedSemaphorePermit {}

impl<S, C> Service<C> for ConcurrencyLimit<S>
where
    S: Service<C, Error = Fault>,
    S::Response: Response,
    S::Future: Send + 'static,
{
    type Response = S::Response;
    type Error = Fault;
    type Future = BoxFuture<'static, Result<S::Response, Fault>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Fault>> {
        if self.permit.is_none() {
            self.permit = ready!(self.permits.poll_acquire(cx));
        }
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, call: C) -> Self::Future {
        let permit = self.permit.take();
        let response = self.inner.call(call);
        async move {
            let response = response.await?;
            Ok(match permit {
                Some(permit) => response.observed(permit),
                // Only if the semaphore was closed, which nobody does.
                None => response,
            })
        }
        .boxed()
    }
}

#[cfg(test)]
mod tests;
