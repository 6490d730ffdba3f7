//! Single situations, which the property may meet rarely.

use std::sync::Arc;
use std::time::Duration;

use respool_core::{AgentLoopOutput, PolicyVersion, Trajectory, outcome_eq};
use respool_driver::{Control, RolloutRequest, RolloutService, Start};
use respool_llm::{LlmServer as _, ServerManager as _, ServerState, WeightSync};
use respool_mock_server::{HttpFault, HttpFaults, ScriptedFault};
use tower::ServiceExt as _;

use crate::fleet::{Chaos, Flavour, Fleet};
use crate::world::World;

/// Two servers, one rollout.
struct Scene {
    world: Arc<World>,
    fleet: Fleet,
    service: RolloutService,
}

impl Scene {
    async fn new(flavours: &[Flavour]) -> Self {
        let world = World::new();
        let fleet = Fleet::start(&world, flavours, Chaos::NONE, 1).await;
        let service = world.agent_loop(fleet.pool.generate()).boxed();
        Self { world, fleet, service }
    }

    /// One server whose requests meet these faults after its self-test.
    async fn with_faults(flavour: Flavour, faults: &[HttpFault]) -> Self {
        let mut scene = Self::new(&[]).await;
        let mut config = flavour.config(&scene.world);
        config.token_latency = Duration::from_micros(300);
        let probe = scene.fleet.house(&scene.world, flavour, config.clone(), Vec::new()).await;
        let asked = probe.server.requests();
        let script = faults.iter().zip(asked..);
        let script = script.map(|(fault, request)| ScriptedFault { request, fault: *fault }).collect();
        config.faults = HttpFaults { script, ..HttpFaults::default() };
        let house = scene.fleet.house(&scene.world, flavour, config, Vec::new()).await;
        scene.fleet.pool.add(Arc::new(house.watched.clone())).unwrap();
        scene.fleet.houses.push(house);
        scene
    }

    fn start(&self, control: &Control) -> impl Future<Output = AgentLoopOutput> + use<> {
        let spec = self.world.spec(5, 2);
        let request = RolloutRequest::new(Start::New(Arc::new(spec)), control.clone());
        let service = self.service.clone();
        async move { service.oneshot(request).await.unwrap() }
    }

    /// Runs the rollout while this happens, and compares it with the undisturbed one.
    async fn run(&self, happens: impl Future<Output = ()>) -> Trajectory {
        let (output, ()) = futures_util::join!(self.start(&Control::new()), happens);
        self.same(output).await
    }

    async fn same(&self, output: AgentLoopOutput) -> Trajectory {
        let AgentLoopOutput::Completed(trajectory) = output else { panic!("not completed: {output:?}") };
        let undisturbed = self.world.undisturbed(Arc::clone(&trajectory.data.spec)).await;
        outcome_eq(&undisturbed, &trajectory).unwrap();
        assert_eq!(self.fleet.pool.health().await.unwrap().running, 0);
        *trajectory
    }

