//! A server whose every answer a test decides.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};

use futures_util::{FutureExt, StreamExt, future::BoxFuture, stream};
use respool_core::{
    EffectId, Fault, GenerateDelta, GenerateEvent, GenerateFinish, GenerateRequest, Logprob, PolicyVersion,
    RolloutId, Sampling,
};
use respool_stack::{GenerateCall, GenerateStream};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio_util::sync::CancellationToken;

use crate::{
    ControlFuture, Controls, LlmServer, Load, ModelInfo, Pool, PoolSettings, ServerCall, WeightSync, WireIds,
};

pub(crate) type Item = Result<GenerateEvent, Fault>;

/// How a call goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    Well,
    /// A terminal fault; nothing happens.
    Refused,
    /// A transient fault; nothing happens.
    Fails,
    /// It happens, and the answer is lost.
    Unanswered,
    /// No answer, for ever.
    Hangs,
}

#[derive(Debug)]
pub(crate) struct Fake {
    name: String,
    inner: Mutex<Inner>,
}

#[derive(Debug)]
pub(crate) struct Inner {
    pub(crate) controls: Controls,
    pub(crate) label: String,
    /// How calls go, by name; `Well` unless it says otherwise.
    pub(crate) ways: HashMap<&'static str, Way>,
    pub(crate) log: Vec<String>,
    pub(crate) is_paused: bool,
    /// Requests that came when none should have.
    pub(crate) violations: Vec<String>,
    pub(crate) must_not_be_asked: bool,
    /// What each new stream gives at once.
    pub(crate) script: Vec<Item>,
    /// What a request fails with.
    pub(crate) refusal: Option<Fault>,
    streams: Vec<UnboundedSender<Item>>,
}

impl Fake {
    pub(crate) fn new(name: &str) -> Arc<Self> {
        let controls = Controls {
            pause_abort: true,
            pause_keep: true,
            set_version: true,
            update_from_disk: true,
            flush_cache: true,
        };
        let inner = Inner {
            controls,
            label: "0".to_owned(),
            ways: HashMap::new(),
            log: Vec::new(),
            is_paused: false,
            violations: Vec::new(),
            must_not_be_asked: false,
            script: Vec::new(),
            refusal: None,
            streams: Vec::new(),
        };
        Arc::new(Self { name: name.to_owned(), inner: Mutex::new(inner) })
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap()
    }

    pub(crate) fn goes(&self, call: &'static str, way: Way) {
        self.lock().ways.insert(call, way);
    }

    /// Nothing that is asked of it arrives.
    pub(crate) fn die(&self) {
        for call in ["generate", "probe", "label", "pause", "continue", "version", "abort"] {
            self.goes(call, Way::Fails);
        }
        self.say_all(&Err(Fault::transient("connection reset")));
    }

    pub(crate) fn revive(&self) {
        self.lock().ways.clear();
    }

    /// Every open stream gives this.
    pub(crate) fn say_all(&self, item: &Item) {
        self.lock().streams.retain(|stream| stream.send(item.clone()).is_ok());
    }

    /// The calls so far whose name is one of these.
    pub(crate) fn calls(&self, names: &[&str]) -> Vec<String> {
        let is_asked = |call: &&String| names.iter().any(|name| call.starts_with(name));
        self.lock().log.iter().filter(is_asked).cloned().collect()
    }

    pub(crate) fn requests(&self) -> usize {
        self.calls(&["generate"]).len()
    }

    fn control<'a>(
        &'a self,
        call: &'static str,
        detail: String,
        apply: impl FnOnce(&mut Inner) + Send + 'a,
    ) -> ControlFuture<'a, ()> {
        async move {
            let way = {
                let mut inner = self.lock();
                inner.log.push(format!("{call}{detail}"));
                let way = inner.ways.get(call).copied().unwrap_or(Way::Well);
                if matches!(way, Way::Well | Way::Unanswered) {
                    apply(&mut inner);
                }
                way
            };
            match way {
                Way::Well => Ok(()),
                Way::Refused => Err(Fault::terminal(format!("{call} is not known here"))),
                Way::Fails | Way::Unanswered => Err(Fault::transient("connection refused")),
                Way::Hangs => std::future::pending().await,
            }
        }
        .boxed()
    }
}

impl LlmServer for Fake {
    fn name(&self) -> &str {
        &self.name
    }

