//! A running generation.

use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use futures_util::{FutureExt, Stream};
use http::Response;
use http::header::CONTENT_TYPE;
use hyper::body::{Body, Incoming};
use respool_core::{GenerateEvent, GenerateFinish};
use tokio::time::Sleep;
use tokio_util::sync::WaitForCancellationFutureOwned;

use crate::abort::{AbortGuard, Aborting};
use crate::answer::Answer;
use crate::transport::causes;
use crate::{ClientError, ErrorKind, SseDecoder, SseEvent};

/// How long is read on for the end of an answer that has finished, so that its connection can be
/// used again. It follows at once; a server that leaves it out must not delay the rollout.
const LINGER: Duration = Duration::from_millis(50);

/// The events of a generation. It ends after [`GenerateEvent::Ended`] or an error. Dropping it
/// closes the connection and tells the server to stop, without waiting.
pub struct ClientStream {
    state: State,
}

enum State {
    Running(Box<Generation>),
    /// There is only an end.
    Ending(GenerateFinish),
    Over,
}

impl ClientStream {
    /// A generation that ended before it gave a token.
    pub(crate) const fn ended(finish: GenerateFinish) -> Self {
        Self { state: State::Ending(finish) }
    }

    pub(crate) const fn new(generation: Box<Generation>) -> Self {
        Self { state: State::Running(generation) }
    }
}

impl std::fmt::Debug for ClientStream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ClientStream").finish_non_exhaustive()
    }
}

impl Stream for ClientStream {
    type Item = Result<GenerateEvent, ClientError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let item = match &mut self.state {
            State::Over => return Poll::Ready(None),
            State::Ending(finish) => Ok(GenerateEvent::Ended(finish.clone())),
            State::Running(generation) => ready!(generation.poll_next(cx)),
        };
        if matches!(item, Err(_) | Ok(GenerateEvent::Ended(_))) {
            self.state = State::Over;
        }
        Poll::Ready(Some(item))
    }
}

/// How the bytes of the answer are cut into what its decoder reads.
enum Framing {
    Events(SseDecoder),
    /// One JSON object.
    Whole(Vec<u8>, usize),
}

/// What the stream waits for.
enum Step {
    Bytes(Bytes),
    /// The body is over; why, if it broke off.
    Over(Option<String>),
    Abort,
    GraceOver,
    Lingered,
}

/// An answer that has begun.
pub(crate) struct Generation {
    body: Incoming,
    framing: Option<Framing>,
    answer: Answer,
    guard: AbortGuard,
    cancelled: Pin<Box<WaitForCancellationFutureOwned>>,
    /// After an abort was asked for.
    aborting: Option<Aborting>,
    /// Whether the time for an abort was over before the server was told.
    is_untold: bool,
    /// Whether the stream said that it is done: whatever follows does not count.
    is_done: bool,
    /// After the answer finished.
    linger: Option<Pin<Box<Sleep>>>,
    /// Why the body is over.
    over: Option<String>,
}

impl Generation {
    pub(crate) fn new(
        response: Response<Incoming>,
        answer: Answer,
        guard: AbortGuard,
        cancelled: Pin<Box<WaitForCancellationFutureOwned>>,
        aborting: Option<Aborting>,
        max_event_bytes: usize,
    ) -> Self {
        let content_type = response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
        let is_json = content_type.is_some_and(|value| value.contains("json"));
        let framing = match is_json {
            true => Framing::Whole(Vec::new(), max_event_bytes),
            false => Framing::Events(SseDecoder::new(max_event_bytes)),
        };
        Self {
            body: response.into_body(),
            framing: Some(framing),
            answer,
            guard,
            cancelled,
            aborting,
            is_untold: false,
            is_done: false,
            linger: None,
            over: None,
        }
    }

    /// The next event; after `Ended` or an error there is none.
    pub(crate) async fn next(&mut self) -> Result<GenerateEvent, ClientError> {
        std::future::poll_fn(|cx| self.poll_next(cx)).await
    }

    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Result<GenerateEvent, ClientError>> {
        loop {
            if let Some(event) = self.answer.next_event() {
                return Poll::Ready(Ok(event));
            }
            if let Some(broken) = &self.over {
                if let Some(versions) = self.answer.versions() {
                    return Poll::Ready(Ok(versions));
                }
                let end = self.answer.end(self.aborting.is_some(), broken);
                // A server that goes on after the end is told to stop, as is one whose stream broke.
                if end.is_ok() && !self.answer.was_cut() && !self.is_untold {
                    self.guard.disarm();
                }
                return Poll::Ready(end);
            }
            let step = ready!(self.poll_step(cx));
            self.take(step);
        }
    }

