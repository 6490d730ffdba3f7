//! The loop: launch what is wanted, wait for what happens, step.

use respool_core::{AgentState, Class, EffectId, Event, Failure, FailureKind, GenerateFinish};
use respool_engine::Engine;
use respool_stack::{Waste, wasted};

use crate::{
    Checkpoint, Control, Services, Settings, counts,
    launch::{self, Next},
    leave,
    running::Running,
};

/// How [`drive`] came back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Exit {
    /// The rollout is over: its state is `Terminated`.
    Over,
    /// It was interrupted and can be resumed.
    Interrupted,
    /// An event could not be recorded, so going on would break a promise.
    NotRecorded(Failure),
}

/// One drive of one rollout: borrows everything, owns what is running.
pub(crate) struct Drive<'a> {
    pub(crate) engine: &'a mut Engine,
    pub(crate) services: &'a Services,
    pub(crate) settings: &'a Settings,
    pub(crate) checkpoint: Option<&'a dyn Checkpoint>,
    pub(crate) running: Running,
    /// Class of the failure that the next attempt follows.
    failure: Option<Class>,
    seq: u64,
}

/// Drives a rollout until it is over or interrupted.
///
/// A rollout that was driven before is resumed. Dropping the future leaves the engine complete:
/// drive it again, or keep its parts.
pub async fn drive(
    engine: &mut Engine,
    services: &Services,
    settings: &Settings,
    control: &Control,
    checkpoint: Option<&dyn Checkpoint>,
) -> Exit {
    let mut drive =
        Drive { engine, services, settings, checkpoint, running: Running::default(), failure: None, seq: 0 };
    match drive.run(control).await {
        Ok(exit) => exit,
        Err(failure) => Exit::NotRecorded(failure),
    }
}

impl Drive<'_> {
    async fn run(&mut self, control: &Control) -> Result<Exit, Failure> {
        if is_under_way(self.engine) {
            self.step(Event::Resume).await?;
        }
        loop {
            if control.is_cancelled() {
                return self.cancel().await;
            }
            if control.is_interrupted() {
                return leave::interrupt(self, control).await;
            }
            match self.reconcile() {
                Next::Over => {
                    self.hear_labels(control).await?;
                    return Ok(Exit::Over);
                }
                Next::Step(event) => self.step(event).await?,
                Next::Record(event) => self.start_once(event).await?,
                Next::Wait => tokio::select! {
                    biased;
                    () = control.cancelled() => {}
                    () = control.interrupted() => {}
                    event = self.running.next() => self.step(event).await?,
                },
            }
        }
    }

    /// Waits, not for long, for what engines still have to say of the versions of tokens that are kept.
    pub(crate) async fn hear_labels(&mut self, control: &Control) -> Result<(), Failure> {
        let deadline = tokio::time::sleep(self.settings.abort_grace);
        tokio::pin!(deadline);
        loop {
            tokio::select! {
                biased;
                labels = self.running.next_labels() => match labels {
                    Some(labels) => self.step(labels).await?,
                    None => return Ok(()),
                },
                () = control.cancelled() => break,
                () = &mut deadline => break,
            }
        }
        let silent: Vec<EffectId> = self.running.lingering().collect();
        for effect in silent {
            self.step(Event::Versions { effect, spans: Vec::new(), uncertain: true }).await?;
        }
        self.running.drop_all();
        Ok(())
    }

    pub(crate) fn reconcile(&mut self) -> Next {
        launch::reconcile(self.engine, &mut self.running, self.services, self.settings, self.failure)
    }

    /// Drops what runs and is not wanted any more.
    pub(crate) fn drop_unwanted(&mut self) {
        self.running.keep_wanted(&self.engine.wanted());
    }

    /// Steps the engine, then records the event if it was accepted.
    pub(crate) async fn step(&mut self, event: Event) -> Result<(), Failure> {
        self.failure = retry_class(&event);
        let Some(checkpoint) = self.checkpoint else {
            self.accept(event);
            return Ok(());
        };
        let copy = event.clone();
        if self.accept(event) { self.record(checkpoint, &copy, false).await } else { Ok(()) }
    }

    fn accept(&mut self, event: Event) -> bool {
        let (tokens, before) = (counts::tokens(&event), self.engine.data().wasted_tokens);
        let reason = if tokens > 0 { Waste::AfterEnd } else { Waste::Restarted };
        let failure = event.class();
        match self.engine.step(event) {
            Ok(()) => {
                let dropped = self.engine.data().wasted_tokens.saturating_sub(before);
                wasted(reason, usize::try_from(dropped).unwrap_or(usize::MAX));
                if let Some(class) = failure
                    && !matches!(self.engine.state(), AgentState::Terminated(_))
                {
                    counts::retried(class);
                }
                true
            }
            Err(rejected) => {
                wasted(Waste::Late, tokens);
                tracing::debug!(rollout = %self.engine.data().spec.id, %rejected, "event rejected");
                false
            }
        }
    }

    async fn record(
        &mut self,
        checkpoint: &dyn Checkpoint,
        event: &Event,
        durable: bool,
    ) -> Result<(), Failure> {
        let rollout = self.engine.data().spec.id;
        let seq = self.seq;
        self.seq += 1;
        checkpoint.append(rollout, seq, event, durable).await.map_err(|fault| Failure {
            kind: FailureKind::Checkpoint,
            class: fault.class,
            message: format!("event {seq} ({}) could not be recorded: {fault}", event.name()),
        })
    }

    /// A `once` call: on disk first, then in the state, then launched, with nothing in between.
    async fn start_once(&mut self, event: Event) -> Result<(), Failure> {
        if let Some(checkpoint) = self.checkpoint {
            self.record(checkpoint, &event, true).await?;
        }
        let Event::ToolStarted { effect } = event else { return Ok(()) };
        if self.accept(event) {
            launch::launch_tool(self.engine, &mut self.running, self.services, effect);
        }
        Ok(())
    }

    pub(crate) async fn cancel(&mut self) -> Result<Exit, Failure> {
        self.running.drop_all();
        self.step(Event::Cancel).await?;
        Ok(Exit::Over)
    }
}

/// The class of what the next attempt follows. An abort without our asking is a manager's (a weight
/// sync): it is no failure, but whoever comes back at once, again and again, would spin.
fn retry_class(event: &Event) -> Option<Class> {
    match event {
        Event::GenerateEnded { finish: GenerateFinish::Abort, .. } => Some(Class::Transient),
        event => event.class(),
    }
}

/// Whether an engine was driven before, so that what ran then has to be fenced.
fn is_under_way(engine: &Engine) -> bool {
    match engine.state() {
        AgentState::Terminated(_) => false,
        AgentState::Pending => !engine.data().marks.is_empty(),
        AgentState::Generating { .. }
        | AgentState::ProcessingTools { .. }
        | AgentState::Interacting { .. } => true,
    }
}
