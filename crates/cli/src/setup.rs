//! Everything that a plan's rollouts run on, built.

use std::{sync::Arc, time::Duration};

use respool_core::{Dialect, PolicyVersion};
use respool_dialect::{Continues, HfDialect};
use respool_driver::{AgentLoop, Services, Settings};
use respool_format::Fingerprints;
use respool_interact::Interactions;
use respool_llm::ServerManager;
use respool_llm_mock::{MockConfig, MockServer, Policy};
use respool_registry::{AgentLoopRegistry, AgentLoopWorker, with_reward};
use respool_stack::{GenerateService, MetricsLayer, StreamTimeoutLayer, ToolService, TraceLayer};
use respool_tools::Toolbox;
use tower::Layer;

use crate::{
    config::Config,
    dialect::load_dialect,
    files, fingerprint,
    plan::Plan,
    policy::{self, Solutions},
    servers,
    stats::Stats,
};

/// How long a generation may give nothing, by default.
const STREAM_TIMEOUT: Duration = Duration::from_secs(120);

/// Everything that rollouts run on.
#[derive(Debug)]
pub(crate) struct Setup {
    pub(crate) dialect: Arc<HfDialect>,
    pub(crate) tools: Toolbox,
    pub(crate) servers: Arc<dyn ServerManager>,
    /// The model's context, as far as the servers say.
    pub(crate) context_length: Option<u32>,
    pub(crate) worker: AgentLoopWorker,
    pub(crate) registry: AgentLoopRegistry,
    /// What the teacher knows.
    pub(crate) solutions: Arc<Solutions>,
    pub(crate) stats: Arc<Stats>,
    pub(crate) fingerprints: Fingerprints,
}

impl Setup {
    /// Builds it all. Servers start at that version.
    pub(crate) async fn build(plan: &Plan, version: PolicyVersion) -> anyhow::Result<Self> {
        let config = &plan.config;
        let dialect = Arc::new(load_dialect(config, plan.started)?);
        let tools = config.tools.build()?;
        let (solutions, stats) = (Arc::new(Solutions::default()), Arc::new(Stats::default()));
        let mut context_length = None;
        let servers: Arc<dyn ServerManager> = if config.servers.urls.is_empty() {
            Arc::new(embedded_server(
                plan,
                version,
                policy::build(&config.policy, &dialect, &tools, solutions.lookup())?,
            )?)
        } else {
            files::allow(plan.concurrency() as u64, config.servers.urls.len() as u64)?;
            let (pool, context) = servers::pool(config, &dialect, plan.seed(), version).await?;
            context_length = context;
            Arc::new(pool)
        };
        let services = Services {
            generate: generate(config, stats.watch_generate(servers.generate())),
            tools: ToolService::new(TraceLayer.layer(MetricsLayer.layer(stats.watch_tools(tools.service())))),
            sessions: tools.sessions(),
            interact: interactions(config)?.service(),
        };
        let registry = registry(config, &dialect, services)?;
        let worker = AgentLoopWorker::new(registry.clone(), Arc::clone(&servers), plan.concurrency(), None);
        let fingerprints = fingerprint::of(config, dialect.as_ref(), &tools)?;
        Ok(Self { dialect, tools, servers, context_length, worker, registry, solutions, stats, fingerprints })
    }

    /// What a person should know about the template before the run.
    pub(crate) fn warnings(&self) -> Vec<String> {
        let report = self.dialect.continuations();
        [("tool results", &report.tool), ("a user message", &report.user)]
            .into_iter()
            .filter_map(|(what, continues)| match continues {
                Continues::AppendOnly => None,
                Continues::NotAppendOnly { .. } => Some(format!(
                    "chat template: {what} after a turn change earlier text; tokens stay as they were sampled and \
                     records say template_append_only: false"
                )),
                Continues::Cannot { reason } => {
                    Some(format!("chat template: {what} cannot follow a turn: {reason}"))
                }
            })
            .collect()
    }
}

/// The policy in this process, behind what a server does to it.
fn embedded_server(
    plan: &Plan,
    version: PolicyVersion,
    policy: Arc<dyn Policy>,
) -> anyhow::Result<MockServer> {
    let section = &plan.config.policy;
    let config = MockConfig {
        token_latency: section.token_latency.unwrap_or_default(),
        delta_size: section.delta_size(),
        faults: section.faults.script(plan.seed())?,
        version,
    };
    Ok(MockServer::new(policy, config))
}

/// The layers around generation.
fn generate(config: &Config, service: GenerateService) -> GenerateService {
    let timeout = config.run.stream_timeout.unwrap_or(STREAM_TIMEOUT);
    let service = StreamTimeoutLayer::new(timeout, timeout).layer(service);
    GenerateService::new(TraceLayer.layer(MetricsLayer.layer(service)))
}

fn interactions(config: &Config) -> anyhow::Result<Interactions> {
    config
        .interaction
        .iter()
        .try_fold(Interactions::new(), |all, (name, section)| Ok(all.with(name, section.build())?))
}

fn registry(
    config: &Config,
    dialect: &Arc<HfDialect>,
    services: Services,
) -> anyhow::Result<AgentLoopRegistry> {
    let mut settings = Settings::default();
    if let Some(deadline) = config.run.tool_interrupt_deadline {
        settings.tool_interrupt_deadline = deadline;
    }
    let dialect: Arc<dyn Dialect> = Arc::<HfDialect>::clone(dialect);
    let registry = AgentLoopRegistry::builtin(AgentLoop::new(dialect, services, settings));
    Ok(match &config.reward {
        None => registry,
        Some(reward) => {
            let (rewards, name) = reward.build()?;
            let rewards = Arc::new(rewards);
            registry.map(|service| with_reward(service, Arc::clone(&rewards), name))
        }
    })
}
