//! The servers' side: mock servers of every kind, each behind a real socket, and the pool.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use respool_core::PolicyVersion;
use respool_llm::{Pool, PoolSettings, WireIds};
use respool_llm_http::{EngineChoice, Expectations, HttpSettings, connect};
use respool_llm_mock::{Draw, seed_from};
use respool_mock_server::{
    Engine, HttpFault, HttpFaults, MockHttpConfig, MockHttpServer, ScriptedFault, StreamStyle,
};
use tokio::runtime::Runtime;

use crate::ledger::{Ledger, Watched};
use crate::world::World;

/// What a server is like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flavour {
    SglangCumulative,
    SglangIncremental,
    /// It tells the label with every event, but no spans.
    SglangSilent,
    Vllm,
    /// Refuses requests while it is paused.
    Vllm33,
    VllmOldLogprobs,
    VllmCompletions,
    /// It tells nothing of its weights in answers.
    VllmSilent,
    /// Its label at start is no version.
    VllmDefault,
    /// Without control routes: its weights have no label that could be set.
    VllmClosed,
}

impl Flavour {
    const fn engine(self) -> Engine {
        match self {
            Self::SglangCumulative | Self::SglangIncremental | Self::SglangSilent => Engine::Sglang,
            Self::Vllm
            | Self::Vllm33
            | Self::VllmOldLogprobs
            | Self::VllmCompletions
            | Self::VllmSilent
            | Self::VllmDefault
            | Self::VllmClosed => Engine::Vllm,
        }
    }

    pub(crate) fn config(self, world: &World) -> MockHttpConfig {
        let mut config = world.mock(self.engine());
        match self {
            Self::SglangCumulative | Self::Vllm => {}
            Self::SglangIncremental => config.stream_style = StreamStyle::Incremental,
            Self::SglangSilent | Self::VllmSilent => config.reports_versions = false,
            Self::Vllm33 => config.holds_while_paused = false,
            Self::VllmOldLogprobs => config.old_logprobs = true,
            Self::VllmCompletions => config.scale_out = false,
            Self::VllmDefault => config.weight_label = "default".to_owned(),
            Self::VllmClosed => config.development_mode = false,
        }
        config
    }

    /// Whether its answers say nothing of its weights.
    pub(crate) fn is_silent(self) -> bool {
        matches!(self, Self::VllmSilent | Self::VllmCompletions)
    }

    /// Whether the labels in its log are what they were called.
    pub(crate) fn can_be_labelled(self) -> bool {
        self != Self::VllmClosed
    }
}

/// How long a server is away at least: longer than the time between two probes.
pub(crate) const AWAY: Duration = Duration::from_millis(120);

/// A fault and its name.
type Named = (&'static str, HttpFault);

/// How often something goes wrong, and what.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Chaos {
    /// So many of a thousand requests meet a fault.
    pub(crate) per_mille: usize,
    /// Whether faults may cost tokens that nobody can count: cut connections, deaths.
    pub(crate) loses_tokens: bool,
}

impl Chaos {
    pub(crate) const NONE: Self = Self { per_mille: 0, loses_tokens: false };

    /// Requests that a server's self-test may take, and requests after which nothing is wrong.
    const FIRST: u64 = 8;
    const LAST: u64 = 20_000;

