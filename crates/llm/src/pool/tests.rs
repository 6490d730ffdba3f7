//! The pool as a whole: choice, health, weights, ends of streams.

mod labels;
mod properties;
mod syncs;

use std::time::Duration;

use futures_util::{FutureExt, StreamExt};
use respool_core::{Class, GenerateEvent, GenerateFinish};
use respool_stack::GenerateStream;
use tokio::time::{Instant, advance, sleep};
use tower::ServiceExt;

use super::*;
use crate::testing::{Fake, Item, Way, call, calm, delta, ended, pool_with};

fn small() -> PoolSettings {
    PoolSettings { concurrency: 2, ..PoolSettings::default() }
}

async fn open(pool: &Pool, rollout: u128) -> Result<GenerateStream, Fault> {
    pool.generate().oneshot(call(rollout)).await
}

fn outstanding(pool: &Pool) -> Vec<usize> {
    pool.servers().iter().map(|server| server.outstanding).collect()
}

fn states(pool: &Pool) -> Vec<ServerState> {
    pool.servers().iter().map(|server| server.state).collect()
}

async fn rest(stream: GenerateStream) -> Vec<Item> {
    stream.collect().await
}

fn message(item: &Item) -> String {
    item.as_ref().expect_err("a fault").to_string()
}

#[tokio::test(start_paused = true)]
async fn a_rollout_stays_where_its_prefix_is_and_others_go_where_least_runs() {
    let servers = [Fake::new("a"), Fake::new("b")];
    let pool = pool_with(small(), &[&servers[0], &servers[1]]);
    let first = open(&pool, 1).await.unwrap();
    let at = outstanding(&pool);
    assert_eq!(at.iter().sum::<usize>(), 1);
    let second = open(&pool, 2).await.unwrap();
    assert_eq!(outstanding(&pool), [1, 1], "the second goes to the other server");
    drop((first, second));
    for _ in 0..5 {
        let stream = open(&pool, 1).await.unwrap();
        assert_eq!(outstanding(&pool), at, "the same server as before");
        drop(stream);
    }
    assert_eq!(outstanding(&pool), [0, 0]);
    assert_eq!(servers[0].requests() + servers[1].requests(), 7);
}

#[tokio::test(start_paused = true)]
async fn a_full_sticky_server_does_not_block_and_a_full_pool_waits_in_order() {
    let servers = [Fake::new("a"), Fake::new("b")];
    let pool = pool_with(PoolSettings { concurrency: 1, ..small() }, &[&servers[0], &servers[1]]);
    let first = open(&pool, 1).await.unwrap();
    let again = open(&pool, 1).await.unwrap();
    assert_eq!(outstanding(&pool), [1, 1]);
    let mut third = Box::pin(open(&pool, 3));
    let mut fourth = Box::pin(open(&pool, 4));
    assert!(third.as_mut().now_or_never().is_none() && fourth.as_mut().now_or_never().is_none());
    sleep(Duration::from_secs(3600)).await;
    assert!(fourth.as_mut().now_or_never().is_none(), "a full pool has no time limit");
    drop(again);
    assert!(fourth.as_mut().now_or_never().is_none(), "the third came first");
    let third = third.now_or_never().expect("room for one").unwrap();
    drop((first, third));
    drop(fourth.now_or_never().expect("room").unwrap());
    assert_eq!(outstanding(&pool), [0, 0]);
}

#[tokio::test(start_paused = true)]
async fn a_request_that_waits_can_be_aborted_or_dropped() {
    let server = Fake::new("a");
    let pool = pool_with(PoolSettings { concurrency: 1, ..small() }, &[&server]);
    let held = open(&pool, 1).await.unwrap();
    let waiting = call(2);
    let abort = waiting.abort.clone();
    let mut aborted = Box::pin(pool.generate().oneshot(waiting));
    let mut dropped = Box::pin(open(&pool, 3));
    let mut last = Box::pin(open(&pool, 4));
    for waiting in [&mut dropped, &mut last] {
        assert!(waiting.as_mut().now_or_never().is_none());
    }
    assert!(aborted.as_mut().now_or_never().is_none());
    abort.cancel();
    assert_eq!(rest(aborted.await.unwrap()).await, [ended(GenerateFinish::Abort)]);
    drop(dropped);
    drop(held);
    drop(last.await.unwrap());
    assert_eq!((outstanding(&pool), server.requests()), (vec![0], 2));
}

#[tokio::test(start_paused = true)]
async fn without_a_server_a_request_waits_for_one_but_not_for_ever() {
    let pool = pool_with(small(), &[]);
    let start = Instant::now();
    let fault = open(&pool, 1).await.err().unwrap();
    assert_eq!((fault.class, start.elapsed()), (Class::Transient, Duration::from_secs(300)));
    assert!(fault.message.contains("the pool has none"), "{fault}");

    let server = Fake::new("a");
    let mut waiting = Box::pin(open(&pool, 2));
    assert!(waiting.as_mut().now_or_never().is_none());
    sleep(Duration::from_secs(299)).await;
    pool.add(server).unwrap();
    assert!(waiting.now_or_never().expect("a server came").is_ok());
}

