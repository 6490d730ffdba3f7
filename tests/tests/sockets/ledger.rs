//! What the client gave out, call by call: the other half of the servers' own log.

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll, ready};

use futures_util::future::BoxFuture;
use futures_util::{FutureExt as _, Stream};
use respool_core::{EffectId, Fault, GenerateEvent, GenerateFinish, PolicyVersion, RolloutId};
use respool_llm::{ControlFuture, Controls, LlmServer, Load, ModelInfo, ServerCall, WeightSync, WireIds};
use respool_llm_http::HttpServer;
use respool_stack::GenerateStream;
use tokio::sync::Notify;

/// How a call ended for whoever made it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// Its stream was dropped, or the call itself.
    Dropped,
    Ended(GenerateFinish),
    /// The first word of the fault.
    Failed(String),
}

/// One request, as the client served it.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) rollout: RolloutId,
    pub(crate) effect: EffectId,
    /// The version that the pool had noted.
    pub(crate) noted: PolicyVersion,
    /// Tokens that came out of the client.
    pub(crate) given: u32,
    /// Whether the server told which weights sampled what.
    pub(crate) told_versions: bool,
    pub(crate) end: End,
}

/// All calls of a test. Clones are the same ledger.
#[derive(Clone, Default)]
pub(crate) struct Ledger(Arc<Inner>);

#[derive(Default)]
struct Inner {
    calls: Mutex<Vec<Call>>,
    /// Which call a request on the wire belongs to.
    sends: Mutex<HashMap<u64, usize>>,
    nonce: AtomicU64,
    given: AtomicU64,
    moved: Notify,
}

impl Ledger {
    fn open(&self, call: &ServerCall) -> usize {
        let mut calls = self.calls();
        calls.push(Call {
            rollout: call.request.rollout,
            effect: call.request.effect,
            noted: call.version,
            given: 0,
            told_versions: false,
            end: End::Dropped,
        });
        calls.len() - 1
    }

    /// Ids that tell which call they are sent for.
    fn ids(&self, call: usize) -> Arc<WireIds> {
        let inner = Arc::clone(&self.0);
        Arc::new(WireIds::new(move || {
            let nonce = inner.nonce.fetch_add(1, Ordering::Relaxed);
            inner.sends.lock().unwrap().insert(nonce, call);
            nonce
        }))
    }

    fn note(&self, call: usize, item: &Result<GenerateEvent, Fault>) {
        let call = &mut self.calls()[call];
        match item {
            Ok(GenerateEvent::Delta(delta)) => {
                call.given += delta.tokens.len() as u32;
                self.0.given.fetch_add(delta.tokens.len() as u64, Ordering::Relaxed);
                self.0.moved.notify_waiters();
            }
            Ok(GenerateEvent::Versions { .. }) => call.told_versions = true,
            Ok(GenerateEvent::Ended(finish)) => call.end = End::Ended(finish.clone()),
            Err(fault) => call.end = End::Failed(first_word(&fault.message)),
        }
    }

    /// Tokens that came out of the client so far.
    pub(crate) fn given(&self) -> u64 {
        self.0.given.load(Ordering::Relaxed)
    }

    /// Waits until so many more tokens came.
    pub(crate) async fn more(&self, tokens: u64) {
        let goal = self.given() + tokens;
        loop {
            let moved = self.0.moved.notified();
            if self.given() >= goal {
                return;
            }
            moved.await;
        }
    }

    pub(crate) fn calls(&self) -> MutexGuard<'_, Vec<Call>> {
        self.0.calls.lock().unwrap()
    }

    /// The call that a request with this id was sent for.
    pub(crate) fn call_of(&self, wire_id: &str) -> Option<usize> {
        let nonce = u64::from_str_radix(wire_id.rsplit('-').next()?, 16).ok()?;
        self.0.sends.lock().unwrap().get(&nonce).copied()
    }
}

fn first_word(message: &str) -> String {
    message.split([':', ' ']).next().unwrap_or_default().to_owned()
}

/// A server whose calls are in the ledger.
#[derive(Clone)]
pub(crate) struct Watched {
    pub(crate) server: HttpServer,
    pub(crate) ledger: Ledger,
}

impl std::fmt::Debug for Watched {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.server.fmt(f)
    }
}

struct WatchedStream {
    inner: GenerateStream,
    ledger: Ledger,
    call: usize,
}

impl Stream for WatchedStream {
    type Item = Result<GenerateEvent, Fault>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let item = ready!(self.inner.as_mut().poll_next(cx));
        if let Some(item) = &item {
            self.ledger.note(self.call, item);
        }
        Poll::Ready(item)
    }
}

impl LlmServer for Watched {
    fn name(&self) -> &str {
        self.server.name()
    }

    fn generate(&self, call: ServerCall) -> BoxFuture<'static, Result<GenerateStream, Fault>> {
        let ledger = self.ledger.clone();
        let number = ledger.open(&call);
        let opened = self.server.generate(ServerCall { ids: ledger.ids(number), ..call });
        async move {
            match opened.await {
                Ok(inner) => Ok(Box::pin(WatchedStream { inner, ledger, call: number }) as GenerateStream),
                Err(fault) => {
                    let item = Err(fault);
                    ledger.note(number, &item);
                    item.map(|_| unreachable!("it is an error"))
                }
            }
        }
        .boxed()
    }

    fn controls(&self) -> Controls {
        self.server.controls()
    }

    fn probe(&self) -> ControlFuture<'_, ()> {
        self.server.probe()
    }

    fn pause(&self, mode: WeightSync) -> ControlFuture<'_, ()> {
        self.server.pause(mode)
    }

    fn continue_generation(&self) -> ControlFuture<'_, ()> {
        self.server.continue_generation()
    }

    fn abort<'a>(&'a self, id: &'a str) -> ControlFuture<'a, ()> {
        self.server.abort(id)
    }

    fn abort_all(&self) -> ControlFuture<'_, ()> {
        self.server.abort_all()
    }

    fn model_info(&self) -> ControlFuture<'_, ModelInfo> {
        self.server.model_info()
    }

    fn set_version(&self, version: PolicyVersion) -> ControlFuture<'_, ()> {
        self.server.set_version(version)
    }

    fn weight_label(&self) -> ControlFuture<'_, String> {
        self.server.weight_label()
    }

    fn update_from_disk<'a>(&'a self, model_path: &'a str, version: PolicyVersion) -> ControlFuture<'a, ()> {
        self.server.update_from_disk(model_path, version)
    }

    fn flush_cache(&self) -> ControlFuture<'_, ()> {
        self.server.flush_cache()
    }

    fn load(&self) -> ControlFuture<'_, Load> {
        self.server.load()
    }
}
