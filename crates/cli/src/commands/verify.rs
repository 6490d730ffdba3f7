//! `respool verify`: resume equivalence on a user's configuration.

use std::{path::Path, process::ExitCode, sync::Arc};

use anyhow::anyhow;
use futures_util::FutureExt;
use proptest::prelude::{Strategy, any};
use respool_core::{Dialect, PolicyVersion};
use respool_dialect::HfDialect;
use respool_llm::ServerManager;
use respool_verify::{CheckError, Clock, ResumeConfig, ResumeReport, resume_equivalence};
use serde_json::json;
use tokio::runtime::Handle;

use super::{FAILED, execute::runtime};
use crate::{
    args::{PaceArgs, VerifyArgs},
    config::{Config, PolicyKind, Source},
    plan::Plan,
    prepare::{Prepared, prepare},
    screen,
    setup::Setup,
    tasks::TaskFile,
};

/// Long enough for several turns, short enough for many cases.
const LONGEST_RESPONSE: u32 = 1024;
/// The same for real servers, which take their time.
const LONGEST_SERVED_RESPONSE: u32 = 192;
/// How many schedules are tried, unless it is said.
const CASES: u32 = 200;
/// The same with real servers.
const SERVED_CASES: u32 = 20;
/// How far log-probabilities of a real engine may be from each other: it computes a continued turn
/// in another order.
const LOGPROBS_WITHIN: f32 = 1e-4;

pub(super) fn command(args: &VerifyArgs) -> anyhow::Result<ExitCode> {
    let (config, source) = Config::find(args.config.as_deref(), Path::new(""))?;
    screen::say(&match source {
        Source::Given(path) | Source::Beside(path) => format!("configuration: {}", path.display()),
        Source::Defaults => "configuration: defaults (no respool.toml here)".to_owned(),
    });
    let plan = plan(config, args);
    let runtime = runtime()?;
    let setup = runtime.block_on(Setup::build(&plan, PolicyVersion(0)))?;
    let task = task(&plan, &setup)?;
    let spec = task.spec(0);
    let service = setup.registry.get(&spec.agent_name)?;
    screen::say(&format!(
        "trying: agent loop {}, {} tools, {} interactions, {}, responses of at most {} tokens",
        spec.agent_name,
        spec.tools.len(),
        plan.config.interaction.len(),
        if has_servers(&plan) { "greedy sampling" } else { "policy hash" },
        spec.limits.response_length
    ));
    let servers = has_servers(&plan).then(|| runtime.handle().clone());
    match resume_equivalence(&service, resume_config(args, task, &setup, servers)) {
        Ok(report) => {
            screen::say(&tried(&report, has_servers(&plan)));
            Ok(ExitCode::SUCCESS)
        }
        Err(CheckError::Broken(counterexample)) => {
            screen::say(&format!("broken: {counterexample}"));
            Ok(ExitCode::from(FAILED))
        }
        Err(error) => Err(anyhow!("{error}")),
    }
}

fn tried(report: &ResumeReport, is_served: bool) -> String {
    let versions = if is_served { "" } else { ", a new policy version at each" };
    let ResumeReport { cases, interrupts, crashes } = report;
    format!(
        "held: {cases} rollouts, each run uncut and cut ({interrupts} interrupts, {crashes} crashes{versions}), were equal in tokens, mask, log-probabilities, messages, rewards, turns, finish and effects"
    )
}

fn has_servers(plan: &Plan) -> bool {
    !plan.config.servers.urls.is_empty()
}

/// The configuration with a policy that says all kinds of things; with servers, greedily.
fn plan(mut config: Config, args: &VerifyArgs) -> Plan {
    config.servers.set(&args.servers);
    config.model.path = args.model.clone().or(config.model.path);
    config.policy.kind = PolicyKind::Hash;
    config.run.seed = Some(args.seed);
    if config.servers.urls.is_empty() {
        config.limits.cap_response_length(LONGEST_RESPONSE);
    } else {
        config.sampling.make_greedy();
        config.limits.cap_response_length(LONGEST_SERVED_RESPONSE);
    }
    let mut plan = Plan { tasks: "verify".into(), limit: None, started: 0, config };
    plan.set_pace(&PaceArgs::default());
    plan
}

/// A task for the configured loop, tools and interaction. Its samples differ in their seeds.
fn task(plan: &Plan, setup: &Setup) -> anyhow::Result<Arc<Prepared>> {
    let interaction = plan.config.interaction.keys().next().map(|name| json!({ "name": name }));
    let row = json!({
        "task_id": "verify",
        "prompt": [{ "role": "user", "content": "Go on. 北京 naïve 😀" }],
        "reward_model": { "ground_truth": "7" },
        "extra_info": { "interaction_kwargs": interaction },
    });
    let mut file = TaskFile::of_bytes(&plan.tasks, row.to_string().as_bytes(), None);
    let tasks = prepare(&mut file, plan, setup)?;
    tasks.into_iter().next().ok_or_else(|| anyhow!("no task for this configuration: {:?}", file.bad))
}

fn resume_config(
    args: &VerifyArgs,
    task: Arc<Prepared>,
    setup: &Setup,
    servers: Option<Handle>,
) -> ResumeConfig {
    let specs = any::<u32>().prop_map(move |sample| task.spec(sample));
    let mut config = ResumeConfig::new(specs.boxed());
    let cases = if servers.is_some() { SERVED_CASES } else { CASES };
    config.cases.cases = args.cases.unwrap_or(cases);
    config.cases.failure_persistence = None;
    config.cases.rng_seed = proptest::test_runner::RngSeed::Fixed(args.seed);
    let dialect: Arc<dyn Dialect> = Arc::<HfDialect>::clone(&setup.dialect);
    config.dialect = Some(dialect);
    match servers {
        Some(runtime) => {
            config.clock = Clock::On(runtime);
            config.logprobs_within = LOGPROBS_WITHIN;
        }
        None => {
            let servers: Arc<dyn ServerManager> = Arc::clone(&setup.servers);
            config.between = Arc::new(move || {
                let next = PolicyVersion(servers.version().0 + 1);
                // The embedded server takes a version at once and cannot refuse it.
                let _taken = servers.set_version(next).now_or_never();
            });
        }
    }
    config
}