#[tokio::test(start_paused = true)]
async fn all_servers_down_then_one_returns() {
    let servers = [Fake::new("a"), Fake::new("b")];
    let pool = pool_with(small(), &[&servers[0], &servers[1]]);
    let streams = [open(&pool, 1).await.unwrap(), open(&pool, 2).await.unwrap()];
    servers.iter().for_each(|server| server.die());
    for stream in streams {
        assert_eq!(message(rest(stream).await.last().unwrap()), "connection reset");
    }
    calm().await;
    assert_eq!(states(&pool), [ServerState::Ejected; 2], "one failure and a failed probe are enough");
    let waiting = open(&pool, 1);
    let returns = async {
        sleep(Duration::from_secs(40)).await;
        servers[1].revive();
    };
    let start = Instant::now();
    let (stream, ()) = tokio::join!(waiting, returns);
    assert!(stream.is_ok() && start.elapsed() < Duration::from_secs(140), "{:?}", start.elapsed());
    assert_eq!(outstanding(&pool), [0, 1]);
    let fault = {
        drop(stream);
        servers[1].die();
        calm().await;
        pool.remove("b");
        open(&pool, 1).await.err().unwrap()
    };
    assert!(fault.message.contains("a is ejected"), "{fault}");
}

#[tokio::test(start_paused = true)]
async fn an_ejected_server_returns_slowly() {
    let server = Fake::new("a");
    let pool = pool_with(PoolSettings { concurrency: 4, ..small() }, &[&server]);
    server.goes("generate", Way::Fails);
    for rollout in 0..3 {
        assert!(open(&pool, rollout).await.is_err());
    }
    assert_eq!(states(&pool), [ServerState::Ejected]);
    server.revive();
    sleep(Duration::from_millis(1100)).await;
    assert_eq!(states(&pool), [ServerState::Returning { room: 1 }]);
    let mut open_streams = vec![open(&pool, 1).await.unwrap()];
    assert!(open(&pool, 2).now_or_never().is_none(), "room for one");
    for room in [2, 3] {
        server.say_all(&delta(0, &[9]));
        open_streams.last_mut().unwrap().next().await.unwrap().unwrap();
        assert_eq!(states(&pool), [ServerState::Returning { room }]);
        open_streams.push(open(&pool, 1).await.unwrap());
    }
    server.say_all(&delta(0, &[9]));
    open_streams.last_mut().unwrap().next().await.unwrap().unwrap();
    assert_eq!(states(&pool), [ServerState::Well]);
}

