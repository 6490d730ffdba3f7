use futures_util::StreamExt;
use respool_core::Class;
use tower::ServiceExt;

use super::*;
use crate::testing::{Item, delta, generate, stalled, stop};

const FIRST: Duration = Duration::from_secs(60);
const IDLE: Duration = Duration::from_secs(5);

/// What comes of a stream that gives these items, each after its wait, and then stalls; and when.
async fn run(items: Vec<(Duration, Item)>) -> (Vec<Item>, Duration) {
    let service = tower::service_fn(move |_call: GenerateCall| {
        let timed = futures_util::stream::iter(items.clone()).then(|(wait, item)| async move {
            tokio::time::sleep(wait).await;
            item
        });
        std::future::ready(Ok(timed.chain(stalled(Vec::new())).boxed() as GenerateStream))
    });
    let started = Instant::now();
    let stream = StreamTimeoutLayer::new(FIRST, IDLE).layer(service).oneshot(generate()).await.unwrap();
    let seen = stream.collect().await;
    (seen, started.elapsed())
}

fn secs(secs: u64) -> Duration {
    Duration::from_secs(secs)
}

#[track_caller]
fn assert_late(seen: &[Item], after_items: usize, limit: &str) {
    assert_eq!(seen.len(), after_items + 1);
    let fault = seen.last().unwrap().as_ref().unwrap_err();
    assert_eq!(fault.class, Class::Transient);
    assert!(fault.message.ends_with(&format!("turn 1 slot 0 attempt 2: no token within {limit}")), "{fault}");
}

#[tokio::test(start_paused = true)]
async fn the_first_token_may_take_longer() {
    let (seen, took) = run(vec![]).await;
    assert_late(&seen, 0, "60s");
    assert_eq!(took, FIRST);
}

#[tokio::test(start_paused = true)]
async fn an_empty_delta_is_no_first_token() {
    let (seen, took) = run(vec![(secs(50), delta(&[]))]).await;
    assert_late(&seen, 1, "60s");
    assert_eq!(took, FIRST);
}

#[tokio::test(start_paused = true)]
async fn after_the_first_token_the_idle_limit_holds() {
    let (seen, took) = run(vec![(secs(1), delta(&[1])), (secs(4), delta(&[2]))]).await;
    assert_late(&seen, 2, "5s");
    assert_eq!(took, secs(10));
}

#[tokio::test(start_paused = true)]
async fn a_steady_stream_is_not_touched() {
    let mut items: Vec<_> = (0..40).map(|token| (secs(4), delta(&[token]))).collect();
    items.push((secs(4), stop()));
    let (seen, _) = run(items.clone()).await;
    assert_eq!(seen[..41], items.into_iter().map(|(_, item)| item).collect::<Vec<_>>());
}

#[tokio::test(start_paused = true)]
async fn a_limit_without_end_is_no_limit() {
    let service = tower::service_fn(|_call: GenerateCall| std::future::ready(Ok(stalled(vec![delta(&[1])]))));
    let layer = StreamTimeoutLayer::new(Duration::MAX, Duration::MAX);
    let mut stream = layer.layer(service).oneshot(generate()).await.unwrap();
    assert_eq!(stream.next().await, Some(delta(&[1])));
}
