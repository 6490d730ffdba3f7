//! One request at one server: sent once, its end judged.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use futures_util::{FutureExt, Stream, future::BoxFuture, stream};
use respool_core::{Class, Fault, GenerateEvent, GenerateFinish, RolloutId};
use respool_stack::{GenerateCall, GenerateStream};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::{
    admission::{Admitted, admit},
    label::Labels,
    roster::Chosen,
    settings::after,
    shared::{Shared, Slot},
};
use crate::ServerCall;

type Item = Result<GenerateEvent, Fault>;

const ABORTED: Item = Ok(GenerateEvent::Ended(GenerateFinish::Abort));

/// Waits for a server and sends the request.
pub(crate) async fn generate(shared: Arc<Shared>, call: GenerateCall) -> Result<GenerateStream, Fault> {
    let Some(admitted) = admit(&shared, &call).await? else {
        return Ok(just(ABORTED));
    };
    drop(shared); // the slot has it
    let GenerateCall { request, abort } = call;
    let (mut watch, chosen) = Watch::new(admitted, request.rollout, abort);
    let ids = Arc::clone(&watch.slot.shared.ids);
    let call = ServerCall { request, abort: chosen.abort, version: chosen.version, ids };
    let sent = tokio::select! {
        biased;
        () = chosen.member.gone.cancelled() => return Err(watch.removed()),
        sent = chosen.member.server.generate(call) => sent,
    };
    match sent {
        Ok(inner) => Ok(PoolStream::boxed(inner, watch, chosen.member.gone)),
        Err(fault) => watch.broke(fault).map(|event| just(Ok(event))),
    }
}

fn just(item: Item) -> GenerateStream {
    Box::pin(stream::iter([item]))
}

/// Judges what a server does with a request.
struct Watch {
    slot: Slot,
    name: String,
    rollout: RolloutId,
    /// The caller's signal.
    abort: CancellationToken,
    /// How often the pool had aborted everything when the request was sent.
    aborts: u64,
    labels: Labels,
    /// Whether a token came.
    has_tokens: bool,
    /// Whether the server itself labelled the tokens.
    is_labelled: bool,
}

impl Watch {
    fn new(admitted: Admitted, rollout: RolloutId, abort: CancellationToken) -> (Self, Chosen) {
        let Admitted { chosen, slot, epoch } = admitted;
        let watch = Self {
            slot,
            name: chosen.member.server.name().to_owned(),
            rollout,
            abort,
            aborts: chosen.aborts,
            labels: Labels::new(chosen.version, epoch, chosen.aborts),
            has_tokens: false,
            is_labelled: false,
        };
        (watch, chosen)
    }

    /// What becomes of an item; `None` is a stream that ended without an end.
    fn judge(&mut self, item: Option<Item>) -> Item {
        match item {
            Some(Ok(GenerateEvent::Delta(mut delta))) => {
                self.labels.apply(&self.slot.shared, &mut delta);
                if !self.has_tokens && !delta.tokens.is_empty() {
                    self.has_tokens = true;
                    self.succeeded();
                }
                Ok(GenerateEvent::Delta(delta))
            }
            Some(Ok(event @ GenerateEvent::Versions { .. })) => {
                self.is_labelled = true;
                Ok(event)
            }
            Some(Ok(GenerateEvent::Ended(GenerateFinish::Abort))) => self.aborted(),
            Some(Ok(event @ GenerateEvent::Ended(_))) => {
                if !self.has_tokens {
                    self.succeeded();
                }
                Ok(event)
            }
            Some(Err(fault)) => self.broke(fault),
            None => {
                let message = format!("server {} broke the stream off without a finish reason", self.name);
                self.broke(Fault::transient(message))
            }
        }
    }

