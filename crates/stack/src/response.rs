//! What a layer may do with a response: watch the part of it that is still running.

use std::pin::Pin;
use std::task::{Context, Poll};

use futures_core::Stream;
use respool_core::{Fault, GenerateEvent, InteractReply, ToolResult};
use tracing::Span;

use crate::GenerateStream;

/// Watches one call from outside. It is dropped when the call is over, however it ended: an
/// observer that does nothing but exist (a permit, a gauge) is held for exactly that long.
pub trait Observer: Send + 'static {
    /// A generation gave an event.
    fn event(&mut self, _event: &GenerateEvent) {}

    /// The call failed: its service, its stream, or a stream that broke off.
    fn failed(&mut self, _fault: &Fault) {}

    /// The span in which the stream is polled.
    fn span(&self) -> Option<&Span> {
        None
    }
}

/// A response that may still be running when it is given, as a generation's stream is.
pub trait Response: Sized {
    /// Keeps the observer for as long as the response is running.
    #[must_use]
    fn observed(self, observer: impl Observer) -> Self;
}

/// Responses that are whole when they are given.
macro_rules! whole {
    ($($response:ty),*) => {$(
        impl Response for $response {
            fn observed(self, observer: impl Observer) -> Self {
                drop(observer);
                self
            }
        }
    )*};
}

whole!(ToolResult, InteractReply, ());

impl Response for GenerateStream {
    fn observed(self, observer: impl Observer) -> Self {
        Box::pin(Observed { running: Some((self, observer)) })
    }
}

/// A stream and its observer, both gone once it has ended.
struct Observed<O> {
    running: Option<(GenerateStream, O)>,
}

// Nothing in it is pinned structurally: the stream is boxed, the observer is only called.
impl<O> Unpin for Observed<O> {}

impl<O: Observer> Stream for Observed<O> {
    type Item = Result<GenerateEvent, Fault>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let Some((stream, observer)) = &mut self.running else {
            return Poll::Ready(None);
        };
        let item = {
            let _entered = observer.span().map(Span::enter);
            std::task::ready!(stream.as_mut().poll_next(cx))
        };
        let is_last = match &item {
            Some(Ok(event)) => {
                observer.event(event);
                matches!(event, GenerateEvent::Ended(_))
            }
            Some(Err(fault)) => {
                observer.failed(fault);
                true
            }
            None => {
                observer.failed(&Fault::transient("the stream broke off without an end"));
                true
            }
        };
        if is_last {
            self.running = None;
        }
        Poll::Ready(item)
    }
}

#[cfg(test)]
mod tests;
