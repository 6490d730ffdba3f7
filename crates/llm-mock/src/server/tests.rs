use std::collections::BTreeSet;

use futures_util::StreamExt;
use proptest::prelude::*;
use respool_core::{Class, GenerateEvent, GenerateFinish, GenerateRequest, Logprob, Token};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tower::ServiceExt;

use super::*;
use crate::testing::{STOP, continued, hash_policy, request, turn};
use crate::{FaultRates, ScriptPolicy};

const MS: Duration = Duration::from_millis(1);

/// What a stream gave.
#[derive(Debug, Default, PartialEq)]
struct Seen {
    tokens: Vec<Token>,
    logprobs: Vec<Logprob>,
    versions: Vec<u64>,
    sizes: Vec<usize>,
    end: Option<Result<GenerateFinish, Fault>>,
}

async fn drain(mut stream: GenerateStream) -> Seen {
    let mut seen = Seen::default();
    while let Some(item) = stream.next().await {
        assert_eq!(seen.end, None, "nothing comes after the end");
        match item {
            Ok(GenerateEvent::Delta(delta)) => {
                seen.versions.extend(delta.tokens.iter().map(|_| delta.version.0));
                seen.sizes.push(delta.tokens.len());
                seen.tokens.extend(delta.tokens);
                seen.logprobs.extend(delta.logprobs);
            }
            Ok(GenerateEvent::Ended(finish)) => seen.end = Some(Ok(finish)),
            Ok(GenerateEvent::Versions { .. }) => unreachable!("labels are exact"),
            Err(fault) => seen.end = Some(Err(fault)),
        }
    }
    seen
}

async fn open(
    server: &MockServer,
    request: GenerateRequest,
    abort: &CancellationToken,
) -> Result<GenerateStream, Fault> {
    server.generate().oneshot(GenerateCall { request, abort: abort.clone() }).await
}

async fn run(server: &MockServer, request: GenerateRequest) -> Seen {
    drain(open(server, request, &CancellationToken::new()).await.unwrap()).await
}

/// A server that says 100 tokens and stops, one delta of `size` in `size` ms.
fn paced(size: u32, faults: FaultScript) -> MockServer {
    let config = MockConfig {
        token_latency: MS,
        delta_size: DeltaSize::Fixed(size),
        faults,
        version: PolicyVersion(1),
    };
    MockServer::new(Arc::new(ScriptPolicy::new([(1000..1100).collect()], STOP)), config)
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    runtime.unwrap().block_on(future)
}

fn delta_sizes() -> impl Strategy<Value = DeltaSize> {
    prop_oneof![
        (0_u32..40).prop_map(DeltaSize::Fixed),
        (any::<u64>(), 0_u32..40).prop_map(|(seed, max)| DeltaSize::Random { seed, max }),
    ]
}

