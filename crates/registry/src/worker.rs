//! Runs many rollouts at once; interrupts, cancels and resumes all of them.

use std::sync::Arc;

use respool_core::{
    AgentData, AgentLoopOutput, AgentState, Class, Failure, FailureKind, Fault, Finish, PolicyVersion,
    RolloutId, RolloutSpec,
};
use respool_driver::{Checkpoint, Control, RolloutRequest, Start};
use respool_llm::ServerManager;
use tokio::{
    sync::Semaphore,
    task::{Id, JoinSet},
};
use tower::{Service, ServiceExt};

use crate::{AgentLoopRegistry, Counts, counts::Ledger, gate::Gate};

/// What a worker is given: a new task, or one of its own outputs.
#[derive(Clone, Debug)]
pub enum Work {
    /// A new rollout.
    New(Arc<RolloutSpec>),
    /// A previous output: a cancelled one goes on, the others come back unchanged.
    Previous(AgentLoopOutput),
}

/// What became of one piece of work.
#[derive(Debug)]
pub struct Outcome {
    /// Its index in what was submitted.
    pub index: usize,
    /// The rollout.
    pub rollout: RolloutId,
    /// The output, or why there is none: the loop is not known, or its task ended by a panic.
    pub output: Result<AgentLoopOutput, Fault>,
}

/// Runs many rollouts at once. Cheap to clone; all clones are one worker.
#[derive(Clone, Debug)]
pub struct AgentLoopWorker {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    registry: AgentLoopRegistry,
    servers: Arc<dyn ServerManager>,
    permits: Semaphore,
    gate: Gate,
    ledger: Ledger,
    checkpoint: Option<Arc<dyn Checkpoint>>,
}

impl AgentLoopWorker {
    /// A worker that runs at most `concurrency` rollouts at a time; their events go to `checkpoint`,
    /// if there is one.
    #[must_use]
    pub fn new(
        registry: AgentLoopRegistry,
        servers: Arc<dyn ServerManager>,
        concurrency: usize,
        checkpoint: Option<Arc<dyn Checkpoint>>,
    ) -> Self {
        let permits = Semaphore::new(concurrency.clamp(1, Semaphore::MAX_PERMITS));
        let (gate, ledger) = (Gate::new(), Ledger::default());
        Self { shared: Arc::new(Shared { registry, servers, permits, gate, ledger, checkpoint }) }
    }

    /// Interrupts every rollout: each hands back a cancelled output, or goes on after
    /// [`Self::resume`] where it was run by [`Self::run_to_end`]. Work that comes now waits.
    /// Interrupting twice is interrupting once.
    pub fn interrupt(&self) {
        self.shared.gate.close();
    }

    /// Waits until no rollout runs: after [`Self::interrupt`], the moment to change the weights.
    pub async fn idle(&self) {
        self.shared.gate.idle().await;
    }

    /// Ends every rollout that runs or waits, for good.
    pub fn cancel(&self) {
        self.shared.gate.cancel();
    }

    /// Tells the servers their new policy version and lets rollouts run again. Resuming twice is
    /// resuming once.
    ///
    /// # Errors
    /// If a server does not take the version; rollouts stay interrupted then.
    pub async fn resume(&self, version: PolicyVersion) -> Result<(), Fault> {
        self.shared.servers.set_version(version).await?;
        self.shared.gate.open();
        Ok(())
    }

    /// Lets rollouts run again under the version that is in force: after an interrupt that no weight
    /// update came of.
    pub fn go_on(&self) {
        self.shared.gate.open();
    }

