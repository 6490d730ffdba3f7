//! A server that gives the answers of a script, one a request, and can interrupt the rollout.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::{StreamExt, future, stream};
use respool_core::{
    Fault, GenerateDelta, GenerateEvent, GenerateFinish, GenerateRequest, Logprob, PolicyVersion, Token,
};
use respool_driver::Control;
use respool_stack::{GenerateCall, GenerateService, GenerateStream};

/// One answer.
#[derive(Clone, Debug)]
pub(crate) struct Reply {
    pub(crate) tokens: Vec<Token>,
    /// `None`: the server gives none.
    pub(crate) logprobs: Option<Vec<f32>>,
    /// `None`: the stream breaks.
    pub(crate) finish: Option<GenerateFinish>,
    pub(crate) version: u64,
    pub(crate) interrupt: Interrupt,
}

/// When an answer interrupts the rollout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Interrupt {
    /// It does not.
    Never,
    /// When its tokens are there, before its end.
    AfterTokens,
    /// The same, for good.
    CancelAfterTokens,
    /// When the request arrives; the abort is ignored and the answer comes later.
    Ignored(Duration),
}

/// A server with a script.
#[derive(Clone, Debug)]
pub(crate) struct ScriptedServer {
    replies: Arc<[Reply]>,
    /// Whether an answer is cut to the request's budget and then ends by length.
    cuts_to_budget: bool,
    shared: Arc<Mutex<Shared>>,
}

#[derive(Debug, Default)]
struct Shared {
    control: Control,
    requests: Vec<GenerateRequest>,
    version: Option<u64>,
}

impl ScriptedServer {
    pub(crate) fn new(replies: Vec<Reply>, cuts_to_budget: bool) -> Self {
        Self { replies: replies.into(), cuts_to_budget, shared: Arc::default() }
    }

    /// A new run of the rollout starts: interrupts are its from now on.
    pub(crate) fn begin_run(&self, control: &Control, version: Option<u64>) {
        self.with(|shared| {
            shared.control = control.clone();
            shared.version = version;
        });
    }

    /// Interrupts the present run.
    pub(crate) fn interrupt(&self) {
        self.with(|shared| shared.control.interrupt());
    }

    /// All requests so far.
    pub(crate) fn requests(&self) -> Vec<GenerateRequest> {
        self.with(|shared| shared.requests.clone())
    }

    pub(crate) fn service(&self) -> GenerateService {
        let server = self.clone();
        GenerateService::new(tower::service_fn(move |call| future::ready(server.answer(call))))
    }

    fn with<T>(&self, change: impl FnOnce(&mut Shared) -> T) -> T {
        change(&mut self.shared.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn answer(&self, call: GenerateCall) -> Result<GenerateStream, Fault> {
        let GenerateCall { request, .. } = call;
        let budget = request.max_tokens as usize;
        let (index, control, version) = self.with(|shared| {
            shared.requests.push(request);
            (shared.requests.len() - 1, shared.control.clone(), shared.version)
        });
        let reply = self.replies.get(index);
        let mut reply = reply.cloned().ok_or_else(|| {
            Fault::terminal(format!(
                "request {} came, the script has {} answers",
                index + 1,
                self.replies.len()
            ))
        })?;
        if self.cuts_to_budget && reply.tokens.len() > budget {
            reply.tokens.truncate(budget);
            reply.finish = Some(GenerateFinish::Length);
        }
        let version = PolicyVersion(version.unwrap_or(reply.version));
        let delta = GenerateEvent::Delta(delta(&reply, version));
        let ended = match reply.finish.clone() {
            Some(finish) => Ok(GenerateEvent::Ended(finish)),
            None => Err(Fault::transient("the server failed")),
        };
        let first = {
            let control = control.clone();
            async move {
                if let Interrupt::Ignored(delay) = reply.interrupt {
                    control.interrupt();
                    tokio::time::sleep(delay).await;
                }
                Ok(delta)
            }
        };
        let last = async move {
            match reply.interrupt {
                Interrupt::AfterTokens => control.interrupt(),
                Interrupt::CancelAfterTokens => control.cancel(),
                Interrupt::Never | Interrupt::Ignored(_) => return ended,
            }
            // The rollout sees the signal before it sees the end.
            tokio::task::yield_now().await;
            ended
        };
        Ok(Box::pin(stream::once(first).chain(stream::once(last))))
    }
}

fn delta(reply: &Reply, version: PolicyVersion) -> GenerateDelta {
    let logprobs = reply.logprobs.iter().flatten().map(|value| Logprob::new(*value)).collect();
    GenerateDelta { version, tokens: reply.tokens.clone(), logprobs }
}
