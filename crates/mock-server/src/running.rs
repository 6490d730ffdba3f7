//! One answer while it is generated: as events, or as a whole.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use bytes::{Bytes, BytesMut};
use futures_util::{Stream, StreamExt, stream::unfold};
use http::StatusCode;
use respool_core::{GenerateDelta, GenerateEvent, GenerateFinish, PolicyVersion, Token};
use respool_stack::{GenerateCall, GenerateStream};
use tokio_util::sync::CancellationToken;

use crate::WireEnd;
use crate::ask::Ask;
use crate::connection::Context;
use crate::life::Active;
use crate::log::Receipt;
use crate::plan::{Breach, DataFault, Plan};
use crate::reply::{self, Cut, Reply};
use crate::shown::{Chunk, JsonOut};
use crate::writer::{End, Finish, Progress, Writer};

const GARBAGE: &[u8] = b"data: {\"\xff\xfe\x00 this is no JSON\n\n";
const DONE: &[u8] = b"data: [DONE]\n\n";
const BROKEN: &str = "mock server: broken off by a fault";

/// A generation and what it has become on the wire. Dropped before its end, it is a disconnect.
pub(crate) struct Running {
    context: Context,
    plan: Plan,
    writer: Box<dyn Writer>,
    stream: GenerateStream,
    stop_tokens: Arc<[Token]>,
    max_tokens: u32,
    death: CancellationToken,
    receipt: Receipt,
    /// Not written yet.
    chunk: Chunk,
    sampled: u32,
    last: Option<Token>,
    version: PolicyVersion,
    label: Arc<str>,
    retractions_before: u32,
    stage: Stage,
    out: BytesMut,
    _active: Active,
}

/// What a stream does next.
enum Stage {
    Generating,
    Done,
    Cut,
    Over,
}

/// What the generation did.
enum Step {
    Sampled,
    Ended(Finish),
    Broken,
    Died,
}

impl Running {
    /// Starts a generation.
    ///
    /// # Errors
    /// The policy's word on why it cannot answer.
    pub(crate) fn start(
        context: Context,
        ask: Ask,
        plan: Plan,
        abort: CancellationToken,
        active: Active,
    ) -> Result<Self, String> {
        let config = &context.shared.config;
        let receipt = Receipt::new(context.shared.log.clone(), &ask, &context.life, plan.fault);
        let call = GenerateCall { request: ask.request(config), abort };
        let stream = context.life.mock.start(call, plan.generation).map_err(|fault| fault.message)?;
        let version = PolicyVersion(u64::MAX);
        Ok(Self {
            death: context.life.death.child_token(),
            label: context.life.current_label(),
            retractions_before: context.life.retractions(),
            writer: ask.writer,
            stop_tokens: ask.stop_tokens,
            max_tokens: ask.max_tokens,
            context,
            plan,
            stream,
            receipt,
            version,
            chunk: Chunk::default(),
            sampled: 0,
            last: None,
            stage: Stage::Generating,
            out: BytesMut::new(),
            _active: active,
        })
    }

    /// The answer as events.
    pub(crate) fn into_events(self) -> impl Stream<Item = Result<Bytes, Cut>> + Send {
        unfold(Box::new(self), |mut running| async move { Some((running.next_event().await?, running)) })
    }

    /// The answer as a whole.
    pub(crate) async fn into_whole(mut self) -> Result<Reply, Cut> {
        loop {
            match self.step().await {
                Step::Sampled => {}
                Step::Ended(finish) => {
                    self.write(Some(finish), |writer, out, chunk, progress| {
                        writer.whole(out, chunk, progress)
                    });
                    return Ok(reply::json_bytes(StatusCode::OK, self.out.freeze()));
                }
                Step::Broken => return self.broken_whole(),
                Step::Died => return Err(Cut),
            }
        }
    }

    async fn next_event(&mut self) -> Option<Result<Bytes, Cut>> {
        match std::mem::replace(&mut self.stage, Stage::Over) {
            Stage::Generating => self.generate().await,
            Stage::Done => Some(Ok(Bytes::from_static(DONE))),
            Stage::Cut => Some(Err(cut().await)),
            Stage::Over => None,
        }
    }

    async fn generate(&mut self) -> Option<Result<Bytes, Cut>> {
        loop {
            match self.step().await {
                // The last tokens and the finish come in one event.
                Step::Sampled if self.is_complete() => {}
                Step::Sampled => {
                    self.stage = Stage::Generating;
                    return Some(Ok(self.event(None)));
                }
                Step::Ended(finish) => {
                    self.stage = Stage::Done;
                    return Some(Ok(self.event(Some(finish))));
                }
                Step::Broken => return self.broken_stream().await,
                Step::Died => return Some(Err(cut().await)),
            }
        }
    }

    async fn step(&mut self) -> Step {
        let item = if self.death.is_cancelled() {
            None
        } else {
            tokio::select! {
                biased;
                item = self.stream.next() => item,
                () = self.death.cancelled() => None,
            }
        };
        match item {
            Some(Ok(GenerateEvent::Delta(delta))) => self.push(&delta),
            // Its labels come with its deltas.
            Some(Ok(GenerateEvent::Versions { .. })) => {}
            Some(Ok(GenerateEvent::Ended(finish))) => return Step::Ended(self.finish(&finish)),
            // Unasked, by a fault: on the wire like any other.
            Some(Err(_)) => return Step::Ended(Finish::Abort),
            None if self.death.is_cancelled() => {
                self.receipt.end(WireEnd::Death);
                return Step::Died;
            }
            None => {
                self.receipt.end(WireEnd::Fault);
                return Step::Broken;
            }
        }
        Step::Sampled
    }