    /// Waits until a server of the pool is in that state.
    async fn until(&self, index: usize, state: impl Fn(ServerState) -> bool) {
        while !state(self.fleet.pool.servers()[index].state) {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }

    async fn end(self) {
        self.fleet.idle().await;
        self.fleet.stop();
    }
}

const ALL: [Flavour; 9] = [
    Flavour::SglangCumulative,
    Flavour::SglangIncremental,
    Flavour::SglangSilent,
    Flavour::Vllm,
    Flavour::Vllm33,
    Flavour::VllmOldLogprobs,
    Flavour::VllmCompletions,
    Flavour::VllmSilent,
    Flavour::VllmClosed,
];

#[tokio::test]
async fn every_server_says_what_the_policy_says() {
    for flavour in ALL {
        let scene = Scene::new(&[flavour]).await;
        scene.run(async {}).await;
        scene.end().await;
    }
}

#[tokio::test]
async fn faults_one_after_the_other() {
    let after_a_second = Some(Duration::from_secs(1));
    let back_after = Some(Duration::from_millis(30));
    let tables: [&[HttpFault]; 4] = [
        // It dies between the begin of the stream and the first token, and within the stream.
        &[HttpFault::Die { after: 0, back_after }, HttpFault::Die { after: 3, back_after }],
        &[HttpFault::Status { status: 503, retry_after: after_a_second }, HttpFault::Reset { after: 0 }],
        &[HttpFault::Truncate { after: 1 }, HttpFault::Garbage { after: 1 }, HttpFault::Close { after: 0 }],
        &[
            HttpFault::WrongIds { after: 2 },
            HttpFault::ExtraLogprob { after: 2 },
            HttpFault::Abort { after: 2 },
        ],
    ];
    for flavour in [Flavour::SglangCumulative, Flavour::SglangIncremental, Flavour::Vllm] {
        for faults in tables {
            let scene = Scene::with_faults(flavour, faults).await;
            scene.run(async {}).await;
            scene.end().await;
        }
    }
    for flavour in [Flavour::SglangCumulative, Flavour::SglangIncremental] {
        let scene = Scene::with_faults(flavour, &[HttpFault::RepeatLast; 4]).await;
        scene.run(async {}).await;
        scene.end().await;
    }
}

#[tokio::test]
async fn all_servers_die_and_one_returns() {
    let scene = Scene::new(&[Flavour::Vllm, Flavour::SglangCumulative]).await;
    let fleet = &scene.fleet;
    scene
        .run(async {
            fleet.ledger.more(3).await;
            fleet.kill(0).await;
            fleet.kill(1).await;
            fleet.revive(1).await;
        })
        .await;
    scene.end().await;
}

#[tokio::test]
async fn who_returns_with_the_weights_of_its_start_stays_out_until_a_version_is_set() {
    let scene = Scene::new(&[Flavour::SglangIncremental]).await;
    let pool = &scene.fleet.pool;
    pool.set_version(PolicyVersion(1)).await.unwrap();
    let trajectory = scene
        .run(async {
            scene.fleet.ledger.more(3).await;
            scene.fleet.kill(0).await;
            scene.until(0, |state| state == ServerState::Ejected).await;
            scene.fleet.revive(0).await;
            scene.until(0, |state| state == ServerState::Stale).await;
            pool.set_version(PolicyVersion(2)).await.unwrap();
        })
        .await;
    let transcript = &trajectory.data.transcript;
    assert_eq!(transcript.version_start(), Some(PolicyVersion(1)));
    assert_eq!(transcript.version_end(), Some(PolicyVersion(2)));
    scene.end().await;
}

#[tokio::test]
async fn a_server_is_removed_while_it_streams() {
    let scene = Scene::new(&[Flavour::Vllm, Flavour::SglangIncremental]).await;
    scene
        .run(async {
            scene.fleet.ledger.more(3).await;
            let streams = scene.fleet.pool.servers().into_iter().find(|server| server.outstanding > 0);
            let name =
                streams.map_or_else(|| scene.fleet.houses[0].watched.name().to_owned(), |server| server.name);
            assert!(scene.fleet.pool.remove(&name));
        })
        .await;
    scene.end().await;
}

#[tokio::test]
async fn weights_change_under_an_open_stream() {
    for flavour in ALL {
        let mode = if flavour == Flavour::VllmClosed { WeightSync::Abort } else { WeightSync::Keep };
        let scene = Scene::new(&[flavour]).await;
        let pool = &scene.fleet.pool;
        let trajectory = scene
            .run(async {
                scene.fleet.ledger.more(3).await;
                pool.pause(mode).await.unwrap();
                // Where the label cannot be set, nobody took it.
                let _ = pool.set_version(PolicyVersion(1)).await;
                pool.continue_generation().await.unwrap();
            })
            .await;
        let transcript = &trajectory.data.transcript;
        assert_eq!(transcript.version_min(), Some(PolicyVersion(0)), "{flavour:?}");
        scene.end().await;
    }
}

#[tokio::test]
async fn an_interrupt_in_the_queue_costs_nothing() {
    let scene = Scene::new(&[Flavour::Vllm33]).await;
    let (pool, control) = (&scene.fleet.pool, Control::new());
    pool.pause(WeightSync::Abort).await.unwrap();
    let (output, ()) = futures_util::join!(scene.start(&control), async {
        tokio::task::yield_now().await;
        control.interrupt();
    });
    let AgentLoopOutput::Cancelled { data, state } = output else { panic!("not interrupted: {output:?}") };
    assert_eq!((data.transcript.response_len(), data.wasted_tokens), (0, 0));
    pool.continue_generation().await.unwrap();
    let request = RolloutRequest::new(Start::Resume { data, state }, Control::new());
    let output = scene.service.clone().oneshot(request).await.unwrap();
    scene.same(output).await;
    scene.end().await;
}