    /// The server says that it aborted the request. If nobody had asked for that, it is no end; and
    /// from a server that brought no token it is a failure, or it would attract every request.
    fn aborted(&self) -> Item {
        if self.was_asked_to_abort() {
            return ABORTED;
        }
        let message = format!("server {} aborted the request, which nobody had asked for", self.name);
        let fault = Fault::transient(message);
        if self.has_tokens {
            self.slot.shared.change(|roster, _| roster.forget(self.rollout));
        } else {
            self.failed(&fault);
        }
        Err(fault)
    }

    /// The request failed or its stream broke. After an abort that is one way of ending by it.
    fn broke(&mut self, fault: Fault) -> Item {
        if fault.class != Class::Terminal && self.was_asked_to_abort() {
            return ABORTED;
        }
        self.failed(&fault);
        Err(fault)
    }

    fn was_asked_to_abort(&self) -> bool {
        self.abort.is_cancelled() || self.slot.shared.read(|roster| roster.aborts) != self.aborts
    }

    fn succeeded(&self) {
        self.slot.shared.change(|roster, _| roster.succeeded(self.slot.server));
    }

    fn failed(&self, fault: &Fault) {
        self.slot.shared.change(|roster, now| roster.failed(self.slot.server, self.rollout, fault, now));
    }

    fn removed(&self) -> Fault {
        self.slot.shared.change(|roster, _| roster.forget(self.rollout));
        Fault::transient(format!("server {} was removed from the pool", self.name))
    }

    /// What is said before the end about labels that are a guess.
    fn doubt(&mut self) -> Option<GenerateEvent> {
        let is_doubtful = !self.is_labelled && self.labels.are_uncertain(&self.slot.shared);
        is_doubtful.then(|| GenerateEvent::Versions { spans: Vec::new(), uncertain: true })
    }
}

/// A server's stream, which holds its place until it ended.
struct PoolStream {
    /// `None` once it has ended.
    running: Option<Running>,
    /// The end, where something was said before it.
    last: Option<Item>,
}

struct Running {
    inner: GenerateStream,
    watch: Watch,
    /// Ready when the server is removed.
    gone: BoxFuture<'static, ()>,
    /// Ready when the stream has taken too long.
    late: Option<Pin<Box<tokio::time::Sleep>>>,
}

impl PoolStream {
    fn boxed(inner: GenerateStream, watch: Watch, gone: CancellationToken) -> GenerateStream {
        let total = watch.slot.shared.settings.total_timeout;
        let late = total.map(|total| Box::pin(tokio::time::sleep_until(after(Instant::now(), total))));
        let running = Running { inner, watch, gone: gone.cancelled_owned().boxed(), late };
        Box::pin(Self { running: Some(running), last: None })
    }
}

impl Running {
    fn poll_item(&mut self, cx: &mut Context<'_>) -> Poll<Item> {
        if let Poll::Ready(item) = self.inner.as_mut().poll_next(cx) {
            return Poll::Ready(self.watch.judge(item));
        }
        if self.gone.poll_unpin(cx).is_ready() {
            return Poll::Ready(Err(self.watch.removed()));
        }
        let Some(late) = &mut self.late else { return Poll::Pending };
        ready!(late.poll_unpin(cx));
        let (name, limit) = (&self.watch.name, self.watch.slot.shared.settings.total_timeout);
        let limit = limit.unwrap_or_default();
        Poll::Ready(Err(Fault::transient(format!(
            "server {name} did not finish the request within {limit:?}"
        ))))
    }
}

impl Stream for PoolStream {
    type Item = Item;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Item>> {
        let Some(running) = &mut self.running else {
            return Poll::Ready(self.last.take());
        };
        let item = ready!(running.poll_item(cx));
        if matches!(item, Ok(GenerateEvent::Delta(_) | GenerateEvent::Versions { .. })) {
            return Poll::Ready(Some(item));
        }
        let doubt = running.watch.doubt();
        self.running = None;
        match doubt {
            Some(doubt) => {
                self.last = Some(item);
                Poll::Ready(Some(Ok(doubt)))
            }
            None => Poll::Ready(Some(item)),
        }
    }
}