    fn generate(&self, call: ServerCall) -> BoxFuture<'static, Result<GenerateStream, Fault>> {
        let mut inner = self.lock();
        let id = call.ids.next(call.request.rollout, call.request.effect.turn);
        inner.log.push(format!("generate {id}"));
        if inner.is_paused || inner.must_not_be_asked {
            inner.violations.push(id);
        }
        match inner.ways.get("generate") {
            Some(Way::Fails) => {
                return std::future::ready(Err(Fault::transient("connection refused"))).boxed();
            }
            Some(Way::Hangs) => return std::future::pending().boxed(),
            _ => {}
        }
        if let Some(fault) = inner.refusal.clone() {
            return std::future::ready(Err(fault)).boxed();
        }
        let (sender, receiver) = unbounded_channel();
        inner.script.iter().for_each(|item| sender.send(item.clone()).unwrap());
        inner.streams.push(sender);
        let items = stream::unfold((receiver, call.abort), async |(mut receiver, abort)| {
            let item = tokio::select! {
                biased;
                item = receiver.recv() => item?,
                () = abort.cancelled() => ended(GenerateFinish::Abort),
            };
            Some((item, (receiver, abort)))
        });
        std::future::ready(Ok(items.boxed())).boxed()
    }

    fn controls(&self) -> Controls {
        self.lock().controls
    }

    fn probe(&self) -> ControlFuture<'_, ()> {
        self.control("probe", String::new(), |_| {})
    }

    fn pause(&self, mode: WeightSync) -> ControlFuture<'_, ()> {
        self.control("pause", format!(" {mode:?}"), move |inner| {
            inner.is_paused = true;
            if mode == WeightSync::Abort {
                inner.streams.drain(..).for_each(|stream| drop(stream.send(ended(GenerateFinish::Abort))));
            }
        })
    }

    fn continue_generation(&self) -> ControlFuture<'_, ()> {
        self.control("continue", String::new(), |inner| inner.is_paused = false)
    }

    fn abort_all(&self) -> ControlFuture<'_, ()> {
        self.control("abort", String::new(), |inner| {
            inner.streams.drain(..).for_each(|stream| drop(stream.send(ended(GenerateFinish::Abort))));
        })
    }

    fn set_version(&self, version: PolicyVersion) -> ControlFuture<'_, ()> {
        self.control("version", format!(" {version}"), move |inner| inner.label = version.to_string())
    }

    fn weight_label(&self) -> ControlFuture<'_, String> {
        async move {
            self.control("label", String::new(), |_| {}).await?;
            Ok(self.lock().label.clone())
        }
        .boxed()
    }

    fn update_from_disk<'a>(&'a self, model_path: &'a str, version: PolicyVersion) -> ControlFuture<'a, ()> {
        self.control("update", format!(" {model_path}"), move |inner| inner.label = version.to_string())
    }

    fn flush_cache(&self) -> ControlFuture<'_, ()> {
        self.control("flush", String::new(), |_| {})
    }

    fn load(&self) -> ControlFuture<'_, Load> {
        async { Ok(Load { running: self.lock().streams.len() as u64, waiting: 0 }) }.boxed()
    }

    fn abort<'a>(&'a self, id: &'a str) -> ControlFuture<'a, ()> {
        self.control("abort", id.to_owned(), |_| {})
    }

    fn model_info(&self) -> ControlFuture<'_, ModelInfo> {
        async { Ok(ModelInfo::default()) }.boxed()
    }
}

pub(crate) fn pool_with(settings: PoolSettings, servers: &[&Arc<Fake>]) -> Pool {
    let nonce = std::sync::atomic::AtomicU64::new(0);
    let ids = WireIds::new(move || nonce.fetch_add(1, std::sync::atomic::Ordering::Relaxed));
    let pool = Pool::new(settings, ids, 7, PolicyVersion(0));
    for server in servers {
        let server = Arc::clone(server);
        pool.add(server).unwrap();
    }
    pool
}

pub(crate) fn request(rollout: u128) -> GenerateRequest {
    GenerateRequest {
        rollout: RolloutId(rollout),
        effect: EffectId { turn: 0, slot: 0, attempt: 0 },
        prompt_ids: vec![1, 2, 3],
        turn_tokens: 0,
        max_tokens: 16,
        stop_token_ids: Arc::from([2]),
        sampling: Arc::new(Sampling::default()),
        seed: 0,
    }
}

pub(crate) fn call(rollout: u128) -> GenerateCall {
    GenerateCall { request: request(rollout), abort: CancellationToken::new() }
}

pub(crate) fn delta(version: u64, tokens: &[u32]) -> Item {
    Ok(GenerateEvent::Delta(GenerateDelta {
        version: PolicyVersion(version),
        tokens: tokens.to_vec(),
        logprobs: vec![Logprob::new(-1.0); tokens.len()],
    }))
}

pub(crate) fn ended(finish: GenerateFinish) -> Item {
    Ok(GenerateEvent::Ended(finish))
}

/// Lets everything happen that needs no time.
pub(crate) async fn calm() {
    for _ in 0..50 {
        tokio::task::yield_now().await;
    }
}