/// A whole turn by a server whose requests break in all ways; asked for until it has ended.
async fn turn_in_spite_of_everything(server: &MockServer, first: &GenerateRequest) -> Seen {
    let mut whole = Seen::default();
    let mut next = first.clone();
    loop {
        let abort = CancellationToken::new();
        let timer = tokio::time::sleep(30 * MS);
        let stream = match open(server, next.clone(), &abort).await {
            Ok(stream) => stream,
            Err(fault) => {
                assert!(matches!(fault.class, Class::Overloaded { .. }));
                next = continued(next, &[]);
                continue;
            }
        };
        let (seen, ()) = tokio::join!(drain(stream), async {
            timer.await;
            abort.cancel();
        });
        next = continued(next, &seen.tokens);
        whole.tokens.extend(seen.tokens);
        whole.logprobs.extend(seen.logprobs);
        match seen.end {
            Some(Ok(GenerateFinish::Abort) | Err(_)) | None if whole.tokens.last() != Some(&STOP) => {}
            end => return Seen { end, ..whole },
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn pace_delta_sizes_faults_and_cuts_change_no_token(
        seed: u64,
        fault_seed: u64,
        delta_size in delta_sizes(),
        token_latency in prop_oneof![Just(Duration::ZERO), Just(MS), Just(MS / 3)],
    ) {
        let rates = FaultRates { latency: 0.1, stall: 0.2, abort: 0.2, disconnect: 0.2, overload: 0.1 };
        let faults = FaultScript::none().random(fault_seed, rates);
        let config = MockConfig { token_latency, delta_size, faults, version: PolicyVersion(1) };
        let server = MockServer::new(Arc::new(hash_policy()), config);
        let request = request(seed, &[1, 2, 3], 0);
        let seen = block_on(turn_in_spite_of_everything(&server, &request));
        let (tokens, logprobs) = turn(&hash_policy(), &request).unwrap();
        prop_assert_eq!(seen.tokens, tokens);
        prop_assert_eq!(seen.logprobs, logprobs);
    }

    #[test]
    fn budgets_hold(max_tokens in 0_u32..120, delta_size in delta_sizes()) {
        let config = MockConfig { delta_size, ..MockConfig::default() };
        let server = MockServer::new(Arc::new(ScriptPolicy::new([(1000..1100).collect()], STOP)), config);
        let seen = block_on(run(&server, GenerateRequest { max_tokens, ..request(1, &[1], 0) }));
        prop_assert_eq!(seen.tokens.len(), max_tokens.min(101) as usize);
        let finish = if max_tokens > 100 { GenerateFinish::Stop } else { GenerateFinish::Length };
        prop_assert_eq!(seen.end, Some(Ok(finish)));
    }
}

#[tokio::test(start_paused = true)]
async fn tokens_come_at_their_pace() {
    let started = Instant::now();
    let seen = run(&paced(8, FaultScript::none()), request(1, &[1], 0)).await;
    assert_eq!(seen.sizes, [8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 5]);
    // A delta comes when its last token is due, were it not stopped before.
    assert_eq!(started.elapsed(), 104 * MS);
}

#[tokio::test(start_paused = true)]
async fn an_abort_ends_between_any_two_tokens_with_what_was_sampled() {
    let abort = CancellationToken::new();
    let stream = open(&paced(8, FaultScript::none()), request(1, &[1], 0), &abort).await.unwrap();
    let (seen, ()) = tokio::join!(drain(stream), async {
        tokio::time::sleep(19 * MS).await;
        abort.cancel();
    });
    assert_eq!(seen.sizes, [8, 8, 3]);
    assert_eq!(seen.end, Some(Ok(GenerateFinish::Abort)));
}

#[tokio::test(start_paused = true)]
async fn tokens_bear_the_version_that_was_in_force() {
    let server = paced(8, FaultScript::none());
    let (seen, ()) = tokio::join!(run(&server, request(1, &[1], 0)), async {
        tokio::time::sleep(20 * MS).await;
        server.set_version(PolicyVersion(2)).await.unwrap();
    });
    assert_eq!(seen.versions, [vec![1; 20], vec![2; 81]].concat());
    assert_eq!(server.version(), PolicyVersion(2));
}

/// A weight sync from 20 ms to 50 ms.
async fn sync(server: &MockServer, mode: WeightSync) {
    tokio::time::sleep(20 * MS).await;
    server.pause(mode).await.unwrap();
    tokio::time::sleep(30 * MS).await;
    server.set_version(PolicyVersion(2)).await.unwrap();
    server.continue_generation().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn abort_ends_what_runs_and_lets_new_requests_wait() {
    let server = paced(8, FaultScript::none());
    let started = Instant::now();
    let late = async {
        tokio::time::sleep(25 * MS).await;
        run(&server, request(1, &[1], 0)).await
    };
    let (cut, whole, ()) =
        tokio::join!(run(&server, request(1, &[1], 0)), late, sync(&server, WeightSync::Abort));
    assert_eq!((cut.tokens.len(), cut.end), (20, Some(Ok(GenerateFinish::Abort))));
    assert_eq!((whole.versions, whole.end), (vec![2; 101], Some(Ok(GenerateFinish::Stop))));
    assert_eq!(started.elapsed(), (50 + 104) * MS);
}

#[tokio::test(start_paused = true)]
async fn keep_holds_what_runs_and_goes_on_with_the_new_weights() {
    let server = paced(8, FaultScript::none());
    let started = Instant::now();
    let (seen, ()) = tokio::join!(run(&server, request(1, &[1], 0)), sync(&server, WeightSync::Keep));
    assert_eq!(seen.versions, [vec![1; 20], vec![2; 81]].concat());
    assert_eq!(seen.end, Some(Ok(GenerateFinish::Stop)));
    assert!(started.elapsed() > 130 * MS);
}

#[tokio::test(start_paused = true)]
async fn drain_waits_for_what_runs() {
    let server = paced(8, FaultScript::none());
    let late = async {
        tokio::time::sleep(25 * MS).await;
        run(&server, request(1, &[1], 0)).await
    };
    let (first, second, ()) =
        tokio::join!(run(&server, request(1, &[1], 0)), late, sync(&server, WeightSync::Drain));
    assert_eq!((first.versions, second.versions), (vec![1; 101], vec![2; 101]));
}

#[tokio::test(start_paused = true)]
async fn who_waits_for_a_pause_can_still_be_aborted() {
    let server = paced(8, FaultScript::none());
    server.pause(WeightSync::Drain).await.unwrap();
    let abort = CancellationToken::new();
    let stream = open(&server, request(1, &[1], 0), &abort).await.unwrap();
    let (seen, ()) = tokio::join!(drain(stream), async { abort.cancel() });
    assert_eq!(seen, Seen { end: Some(Ok(GenerateFinish::Abort)), ..Seen::default() });
    let stream = open(&server, request(1, &[1], 0), &CancellationToken::new()).await.unwrap();
    let (seen, aborted) = tokio::join!(drain(stream), server.abort_all());
    assert_eq!((seen.end, aborted), (Some(Ok(GenerateFinish::Abort)), Ok(())));
}

#[tokio::test(start_paused = true)]
async fn health_counts_what_runs() {
    let server = paced(8, FaultScript::none());
    let mut stream = open(&server, request(1, &[1], 0), &CancellationToken::new()).await.unwrap();
    stream.next().await;
    let running = Health { servers: 1, healthy: 1, running: 1, paused: false };
    assert_eq!(server.health().await, Ok(running));
    drop(stream);
    server.pause(WeightSync::Drain).await.unwrap();
    assert_eq!(server.health().await, Ok(Health { running: 0, paused: true, ..running }));
}

#[tokio::test(start_paused = true)]
async fn each_fault_shows_as_what_it_is() {
    let after = 10;
    let wish = Some(Duration::from_secs(2));
    let faults = FaultScript::none()
        .at(0, ServerFault::Abort { after })
        .at(1, ServerFault::Disconnect { after })
        .at(2, ServerFault::Latency(500 * MS))
        .at(3, ServerFault::Overload { retry_after: wish })
        .at(4, ServerFault::Stall { after });
    let server = paced(8, faults);

    let aborted = run(&server, request(1, &[1], 0)).await;
    assert_eq!(aborted.sizes, [8, 2]);
    assert_eq!(aborted.end.unwrap().unwrap_err().class, Class::Transient);

    let broken_off = run(&server, request(1, &[1], 0)).await;
    assert_eq!((broken_off.sizes, broken_off.end), (vec![8, 2], None));

    let started = Instant::now();
    assert_eq!(run(&server, request(1, &[1], 0)).await.tokens.len(), 101);
    assert_eq!(started.elapsed(), 604 * MS);

    let abort = CancellationToken::new();
    let Err(refused) = open(&server, request(1, &[1], 0), &abort).await else { panic!("it is refused") };
    assert_eq!(refused.class, Class::Overloaded { after: wish });

    let stalled = open(&server, request(1, &[1], 0), &abort).await.unwrap();
    let (stalled, ()) = tokio::join!(drain(stalled), async {
        tokio::time::sleep(Duration::from_secs(100)).await;
        abort.cancel();
    });
    assert_eq!((stalled.sizes, stalled.end), (vec![8, 2], Some(Ok(GenerateFinish::Abort))));
}

#[tokio::test(start_paused = true)]
async fn random_delta_sizes_vary_within_their_bound() {
    let config = MockConfig { delta_size: DeltaSize::Random { seed: 1, max: 7 }, ..MockConfig::default() };
    let server = MockServer::new(Arc::new(ScriptPolicy::new([(1000..2000).collect()], STOP)), config);
    let sizes: BTreeSet<_> = run(&server, request(1, &[1], 0)).await.sizes.into_iter().collect();
    assert_eq!(sizes, (1..=7).collect());
}

#[tokio::test(start_paused = true)]
async fn the_longest_waits_do_not_overflow() {
    let faults = FaultScript::none().at(0, ServerFault::Latency(Duration::MAX));
    let config = MockConfig {
        token_latency: Duration::MAX,
        delta_size: DeltaSize::Fixed(u32::MAX),
        faults,
        ..MockConfig::default()
    };
    let server = MockServer::new(Arc::new(ScriptPolicy::new([vec![1000]], STOP)), config);
    let abort = CancellationToken::new();
    let huge = GenerateRequest { max_tokens: u32::MAX, ..request(1, &[1], 0) };
    let stream = open(&server, huge, &abort).await.unwrap();
    let (seen, ()) = tokio::join!(drain(stream), async {
        tokio::time::sleep(MS).await;
        abort.cancel();
    });
    assert_eq!(seen.end, Some(Ok(GenerateFinish::Abort)));
}
