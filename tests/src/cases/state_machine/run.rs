//! Runs a rollout as a case says, and gathers the facts about it.

use std::cell::Cell;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use respool_core::{
    AgentLoopOutput, Dialect, GenerateRequest, Limits, Message, Role, RolloutId, RolloutSpec,
};
use respool_dialect::{DialectOptions, HfDialect};
use respool_driver::{AgentLoop, Control, RolloutRequest, RolloutService, Services, Settings, Start};
use respool_format::{Fingerprints, Snapshot};
use respool_testkit::{ResultTokens, TokenDialect};
use respool_tools::Toolbox;
use tokio::time::Instant;
use tower::ServiceExt;

use super::actions::{self, Plan, Resume, Run};
use super::input::{Input, TextAnswer};
use super::words::{Moment, Signal};
use crate::clock;
use crate::report::Verdict;
use crate::world::block_on;
use crate::world::server::ScriptedServer;
use crate::world::tools::{Behaviour, Counts, Seen, StubTool, behaviour};

/// Everything about a run that a case may ask for.
#[derive(Debug)]
pub(super) struct Facts {
    pub(super) output: AgentLoopOutput,
    pub(super) requests: Vec<GenerateRequest>,
    pub(super) tools: Counts,
    pub(super) end_token: u32,
    /// From the cancel to the output.
    pub(super) cancel_latency: Option<Duration>,
    /// Whether a run through the bytes of snapshots came out as one without.
    pub(super) same_without_process_change: Option<bool>,
}

/// Runs the case; one that changes processes also without doing so.
///
/// # Errors
/// If the case is not understood, or the loop itself fails.
pub(super) fn run(input: &Input) -> Result<Facts, Verdict> {
    let plan = actions::read(&input.actions)?;
    let mut facts = run_plan(input, &plan)?;
    if plan.resumes.iter().any(|(resume, _)| *resume == Resume::FromSnapshot) {
        let resumes = plan.resumes.iter().map(|(_, run)| (Resume::InPlace, *run)).collect();
        let in_place = Plan { resumes, ..plan };
        let twin = run_plan(input, &in_place)?;
        facts.same_without_process_change = Some(facts.output == twin.output);
    }
    Ok(facts)
}

fn run_plan(input: &Input, plan: &Plan) -> Result<Facts, Verdict> {
    let dialect = dialect(input)?;
    let replies = input.replies(plan, |answer| encode(&dialect, answer))?;
    let server = ScriptedServer::new(replies, false);
    let seen = Seen::default();
    let world = World {
        dialect: dialect.dialect(),
        server,
        toolbox: toolbox(input, &seen)?,
        seen,
        spec: spec(input)?,
    };
    let facts = block_on(world.run(plan)).map_err(|error| Verdict::Skipped(error.to_string()))??;
    Ok(Facts { end_token: input.end_token.unwrap_or(respool_testkit::token::STOP), ..facts })
}

struct World {
    dialect: Arc<dyn Dialect>,
    server: ScriptedServer,
    toolbox: Toolbox,
    seen: Seen,
    spec: RolloutSpec,
}

impl World {
    async fn run(self, plan: &Plan) -> Result<Facts, Verdict> {
        let services = Services {
            tools: self.toolbox.service(),
            sessions: self.toolbox.sessions(),
            ..Services::generate_only(self.server.service())
        };
        let service = AgentLoop::new(Arc::clone(&self.dialect), services, Settings::default()).boxed();
        let mut spec = self.spec.clone();
        spec.tools = self.toolbox.specs();
        let (mut output, mut cancel_latency) =
            self.run_once(&service, Start::New(Arc::new(spec)), plan.first).await?;
        for (resume, run) in &plan.resumes {
            let AgentLoopOutput::Cancelled { data, state } = output else { break };
            let (data, state) = match resume {
                Resume::InPlace => (data, state),
                Resume::FromSnapshot => {
                    let snapshot = Snapshot { data: *data, state, fingerprints: Fingerprints::default() };
                    let read = respool_format::decode(&respool_format::encode(&snapshot));
                    let read = read.map_err(|error| Verdict::Fail(format!("the snapshot: {error}")))?;
                    (Box::new(read.data), read.state)
                }
            };
            (output, cancel_latency) = self.run_once(&service, Start::Resume { data, state }, *run).await?;
        }
        Ok(Facts {
            output,
            requests: self.server.requests(),
            tools: self.seen.counts(),
            end_token: 0,
            cancel_latency,
            same_without_process_change: None,
        })
    }