    /// Where every rollout is.
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.shared.ledger.get()
    }

    /// Runs one piece of work until it is over or interrupted.
    ///
    /// # Errors
    /// If its agent loop is not known, or the loop itself fails.
    pub async fn run(&self, work: Work) -> Result<AgentLoopOutput, Fault> {
        self.admitted(async |ticket| self.shared.run_once(work, ticket).await).await
    }

    /// Runs one piece of work until it is over, however often it is interrupted and resumed.
    ///
    /// # Errors
    /// As [`Self::run`].
    pub async fn run_to_end(&self, work: Work) -> Result<AgentLoopOutput, Fault> {
        let mut work = work;
        self.admitted(async move |ticket| {
            loop {
                match self.shared.run_once(work, ticket).await? {
                    output @ AgentLoopOutput::Cancelled { .. } => work = Work::Previous(output),
                    output @ (AgentLoopOutput::Completed(_) | AgentLoopOutput::Failed { .. }) => {
                        return Ok(output);
                    }
                }
            }
        })
        .await
    }

    /// Runs all of them at once, each until it is over or interrupted; outcomes come in the order
    /// of the work. A rollout whose task panics is reported as failed and costs no other its work.
    pub async fn run_all(&self, work: Vec<Work>) -> Vec<Outcome> {
        let mut tasks = JoinSet::new();
        let mut names = std::collections::HashMap::<Id, (usize, RolloutId)>::new();
        for (index, work) in work.into_iter().enumerate() {
            let rollout = work.rollout();
            let worker = self.clone();
            let handle = tasks.spawn(async move { worker.run(work).await });
            names.insert(handle.id(), (index, rollout));
        }
        let mut outcomes = Vec::with_capacity(names.len());
        while let Some(joined) = tasks.join_next_with_id().await {
            let (id, output) = match joined {
                Ok((id, output)) => (id, output),
                Err(error) => {
                    (error.id(), Err(Fault::terminal(format!("the rollout's task ended by itself: {error}"))))
                }
            };
            if let Some((index, rollout)) = names.remove(&id) {
                outcomes.push(Outcome { index, rollout, output });
            }
        }
        outcomes.sort_by_key(|outcome| outcome.index);
        outcomes
    }

    /// Keeps the ledger, also where the future is dropped or panics, and waits for a permit, which
    /// an interrupted rollout keeps: it goes on before new ones start.
    async fn admitted(
        &self,
        run: impl AsyncFnOnce(&Control) -> Result<AgentLoopOutput, Fault>,
    ) -> Result<AgentLoopOutput, Fault> {
        let entry = Entry::open(&self.shared.ledger);
        let ticket = self.shared.gate.ticket();
        let permit = self.shared.permits.acquire().await;
        let result = run(&ticket).await;
        drop(permit);
        entry.close(&result);
        result
    }
}

impl Shared {
    async fn run_once(&self, work: Work, ticket: &Control) -> Result<AgentLoopOutput, Fault> {
        let start = match work {
            Work::New(spec) => Start::New(spec),
            Work::Previous(AgentLoopOutput::Cancelled { data, state }) => Start::Resume { data, state },
            Work::Previous(output) => return Ok(output),
        };
        let inside = self.gate.enter(ticket).await;
        if inside.control.is_cancelled()
            && let Start::New(spec) = start
        {
            let data = AgentData::new(spec);
            return Ok(AgentLoopOutput::from_parts(data, AgentState::Terminated(Finish::Cancelled)));
        }
        let mut service = match self.registry.get(agent_name(&start)) {
            Ok(service) => service,
            Err(unknown) => return Ok(not_runnable(start, unknown.to_string())),
        };
        let control = inside.control.clone();
        let request = RolloutRequest { start, control, checkpoint: self.checkpoint.clone() };
        service.ready().await?.call(request).await
    }
}

fn agent_name(start: &Start) -> &str {
    match start {
        Start::New(spec) => &spec.agent_name,
        Start::Resume { data, .. } => &data.spec.agent_name,
    }
}

fn not_runnable(start: Start, message: String) -> AgentLoopOutput {
    let data = match start {
        Start::New(spec) => AgentData::new(spec),
        Start::Resume { data, .. } => *data,
    };
    AgentLoopOutput::failed(data, Failure { kind: FailureKind::Task, class: Class::Terminal, message })
}

impl Work {
    /// The rollout's name.
    #[must_use]
    pub fn rollout(&self) -> RolloutId {
        match self {
            Self::New(spec) => spec.id,
            Self::Previous(output) => output.rollout(),
        }
    }
}

/// An open entry of the ledger; one that is dropped open counts as failed.
struct Entry<'a> {
    ledger: &'a Ledger,
    is_open: bool,
}

impl<'a> Entry<'a> {
    fn open(ledger: &'a Ledger) -> Self {
        ledger.change(|counts| {
            counts.submitted += 1;
            counts.in_flight += 1;
        });
        Self { ledger, is_open: true }
    }

    fn close(mut self, result: &Result<AgentLoopOutput, Fault>) {
        self.is_open = false;
        self.ledger.change(|counts| {
            counts.in_flight -= 1;
            match result {
                Ok(AgentLoopOutput::Completed(_)) => counts.completed += 1,
                Ok(AgentLoopOutput::Cancelled { .. }) => counts.interrupted += 1,
                Ok(AgentLoopOutput::Failed { .. }) | Err(_) => counts.failed += 1,
            }
        });
    }
}

impl Drop for Entry<'_> {
    fn drop(&mut self) {
        if self.is_open {
            self.ledger.change(|counts| {
                counts.in_flight -= 1;
                counts.failed += 1;
            });
        }
    }
}
