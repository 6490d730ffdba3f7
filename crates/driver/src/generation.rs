//! A generation as a stream of engine events.

use std::{
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};

use futures_core::Stream;
use futures_util::{StreamExt, future, stream};
use respool_core::{EffectId, Event, Fault, GenerateEvent, GenerateFinish, GenerateRequest, PolicyVersion};
use respool_stack::{GenerateCall, GenerateService, GenerateStream, ready_after};
use tokio_util::sync::CancellationToken;
use tower::Service;

/// Follows one attempt: says where each delta continues, and how the attempt ended however the
/// stream did.
pub(crate) struct Generation {
    stream: GenerateStream,
    effect: EffectId,
    /// Transcript length at which the next delta continues.
    at: u32,
    abort: CancellationToken,
    /// The version of its tokens, and whether there was another one.
    version: Option<PolicyVersion>,
    has_two_versions: bool,
    /// What comes after an event that had to come first.
    last: Option<Event>,
    is_over: bool,
}

impl Generation {
    /// Sends the request after `delay`.
    pub(crate) fn launch(
        service: GenerateService,
        request: GenerateRequest,
        abort: CancellationToken,
        delay: Duration,
    ) -> Self {
        let effect = request.effect;
        let at = u32::try_from(request.prompt_ids.len()).unwrap_or(u32::MAX);
        let call = GenerateCall { request, abort: abort.clone() };
        let stream = stream::once(start(service, call, delay)).flat_map(|started| match started {
            Ok(stream) => stream,
            Err(fault) => Box::pin(stream::once(future::ready(Err(fault)))),
        });
        Self {
            stream: Box::pin(stream),
            effect,
            at,
            abort,
            version: None,
            has_two_versions: false,
            last: None,
            is_over: false,
        }
    }

    /// A stream that broke. Nobody says any more which weights sampled its tokens.
    fn failed(&mut self, fault: Fault) -> Event {
        let effect = self.effect;
        // After we aborted it, that is one way of ending by the abort.
        let end = if self.abort.is_cancelled() {
            Event::GenerateEnded { effect, finish: GenerateFinish::Abort }
        } else {
            Event::GenerateFailed { effect, fault }
        };
        if !self.has_two_versions {
            return end;
        }
        self.last = Some(end);
        Event::Versions { effect, spans: Vec::new(), uncertain: true }
    }

    fn event(&mut self, item: Option<Result<GenerateEvent, Fault>>) -> Event {
        let effect = self.effect;
        self.is_over = !matches!(item, Some(Ok(GenerateEvent::Delta(_) | GenerateEvent::Versions { .. })));
        match item {
            Some(Ok(GenerateEvent::Delta(delta))) => {
                let at = self.at;
                self.has_two_versions |= self.version.is_some_and(|version| version != delta.version);
                self.version = Some(delta.version);
                self.at = at.saturating_add(u32::try_from(delta.tokens.len()).unwrap_or(u32::MAX));
                Event::Sampled { effect, at, delta }
            }
            Some(Ok(GenerateEvent::Versions { spans, uncertain })) => {
                Event::Versions { effect, spans, uncertain }
            }
            Some(Ok(GenerateEvent::Ended(finish))) => Event::GenerateEnded { effect, finish },
            Some(Err(fault)) => self.failed(fault),
            None => self.failed(Fault::transient("the stream ended without a finish reason")),
        }
    }
}

/// Waits until the service may be asked, then asks it.
async fn start(
    mut service: GenerateService,
    call: GenerateCall,
    delay: Duration,
) -> Result<GenerateStream, Fault> {
    ready_after(&mut service, delay, &call.abort).await?;
    service.call(call).await
}

impl Stream for Generation {
    type Item = Event;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Event>> {
        if self.is_over {
            return Poll::Ready(self.last.take());
        }
        let item = ready!(self.stream.as_mut().poll_next(cx));
        Poll::Ready(Some(self.event(item)))
    }
}
