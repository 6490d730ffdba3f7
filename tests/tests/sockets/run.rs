//! A run of many rollouts through whatever happens, and everything that has to hold afterwards.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use metrics_util::MetricKind;
use metrics_util::debugging::{DebugValue, DebuggingRecorder, Snapshotter};
use respool_core::outcome_eq;
use respool_llm::ServerManager as _;
use respool_llm_mock::{Draw, seed_from};
use respool_registry::{AgentLoopRegistry, AgentLoopWorker};
use respool_stack::{GenerateService, StreamTimeoutLayer};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tower::Layer as _;

use crate::account::{Account, Joined};
use crate::conductor::{Conductor, Happenings};
use crate::cut::{Cut, Journals, Runner, Told};
use crate::fleet::{Chaos, Flavour, Fleet};
use crate::labels;
use crate::world::World;

/// What a run is like.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) flavours: Vec<Flavour>,
    pub(crate) chaos: Chaos,
    pub(crate) happenings: Happenings,
    pub(crate) rollouts: usize,
    pub(crate) crashes: bool,
}

/// Rollouts at a time.
const CONCURRENCY: usize = 48;

/// A generation that gives nothing for so long is given up.
const STALLED: Duration = Duration::from_millis(400);

/// A run that takes so long is stuck.
const STUCK: Duration = Duration::from_secs(300);

/// Runs it, checks everything, shows the books.
pub(crate) fn run(plan: &Plan, seed: u64) -> Account {
    println!("RESPOOL_SEED={seed} repeats this: {plan:?}");
    let recorder = DebuggingRecorder::new();
    let snapshotter = recorder.snapshotter();
    let _here = metrics::set_default_local_recorder(&recorder);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(disturbed(plan, seed, &snapshotter))
}

async fn disturbed(plan: &Plan, seed: u64, metrics: &Snapshotter) -> Account {
    let world = World::new();
    let fleet = Fleet::start(&world, &plan.flavours, plan.chaos, seed).await;
    let generate = StreamTimeoutLayer::new(STALLED * 2, STALLED).layer(fleet.pool.generate());
    let agent_loop = world.agent_loop(GenerateService::new(generate));
    let journals = Arc::new(Journals::default());
    let worker = AgentLoopWorker::new(
        AgentLoopRegistry::builtin(agent_loop.clone()),
        Arc::new(fleet.pool.clone()),
        CONCURRENCY,
        Some(Arc::<Journals>::clone(&journals)),
    );
    let dialect = Arc::<respool_dialect::HfDialect>::clone(&world.dialect);
    let runner = Arc::new(Runner {
        worker: worker.clone(),
        direct: agent_loop.boxed(),
        journals: Arc::clone(&journals),
        dialect,
    });
    let mut conductor = Conductor {
        fleet: &fleet,
        worker: &worker,
        happenings: plan.happenings,
        draw: Draw::new(seed_from(&[seed, 77])),
        version: 0,
        counts: BTreeMap::new(),
    };
    let stop = CancellationToken::new();
    let specs = world.specs(seed, plan.rollouts);
    let everybody = async {
        let told = run_all(&runner, seed, plan, &specs).await;
        stop.cancel();
        told
    };
    let both = futures_util::future::join(everybody, conductor.conduct(&stop));
    let Ok((told, ())) = tokio::time::timeout(STUCK, both).await else {
        let (health, counts) = (fleet.pool.health().await, worker.counts());
        panic!("stuck: {:?}, {health:?}, {counts:?}\n{}", fleet.pool, journals.open());
    };
    let told = told.unwrap_or_else(|reason| panic!("{reason}"));
    let counts = conductor.counts;
    let (running, states) = (fleet.pool.health().await.unwrap().running, fleet.pool.servers());
    assert_eq!(running, 0, "streams are left: {states:?}");
    assert!(states.iter().all(|server| server.outstanding == 0), "streams are left: {states:?}");
    balanced(&worker, &told);
    fleet.idle().await;
    let joined = join(&fleet);
    let account = Account::new(&joined, &told, wasted(metrics)).unwrap_or_else(|reason| panic!("{reason}"));
    for (spec, told) in specs.iter().zip(&told) {
        let undisturbed = world.undisturbed(Arc::clone(spec)).await;
        if let Err(difference) = outcome_eq(&undisturbed, &told.trajectory) {
            let theirs = |joined: &&Joined| joined.call.rollout == spec.id;
            let calls = joined.iter().filter(theirs).map(|one| format!("{:?} {:?}\n", one.call, one.records));
            let (calls, attempts) = (calls.collect::<String>(), &told.trajectory.data.attempts);
            panic!(
                "rollout {}: undisturbed against disturbed: {difference}\nattempts {attempts:?}\n{calls}",
                spec.id
            );
        }
    }
    let labels = labels::check(&joined, &told).unwrap_or_else(|reason| panic!("{reason}"));
    let cuts = |count: fn(&Told) -> usize| told.iter().map(count).sum::<usize>();
    println!(
        "{} rollouts, {} requests, {} interrupts, {} crashes\nfaults {:?}\nhappenings {counts:?}\n{account}{labels:?}",
        told.len(),
        joined.len(),
        cuts(|told| told.interrupts),
        cuts(|told| told.crashes),
        fleet.faults_met(),
    );
    fleet.stop();
    account
}

