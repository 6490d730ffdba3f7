//! A rollout over bare token ids, and servers that do what a test says.

use std::{
    future::Future,
    sync::{Arc, Mutex},
    time::Duration,
};

use futures_util::{StreamExt, future, stream};
use respool_core::{
    AgentLoopOutput, Fault, Finish, GenerateDelta, GenerateEvent, GenerateFinish, GenerateRequest, Logprob,
    Message, PolicyVersion, Role, RolloutId, RolloutSpec, Token,
};
use respool_driver::{AgentLoop, Control, RolloutRequest, Services, Settings, Start};
use respool_stack::{GenerateCall, GenerateService, GenerateStream};
use respool_testkit::TokenDialect;
use tower::ServiceExt;

pub(crate) const STOP: Token = respool_testkit::token::STOP;

/// A stream's item, so long after the one before it.
pub(crate) type Timed = (u64, Result<GenerateEvent, Fault>);

pub(crate) fn tokens(after: u64, ids: &[Token]) -> Timed {
    let logprobs = ids.iter().map(|id| Logprob::new(-(*id as f32))).collect();
    let delta = GenerateDelta { version: PolicyVersion(1), tokens: ids.to_vec(), logprobs };
    (after, Ok(GenerateEvent::Delta(delta)))
}

pub(crate) fn ended(after: u64, finish: GenerateFinish) -> Timed {
    (after, Ok(GenerateEvent::Ended(finish)))
}

/// A server that answers the k-th request with the k-th list of items, times in milliseconds. It
/// hears an abort only if it listens: then it ends the stream at once.
#[derive(Clone)]
pub(crate) struct Server {
    answers: Arc<Mutex<std::vec::IntoIter<Vec<Timed>>>>,
    pub(crate) requests: Arc<Mutex<Vec<GenerateRequest>>>,
    listens: bool,
}

impl Server {
    pub(crate) fn new(answers: Vec<Vec<Timed>>) -> Self {
        Self { answers: Arc::new(Mutex::new(answers.into_iter())), requests: Arc::default(), listens: true }
    }

    pub(crate) fn deaf(self) -> Self {
        Self { listens: false, ..self }
    }

    pub(crate) fn service(&self) -> GenerateService {
        let server = self.clone();
        GenerateService::new(tower::service_fn(move |call: GenerateCall| future::ready(server.answer(call))))
    }

    fn answer(&self, call: GenerateCall) -> Result<GenerateStream, Fault> {
        self.requests.lock().unwrap().push(call.request);
        let items =
            self.answers.lock().unwrap().next().ok_or_else(|| Fault::terminal("no answer is left"))?;
        let timed = stream::iter(items).then(|(after, item)| async move {
            tokio::time::sleep(Duration::from_millis(after)).await;
            item
        });
        if !self.listens {
            return Ok(Box::pin(timed));
        }
        let abort = call.abort;
        let heard = abort.clone();
        let last = stream::once(async move { heard.is_cancelled() })
            .filter(|was_heard| future::ready(*was_heard))
            .map(|_| Ok(GenerateEvent::Ended(GenerateFinish::Abort)));
        Ok(Box::pin(timed.take_until(async move { abort.cancelled().await }).chain(last)))
    }

    pub(crate) fn prompts(&self) -> Vec<Vec<Token>> {
        self.requests.lock().unwrap().iter().map(|request| request.prompt_ids.clone()).collect()
    }
}

/// The task of these tests: prompt `1 5`.
pub(crate) fn spec() -> RolloutSpec {
    RolloutSpec::new(RolloutId(1), "task", vec![Message::new(Role::User, "1 5")])
}

/// The loop over these services.
pub(crate) fn agent_loop(services: Services) -> AgentLoop {
    AgentLoop::new(Arc::new(TokenDialect::new()), services, Settings::default())
}

/// Runs from that start; `signal` may tell the control something meanwhile.
pub(crate) async fn run<F: Future<Output = ()>>(
    agent_loop: &AgentLoop,
    start: Start,
    signal: impl FnOnce(Control) -> F,
) -> AgentLoopOutput {
    let control = Control::new();
    let call = agent_loop.clone().oneshot(RolloutRequest::new(start, control.clone()));
    let (output, ()) = tokio::join!(call, signal(control));
    output.unwrap()
}

/// Runs a new rollout to its end.
pub(crate) async fn run_new(agent_loop: &AgentLoop, spec: RolloutSpec) -> AgentLoopOutput {
    run(agent_loop, Start::New(Arc::new(spec)), |_| future::ready(())).await
}

/// Goes on with an output that was interrupted.
pub(crate) async fn resume(agent_loop: &AgentLoop, output: AgentLoopOutput) -> AgentLoopOutput {
    let AgentLoopOutput::Cancelled { data, state } = output else { panic!("not interrupted: {output:?}") };
    run(agent_loop, Start::Resume { data, state }, |_| future::ready(())).await
}

/// Why it ended; `interrupted` if it did not.
pub(crate) fn finish(output: &AgentLoopOutput) -> &str {
    match output {
        AgentLoopOutput::Completed(trajectory) => trajectory.finish.name(),
        AgentLoopOutput::Failed { trajectory, .. } => match &trajectory.finish {
            Finish::Failed(failure) => &failure.message,
            other => other.name(),
        },
        AgentLoopOutput::Cancelled { .. } => "interrupted",
    }
}

pub(crate) async fn after_ms(ms: u64) {
    tokio::time::sleep(Duration::from_millis(ms)).await;
}