    async fn run_once(
        &self,
        service: &RolloutService,
        start: Start,
        run: Run,
    ) -> Result<(AgentLoopOutput, Option<Duration>), Verdict> {
        let control = Control::new();
        self.server.begin_run(&control, None);
        let cancelled_at = Cell::new(None);
        let tell = |signal| match signal {
            Signal::Interrupt => control.interrupt(),
            Signal::Cancel => {
                cancelled_at.set(Some(Instant::now()));
                control.cancel();
            }
        };
        if let Some(signal) = run.at_start {
            tell(signal);
        }
        let call = service.clone().oneshot(RolloutRequest::new(start, control.clone()));
        let before = self.seen.counts();
        let signals = async {
            if let Some((moment, signal)) = run.with_tools {
                self.wait_for(moment, &before).await;
                tell(signal);
            }
            std::future::pending::<Infallible>().await
        };
        let output = tokio::select! {
            biased;
            never = signals => match never {},
            output = call => output,
        };
        let output = output.map_err(|fault| Verdict::Fail(format!("the loop failed: {fault}")))?;
        Ok((output, cancelled_at.get().map(|at| at.elapsed())))
    }

    /// Waits for what tools do in this run, which began with those counts.
    async fn wait_for(&self, moment: Moment, before: &Counts) {
        let (is_there, after): (fn(&Counts, usize) -> bool, _) = match moment {
            Moment::AfterStart(after) => (|_, started| started > 0, after),
            Moment::FirstEnded => (|now, started| now.running > 0 && started > now.running, Duration::ZERO),
        };
        let starts = |counts: &Counts| counts.started.values().sum::<usize>();
        loop {
            let now = self.seen.counts();
            if is_there(&now, starts(&now) - starts(before)) {
                break;
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        tokio::time::sleep(after).await;
    }
}

fn spec(input: &Input) -> Result<RolloutSpec, Verdict> {
    let prompt = input.prompt_ids.iter().map(u32::to_string).collect::<Vec<_>>().join(" ");
    let mut spec = RolloutSpec::new(RolloutId(1), "case", vec![Message::new(Role::User, prompt)]);
    spec.limits = Limits {
        prompt_length: u32::MAX,
        // How long a text is depends on the tokenizer, which a case with texts does not name.
        response_length: if input.format.is_none() { input.max_response } else { u32::MAX },
        context_length: input.max_context,
        turn_length: input.max_tokens_per_turn,
        max_assistant_turns: input.max_assistant_turns,
        max_user_turns: input.max_user_turns,
        max_parallel_calls: input.max_parallel_calls.unwrap_or(u32::MAX),
        ..Limits::default()
    };
    spec.options.partial_rollout = input.partial_rollout.unwrap_or(true);
    Ok(spec)
}

/// The tools that the case names, and `t00` to `t99`, which answer at once.
fn toolbox(input: &Input, seen: &Seen) -> Result<Toolbox, Verdict> {
    let mut builder = Toolbox::builder();
    let plain = (0..100).map(|number| format!("t{number:02}")).filter(|name| !input.tools.contains_key(name));
    for name in plain {
        let answers = Behaviour::Answers { text: "ok".to_owned(), after: Duration::ZERO };
        builder = builder.tool(StubTool::new(&name, answers, seen)?);
    }
    for (name, text) in &input.tools {
        builder = builder.tool(StubTool::new(name, behaviour(text)?, seen)?);
    }
    builder.build().map_err(|error| Verdict::NotUnderstood(format!("tools: {error}")))
}

/// Bare ids, or a real dialect where the script is text.
enum CaseDialect {
    Ids(TokenDialect),
    Text(Arc<HfDialect>),
}

impl CaseDialect {
    fn dialect(self) -> Arc<dyn Dialect> {
        match self {
            Self::Ids(dialect) => Arc::new(dialect),
            Self::Text(dialect) => dialect,
        }
    }
}

fn dialect(input: &Input) -> Result<CaseDialect, Verdict> {
    let Some(format) = &input.format else {
        let results = input.tool_suffix_ids.clone().map_or(ResultTokens::Named, ResultTokens::Fixed);
        return Ok(CaseDialect::Ids(TokenDialect::plain(results)));
    };
    if respool_dialect::tool_format(format).is_none() {
        return Err(Verdict::NotBuilt);
    }
    let options = DialectOptions { tool_format: format.clone(), ..DialectOptions::new(clock::unset()) };
    let dialect = HfDialect::embedded(options).map_err(|error| Verdict::Fail(error.to_string()))?;
    Ok(CaseDialect::Text(Arc::new(dialect)))
}

/// A turn's text as tokens; one that stops ends with the stop token.
fn encode(dialect: &CaseDialect, answer: &TextAnswer) -> Result<Vec<u32>, Verdict> {
    let CaseDialect::Text(dialect) = dialect else {
        return Err(Verdict::NotUnderstood("server_script_text without a format".to_owned()));
    };
    let mut tokens = dialect.encode_text(&answer.text).map_err(|error| Verdict::Fail(error.to_string()))?;
    if answer.finish == "stop" {
        tokens.extend(dialect.stop_tokens().first());
    }
    Ok(tokens)
}
