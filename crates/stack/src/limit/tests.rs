use futures_util::StreamExt;
use tokio_test::assert_ready_ok;
use tower::{ServiceExt, service_fn};

use super::*;
use crate::testing::{delta, generate, stop, stream};
use crate::{GenerateCall, GenerateService};

fn limited(limit: usize) -> GenerateService {
    let inner = service_fn(|_call: GenerateCall| std::future::ready(Ok(stream(vec![delta(&[1]), stop()]))));
    GenerateService::new(ConcurrencyLimitLayer::new(limit).layer(inner))
}

#[tokio::test]
async fn a_generation_counts_until_its_stream_has_ended() {
    let service = limited(1);
    let mut running = service.clone().oneshot(generate()).await.unwrap();
    let mut next = tokio_test::task::spawn(service.clone().oneshot(generate()));
    assert!(next.poll().is_pending());
    running.next().await;
    assert!(next.poll().is_pending());
    running.next().await; // the end
    assert!(next.is_woken());
    drop(assert_ready_ok!(next.poll()));
}

#[tokio::test]
async fn a_dropped_stream_or_call_gives_its_place_back() {
    let service = limited(1);
    drop(service.clone().oneshot(generate()).await.unwrap());
    let mut ready = service.clone();
    ready.ready().await.unwrap();
    drop(ready.call(generate()));
    let mut idle = service.clone();
    idle.ready().await.unwrap();
    drop(idle);
    drop(service.oneshot(generate()).await.unwrap());
}

#[tokio::test]
async fn no_limit_makes_every_call_hang() {
    drop(limited(0).oneshot(generate()).await.unwrap());
}

#[tokio::test]
async fn those_who_wait_go_in_order() {
    let service = limited(1);
    let running = service.clone().oneshot(generate()).await.unwrap();
    let mut first = tokio_test::task::spawn(service.clone().oneshot(generate()));
    let mut second = tokio_test::task::spawn(service.clone().oneshot(generate()));
    assert!(first.poll().is_pending());
    assert!(second.poll().is_pending());
    drop(running);
    assert!(second.poll().is_pending());
    let held = assert_ready_ok!(first.poll());
    assert!(second.poll().is_pending());
    drop(held);
    drop(assert_ready_ok!(second.poll()));
}

#[tokio::test]
async fn a_failed_call_gives_its_place_back() {
    let inner = service_fn(|_call: GenerateCall| {
        std::future::ready(Err::<crate::GenerateStream, _>(Fault::transient("no")))
    });
    let service = GenerateService::new(ConcurrencyLimitLayer::new(1).layer(inner));
    for _ in 0..3 {
        assert!(service.clone().oneshot(generate()).await.is_err());
    }
}