    fn push(&mut self, delta: &GenerateDelta) {
        if delta.version != self.version {
            self.version = delta.version;
            self.label = self.context.life.label(delta.version);
        }
        self.chunk.push(delta, self.sampled, self.plan.data);
        let start = self.sampled;
        self.sampled += delta.tokens.len() as u32;
        self.last = delta.tokens.last().copied().or(self.last);
        self.receipt.sampled(start, self.sampled, &self.label);
    }

    fn finish(&self, finish: &GenerateFinish) -> Finish {
        match (finish, self.last) {
            (GenerateFinish::Stop, Some(token)) => Finish::Stop(token),
            (GenerateFinish::Length, _) => Finish::Length,
            _ => Finish::Abort,
        }
    }

    fn is_complete(&self) -> bool {
        self.sampled >= self.max_tokens || self.last.is_some_and(|last| self.stop_tokens.contains(&last))
    }

    fn event(&mut self, finish: Option<Finish>) -> Bytes {
        self.out.text("data: ");
        self.write(finish, |writer, out, chunk, progress| writer.event(out, chunk, progress));
        self.out.text("\n\n");
        let before = self.out.len();
        self.out.text("data: ");
        if finish.is_some() && self.writer.epilogue(&mut self.out, self.sampled) {
            self.out.text("\n\n");
        } else {
            self.out.truncate(before);
        }
        self.out.split().freeze()
    }

    /// Writes what was sampled since the last time, and notes it as sent.
    fn write(
        &mut self,
        finish: Option<Finish>,
        write: impl FnOnce(&mut dyn Writer, &mut BytesMut, &Chunk, &Progress<'_>),
    ) {
        let config = &self.context.shared.config;
        if finish.is_some() && self.plan.data == Some(DataFault::RepeatLast) {
            self.chunk.repeat_last();
        }
        if config.decode.is_some() {
            self.chunk.text = config.text(&self.chunk.tokens);
        }
        self.receipt.sent(self.sampled);
        if let Some(finish) = finish {
            self.receipt.end(finish.into());
            self.label = self.context.life.current_label();
        }
        let end = finish.map(|finish| End {
            finish,
            spans: config.reports_versions.then_some(self.receipt.spans()),
            retractions: self.context.life.retractions() - self.retractions_before,
        });
        let progress = Progress { sampled: self.sampled, label: &self.label, end };
        write(&mut *self.writer, &mut self.out, &self.chunk, &progress);
        self.chunk.clear();
    }

    /// The last thing that is seen of a stream which breaks off.
    async fn broken_stream(&mut self) -> Option<Result<Bytes, Cut>> {
        match self.plan.breach {
            Breach::Close => None,
            Breach::Reset | Breach::Die { .. } => {
                // What was written before is on its way first.
                let cut = cut().await;
                self.breach();
                Some(Err(cut))
            }
            Breach::Truncate => {
                self.stage = Stage::Cut;
                let event = self.event(None);
                Some(Ok(event.slice(..event.len() / 2)))
            }
            Breach::Garbage => {
                self.stage = Stage::Cut;
                Some(Ok(Bytes::from_static(GARBAGE)))
            }
            Breach::ErrorEvent => {
                self.stage = Stage::Done;
                self.out.text("data: ");
                self.writer.error(&mut self.out, BROKEN);
                self.out.text("\n\n");
                Some(Ok(self.out.split().freeze()))
            }
        }
    }

    fn broken_whole(mut self) -> Result<Reply, Cut> {
        match self.plan.breach {
            Breach::Garbage => Ok(reply::json_bytes(StatusCode::OK, GARBAGE)),
            Breach::ErrorEvent => {
                self.writer.error(&mut self.out, BROKEN);
                Ok(reply::json_bytes(StatusCode::INTERNAL_SERVER_ERROR, self.out.freeze()))
            }
            Breach::Close | Breach::Reset | Breach::Truncate | Breach::Die { .. } => {
                self.breach();
                Err(Cut)
            }
        }
    }

    /// What a breach does to the connection or the server.
    fn breach(&self) {
        match self.plan.breach {
            Breach::Reset => self.context.is_reset.store(true, Ordering::Relaxed),
            Breach::Die { back_after } => self.context.shared.die_soon(back_after),
            Breach::Close | Breach::Truncate | Breach::Garbage | Breach::ErrorEvent => {}
        }
    }
}

/// The error that cuts the connection, once what was given to it is on its way.
async fn cut() -> Cut {
    tokio::task::yield_now().await;
    Cut
}

impl From<Finish> for WireEnd {
    fn from(finish: Finish) -> Self {
        match finish {
            Finish::Stop(_) => Self::Stop,
            Finish::Length => Self::Length,
            Finish::Abort => Self::Abort,
        }
    }
}

#[cfg(test)]
mod tests;