async fn run_all(
    runner: &Arc<Runner>,
    seed: u64,
    plan: &Plan,
    specs: &[Arc<respool_core::RolloutSpec>],
) -> Result<Vec<Told>, String> {
    let permits = Arc::new(tokio::sync::Semaphore::new(CONCURRENCY));
    let mut tasks = JoinSet::new();
    for (index, spec) in specs.iter().enumerate() {
        let (runner, permits, spec) = (Arc::clone(runner), Arc::clone(&permits), Arc::clone(spec));
        let cuts = Cut::some(&mut Draw::new(seed_from(&[seed, index as u64, 99])), plan.crashes);
        tasks.spawn(async move {
            let _permit = permits.acquire_owned().await;
            (index, runner.run(spec, cuts).await)
        });
    }
    let mut told: Vec<Option<Told>> = specs.iter().map(|_| None).collect();
    while let Some(joined) = tasks.join_next().await {
        let (index, result) = joined.map_err(|error| error.to_string())?;
        told[index] = Some(result.map_err(|reason| format!("rollout {}: {reason}", specs[index].id))?);
    }
    Ok(told.into_iter().flatten().collect())
}

/// P11: nobody is lost or counted twice. A crash is a rollout that the worker lost.
fn balanced(worker: &AgentLoopWorker, told: &[Told]) {
    let counts = worker.counts();
    assert_eq!(counts.in_flight, 0, "{counts:?}");
    assert_eq!(counts.submitted, counts.completed + counts.failed + counts.interrupted, "{counts:?}");
    let crashes = told.iter().map(|told| told.crashes as u64).sum::<u64>();
    assert_eq!(counts.failed, crashes, "{counts:?}");
}

/// Every call with what the servers logged for it.
fn join(fleet: &Fleet) -> Vec<Joined> {
    let calls = fleet.ledger.calls();
    let mut joined: Vec<Joined> = calls
        .iter()
        .map(|call| Joined { flavour: Flavour::Vllm, call: call.clone(), records: Vec::new() })
        .collect();
    for house in &fleet.houses {
        for record in house.server.log().take() {
            let call = fleet.ledger.call_of(&record.id);
            let call = call.unwrap_or_else(|| panic!("nobody sent the request of {record:?}"));
            joined[call].flavour = house.flavour;
            joined[call].records.push(record);
        }
    }
    joined
}

/// The tokens that were counted as wasted, by reason.
fn wasted(metrics: &Snapshotter) -> BTreeMap<String, u64> {
    let counters = metrics.snapshot().into_vec().into_iter();
    let wasted = counters.filter_map(|(key, _, _, value)| {
        let is_it = key.kind() == MetricKind::Counter && key.key().name() == "respool_wasted_tokens_total";
        let reason = key.key().labels().find(|label| label.key() == "reason")?.value().to_owned();
        match value {
            DebugValue::Counter(tokens) if is_it => Some((reason, tokens)),
            _ => None,
        }
    });
    wasted.collect()
}