    fn faults(self, engine: Engine, seed: u64) -> (HttpFaults, Vec<(u64, &'static str)>) {
        let draw = &mut Draw::new(seed);
        let mut names = Vec::new();
        let mut script = Vec::new();
        for request in Self::FIRST..Self::LAST {
            if draw.below(1000) < self.per_mille {
                let (name, fault) = self.fault(engine, draw);
                names.push((request, name));
                script.push(ScriptedFault { request, fault });
            }
        }
        (HttpFaults { script, ..HttpFaults::default() }, names)
    }

    fn fault(self, engine: Engine, draw: &mut Draw) -> Named {
        let after = draw.below(60) as u32;
        let delay = Duration::from_millis(draw.below(20) as u64);
        let status = |status, retry_after| HttpFault::Status { status, retry_after };
        let harmless: [Named; 9] = [
            ("429", status(429, None)),
            ("503 retry-after 0", status(503, Some(Duration::ZERO))),
            ("503", status(503, None)),
            ("500", status(500, None)),
            ("slow_headers", HttpFault::SlowHeaders { delay }),
            ("slow_first_token", HttpFault::SlowFirstToken { delay }),
            ("abort", HttpFault::Abort { after }),
            ("error_event", HttpFault::ErrorEvent { after }),
            ("close", HttpFault::Close { after }),
        ];
        let costly: [Named; 8] = [
            ("reset", HttpFault::Reset { after }),
            ("truncate", HttpFault::Truncate { after }),
            ("garbage", HttpFault::Garbage { after }),
            // Nobody starts a server anew before its clients can see that it is gone.
            ("die", HttpFault::Die { after, back_after: Some(AWAY + delay) }),
            ("wrong_ids", HttpFault::WrongIds { after }),
            ("extra_logprob", HttpFault::ExtraLogprob { after }),
            ("stall", HttpFault::Stall { after }),
            // Only an engine that counts its tokens tells that one came twice.
            (
                "repeat_last",
                match engine {
                    Engine::Sglang => HttpFault::RepeatLast,
                    Engine::Vllm => HttpFault::Garbage { after },
                },
            ),
        ];
        if self.loses_tokens && draw.below(2) == 0 {
            costly[draw.below(costly.len())]
        } else {
            harmless[draw.below(harmless.len())]
        }
    }
}

/// A server and the way to it.
pub(crate) struct House {
    pub(crate) flavour: Flavour,
    pub(crate) server: Arc<MockHttpServer>,
    pub(crate) watched: Watched,
    faults: Vec<(u64, &'static str)>,
}

/// Servers in a runtime of their own, behind a pool.
pub(crate) struct Fleet {
    runtime: Runtime,
    pub(crate) houses: Vec<House>,
    pub(crate) pool: Pool,
    pub(crate) ledger: Ledger,
}

pub(crate) fn pool_settings() -> PoolSettings {
    PoolSettings {
        concurrency: 24,
        eject_base: Duration::from_millis(5),
        eject_max: Duration::from_millis(50),
        probe_interval: Duration::from_millis(50),
        ..PoolSettings::default()
    }
}

impl Fleet {
    pub(crate) async fn start(world: &World, flavours: &[Flavour], chaos: Chaos, seed: u64) -> Self {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        let ledger = Ledger::default();
        let pool = Pool::new(pool_settings(), WireIds::new(|| 0), seed, PolicyVersion(0));
        let mut fleet = Self { runtime, houses: Vec::new(), pool, ledger };
        for (index, flavour) in flavours.iter().enumerate() {
            let seed = seed_from(&[seed, index as u64]);
            let house = fleet.build(world, *flavour, chaos, seed).await;
            fleet.pool.add(Arc::new(house.watched.clone())).unwrap();
            fleet.houses.push(house);
        }
        fleet
    }

    async fn build(&self, world: &World, flavour: Flavour, chaos: Chaos, seed: u64) -> House {
        let draw = &mut Draw::new(seed);
        let mut config = flavour.config(world);
        let (script, faults) = chaos.faults(config.engine, seed);
        config.faults = script;
        config.token_latency = Duration::from_micros(100 + draw.below(300) as u64);
        config.tokens_per_event = 1 + draw.below(6) as u32;
        self.house(world, flavour, config, faults).await
    }

    pub(crate) async fn house(
        &self,
        world: &World,
        flavour: Flavour,
        config: MockHttpConfig,
        faults: Vec<(u64, &'static str)>,
    ) -> House {
        let bound = self.on_servers(MockHttpServer::bind("127.0.0.1:0".parse().unwrap(), config)).await;
        let server = Arc::new(bound.unwrap());
        let url = format!("http://{}", server.addr());
        let expected =
            Expectations { vocab_size: Some(world.dialect.vocab_size()), ..Expectations::default() };
        let settings = HttpSettings::default();
        let (client, _) = connect(&url, EngineChoice::Auto, &expected, settings).await.unwrap();
        drop(server.log().take());
        let watched = Watched { server: client, ledger: self.ledger.clone() };
        House { flavour, server, watched, faults }
    }

    /// Runs this where the servers run.
    pub(crate) async fn on_servers<T: Send + 'static>(
        &self,
        future: impl Future<Output = T> + Send + 'static,
    ) -> T {
        self.runtime.spawn(future).await.unwrap()
    }

    pub(crate) async fn kill(&self, index: usize) {
        let server = Arc::clone(&self.houses[index].server);
        self.on_servers(async move { server.kill().await }).await;
    }

    pub(crate) async fn revive(&self, index: usize) {
        let server = Arc::clone(&self.houses[index].server);
        self.on_servers(async move { server.revive().await }).await.unwrap();
    }

    /// Waits until no server has anything to do.
    pub(crate) async fn idle(&self) {
        for house in &self.houses {
            let server = Arc::clone(&house.server);
            self.on_servers(async move { server.idle().await }).await;
        }
    }

    /// The faults that were given to requests, by kind.
    pub(crate) fn faults_met(&self) -> BTreeMap<&'static str, usize> {
        let mut met = BTreeMap::new();
        for house in &self.houses {
            let faults = house.faults.iter().filter(|(request, _)| *request < house.server.requests());
            faults.for_each(|(_, name)| *met.entry(*name).or_default() += 1);
        }
        met
    }

    /// Ends the servers without waiting for anybody.
    pub(crate) fn stop(self) {
        self.runtime.shutdown_background();
    }
}