#[tokio::test(start_paused = true)]
async fn a_failure_during_the_return_ejects_for_longer() {
    let server = Fake::new("a");
    let pool = pool_with(small(), &[&server]);
    let mut outs = Vec::new();
    for round in 0..3 {
        server.goes("generate", Way::Fails);
        for rollout in 0..if round == 0 { 3 } else { 1 } {
            assert!(open(&pool, rollout).await.is_err());
        }
        assert_eq!(states(&pool), [ServerState::Ejected]);
        server.revive();
        let start = Instant::now();
        while states(&pool) == [ServerState::Ejected] {
            sleep(Duration::from_millis(10)).await;
        }
        outs.push(start.elapsed());
    }
    for (out, full) in outs.iter().zip([1000, 2000, 4000]) {
        let out = out.as_millis();
        assert!((full / 2..=full + 20).contains(&out), "{outs:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_asked_for_a_rest_gets_it_if_another_is_there() {
    let servers = [Fake::new("a"), Fake::new("b")];
    let pool = pool_with(PoolSettings { concurrency: 8, ..small() }, &[&servers[0], &servers[1]]);
    servers[0].lock().refusal = Some(Fault::overloaded(Some(Duration::from_secs(10)), "busy"));
    servers[1].lock().refusal = Some(Fault::overloaded(Some(Duration::from_secs(20)), "busy"));
    let _first = open(&pool, 1).await.err();
    let _second = open(&pool, 2).await.err();
    assert_eq!(states(&pool), [ServerState::Well; 2], "having much to do is no sickness");
    assert_eq!((servers[0].requests(), servers[1].requests()), (1, 1));
    let _third = open(&pool, 3).await.err();
    assert_eq!(servers[0].requests() + servers[1].requests(), 3, "no other is there");
    servers[0].lock().refusal = None;
    advance(Duration::from_secs(15)).await;
    let streams: Vec<_> = futures_util::future::join_all((10..14).map(|rollout| open(&pool, rollout))).await;
    assert_eq!(outstanding(&pool), [4, 0]);
    drop(streams);
}

#[tokio::test(start_paused = true)]
async fn a_refusal_of_a_request_is_no_failure_of_the_server() {
    let server = Fake::new("a");
    let pool = pool_with(small(), &[&server]);
    server.lock().refusal = Some(Fault::terminal("400: no such field"));
    for rollout in 0..10 {
        assert_eq!(open(&pool, rollout).await.err().unwrap().class, Class::Terminal);
    }
    assert_eq!((states(&pool), outstanding(&pool)), (vec![ServerState::Well], vec![0]));
}

#[tokio::test(start_paused = true)]
async fn a_removed_server_breaks_its_streams_and_others_go_on() {
    let servers = [Fake::new("a"), Fake::new("b")];
    let pool = pool_with(small(), &[&servers[0]]);
    let stream = open(&pool, 1).await.unwrap();
    servers[0].goes("generate", Way::Hangs);
    let mut unaccepted = Box::pin(open(&pool, 2));
    assert!(unaccepted.as_mut().now_or_never().is_none());
    assert!(pool.add(servers[0].clone()).is_err());
    pool.add(servers[1].clone()).unwrap();
    assert!(pool.remove("a") && !pool.remove("a"));
    let items = rest(stream).await;
    assert_eq!(message(&items[0]), "server a was removed from the pool");
    assert!(unaccepted.await.err().unwrap().class.may_retry());
    let _elsewhere = open(&pool, 1).await.unwrap();
    assert_eq!(outstanding(&pool), [1]);
}

#[tokio::test(start_paused = true)]
async fn an_abort_is_an_end_only_if_somebody_asked_for_it() {
    let server = Fake::new("a");
    let pool = pool_with(small(), &[&server]);
    let unasked = open(&pool, 1).await.unwrap();
    server.say_all(&ended(GenerateFinish::Abort));
    let fault = rest(unasked).await.remove(0).unwrap_err();
    assert_eq!(fault, Fault::transient("server a aborted the request, which nobody had asked for"));

    let asked = call(1);
    let abort = asked.abort.clone();
    let stream = pool.generate().oneshot(asked).await.unwrap();
    abort.cancel();
    assert_eq!(rest(stream).await, [ended(GenerateFinish::Abort)]);

    let stream = open(&pool, 1).await.unwrap();
    pool.abort_all().await.unwrap();
    assert_eq!(rest(stream).await, [ended(GenerateFinish::Abort)]);

    let broken = open(&pool, 1).await.unwrap();
    server.goes("abort", Way::Fails);
    let (aborted, items) = tokio::join!(pool.abort_all(), rest(broken));
    assert_eq!((aborted, items), (Ok(()), vec![ended(GenerateFinish::Abort)]), "stream by stream");
    assert_eq!(outstanding(&pool), [0]);
}

#[tokio::test(start_paused = true)]
async fn abort_all_ends_what_waits() {
    let server = Fake::new("a");
    let pool = pool_with(PoolSettings { concurrency: 1, ..small() }, &[&server]);
    let held = open(&pool, 1).await.unwrap();
    let mut waiting = [Box::pin(open(&pool, 2)), Box::pin(open(&pool, 3))];
    assert!(waiting.iter_mut().all(|waiting| waiting.as_mut().now_or_never().is_none()));
    pool.abort_all().await.unwrap();
    for waiting in waiting {
        assert_eq!(rest(waiting.await.unwrap()).await, [ended(GenerateFinish::Abort)]);
    }
    assert_eq!(rest(held).await, [ended(GenerateFinish::Abort)]);
}

#[tokio::test(start_paused = true)]
async fn a_stream_may_take_only_so_long_in_all() {
    let server = Fake::new("a");
    let settings = PoolSettings { total_timeout: Some(Duration::from_secs(60)), ..small() };
    let pool = pool_with(settings, &[&server]);
    server.lock().script = vec![delta(0, &[5])];
    let items = rest(open(&pool, 1).await.unwrap()).await;
    assert_eq!(items[0], delta(0, &[5]));
    assert!(message(&items[1]).contains("within 60s"), "{items:?}");
}

#[tokio::test(start_paused = true)]
async fn the_probe_loop_ends_with_the_pool() {
    let server = Fake::new("a");
    let pool = pool_with(small(), &[&server]);
    sleep(Duration::from_secs(12)).await;
    assert_eq!(server.calls(&["probe"]).len(), 3, "at once and every five seconds");
    drop(pool);
    sleep(Duration::from_secs(60)).await;
    assert_eq!((server.calls(&["probe"]).len(), Arc::strong_count(&server)), (3, 1));
}

#[tokio::test(start_paused = true)]
async fn every_send_has_its_own_wire_id() {
    let server = Fake::new("a");
    let pool = pool_with(PoolSettings { concurrency: 100, ..small() }, &[&server]);
    for _ in 0..50 {
        drop(open(&pool, 1).await.unwrap());
    }
    let ids: std::collections::HashSet<String> = server.calls(&["generate"]).into_iter().collect();
    assert_eq!(ids.len(), 50);
}