    /// What came in so far.
    pub(crate) const fn answer(&self) -> &Answer {
        &self.answer
    }

    /// What has arrived comes first: nothing else is looked at while there is something to read.
    fn poll_step(&mut self, cx: &mut Context<'_>) -> Poll<Step> {
        if let Poll::Ready(frame) = Pin::new(&mut self.body).poll_frame(cx) {
            return Poll::Ready(match frame {
                Some(Ok(frame)) => Step::Bytes(frame.into_data().unwrap_or_default()),
                Some(Err(error)) => Step::Over(Some(format!("the connection broke ({})", causes(&error)))),
                None => Step::Over(None),
            });
        }
        match (&mut self.linger, &mut self.aborting) {
            (None, None) => self.cancelled.poll_unpin(cx).map(|()| Step::Abort),
            (Some(linger), None) => linger.poll_unpin(cx).map(|()| Step::Lingered),
            (None, Some(aborting)) => aborting.poll_unpin(cx).map(|()| Step::GraceOver),
            (Some(linger), Some(aborting)) => match linger.poll_unpin(cx) {
                Poll::Ready(()) => Poll::Ready(Step::Lingered),
                Poll::Pending => aborting.poll_unpin(cx).map(|()| Step::GraceOver),
            },
        }
    }

    fn take(&mut self, step: Step) {
        match step {
            Step::Bytes(bytes) => self.take_bytes(&bytes),
            Step::Over(broken) => {
                self.flush(broken.is_some());
                self.over = Some(broken.unwrap_or_else(|| "the answer ended".to_owned()));
            }
            Step::Abort => self.aborting = Some(self.guard.abort()),
            Step::GraceOver => {
                self.is_untold = self.aborting.as_ref().is_some_and(|aborting| !aborting.was_told());
                self.over = Some("aborted".to_owned());
            }
            Step::Lingered => self.over = Some("the answer ended".to_owned()),
        }
    }

    fn take_bytes(&mut self, bytes: &[u8]) {
        let (answer, is_done) = (&mut self.answer, &mut self.is_done);
        let result = match &mut self.framing {
            None => return,
            Some(Framing::Events(decoder)) => decoder
                .push(bytes, |event| match event {
                    SseEvent::Data(data) if !*is_done => answer.take(data),
                    SseEvent::Data(_) => {}
                    SseEvent::Done => *is_done = true,
                })
                .map_err(|error| error.to_string()),
            Some(Framing::Whole(whole, limit)) if whole.len() + bytes.len() > *limit => {
                Err(format!("a body of more than {limit} bytes"))
            }
            Some(Framing::Whole(whole, _)) => {
                whole.extend_from_slice(bytes);
                Ok(())
            }
        };
        if let Err(message) = result {
            self.framing = None;
            if !answer.is_over() {
                answer.fail(ErrorKind::TooLarge, format!("{message} (max_event_bytes)"));
            }
        }
        self.guard.name(self.answer.request_id());
        if self.answer.has_failed() || self.answer.was_cut() {
            // Nothing good comes any more; what was given stays.
            self.over = Some("the answer is over".to_owned());
        } else if (self.is_done || self.answer.is_over()) && self.linger.is_none() {
            self.linger = Some(Box::pin(tokio::time::sleep(LINGER)));
        }
    }

    /// The body is over: its rest is an event, if it is a whole one. One that broke off may hold half.
    fn flush(&mut self, is_broken: bool) {
        let answer = &mut self.answer;
        match self.framing.take() {
            None => {}
            Some(Framing::Events(_)) if self.is_done => {}
            Some(Framing::Events(decoder)) => decoder.finish(|event| {
                if let SseEvent::Data(data) = event {
                    answer.take_last(data);
                }
            }),
            Some(Framing::Whole(whole, _)) if is_broken => answer.take_last(&whole),
            Some(Framing::Whole(whole, _)) => answer.take(&whole),
        }
    }
}

#[cfg(test)]
mod tests;
