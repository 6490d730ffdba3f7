//! Weight syncs: pauses, versions, what is owed, labels.

use super::*;
use crate::Controls;

const MODES: [WeightSync; 3] = [WeightSync::Abort, WeightSync::Keep, WeightSync::Drain];

fn two() -> ([Arc<Fake>; 2], Pool) {
    let servers = [Fake::new("a"), Fake::new("b")];
    let pool = pool_with(small(), &[&servers[0], &servers[1]]);
    (servers, pool)
}

fn is_paused(pool: &Pool) -> bool {
    pool.health().now_or_never().unwrap().unwrap().paused
}

#[tokio::test(start_paused = true)]
async fn requests_wait_out_a_pause_in_every_mode() {
    for mode in MODES {
        let (servers, pool) = two();
        pool.pause(mode).await.unwrap();
        assert!(is_paused(&pool));
        let mut waiting = Box::pin(open(&pool, 1));
        assert!(waiting.as_mut().now_or_never().is_none(), "{mode:?}");
        let aborted = call(2);
        aborted.abort.cancel();
        assert_eq!(
            rest(pool.generate().oneshot(aborted).await.unwrap()).await,
            [ended(GenerateFinish::Abort)]
        );
        sleep(Duration::from_secs(3600)).await;
        assert!(waiting.as_mut().now_or_never().is_none(), "{mode:?}: a pause has no time limit");
        pool.set_version(PolicyVersion(1)).await.unwrap();
        pool.continue_generation().await.unwrap();
        drop(waiting.await.unwrap());
        assert_eq!((pool.version(), is_paused(&pool)), (PolicyVersion(1), false));
        for server in &servers {
            assert!(server.lock().violations.is_empty() && !server.lock().is_paused, "{mode:?}");
            let asked = if mode == WeightSync::Abort { "pause Abort" } else { "pause Keep" };
            assert_eq!(server.calls(&["pause", "version", "continue"]), [asked, "version 1", "continue"]);
        }
        pool.continue_generation().await.unwrap();
        drop(open(&pool, 1).await.unwrap());
    }
}

#[tokio::test(start_paused = true)]
async fn an_abort_ends_what_runs_and_a_keep_holds_it() {
    let (_servers, pool) = two();
    let stream = open(&pool, 1).await.unwrap();
    pool.pause(WeightSync::Abort).await.unwrap();
    assert_eq!(rest(stream).await, [ended(GenerateFinish::Abort)]);
    pool.continue_generation().await.unwrap();
    let mut stream = open(&pool, 1).await.unwrap();
    pool.pause(WeightSync::Keep).await.unwrap();
    assert!(stream.next().now_or_never().is_none());
}

#[tokio::test(start_paused = true)]
async fn a_break_during_an_abort_is_an_end() {
    let (servers, pool) = two();
    let streams = [open(&pool, 1).await.unwrap(), open(&pool, 2).await.unwrap()];
    servers.iter().for_each(|server| server.say_all(&Err(Fault::overloaded(None, "503"))));
    pool.pause(WeightSync::Abort).await.unwrap();
    for stream in streams {
        assert_eq!(rest(stream).await, [ended(GenerateFinish::Abort)]);
    }
    assert_eq!(states(&pool), [ServerState::Well; 2]);
}

#[tokio::test(start_paused = true)]
async fn a_server_without_the_route_aborts_stream_by_stream() {
    let (servers, pool) = two();
    servers[0].lock().controls = Controls::default();
    let streams = [open(&pool, 1).await.unwrap(), open(&pool, 2).await.unwrap()];
    let ends = futures_util::future::join_all(streams.map(rest));
    let (paused, ends) = tokio::join!(pool.pause(WeightSync::Abort), ends);
    assert_eq!(paused, Ok(()));
    assert_eq!(ends, [[ended(GenerateFinish::Abort)], [ended(GenerateFinish::Abort)]]);
    assert!(servers[0].calls(&["pause"]).is_empty());
}

#[tokio::test(start_paused = true)]
async fn who_cannot_keep_is_named_before_anybody_is_paused() {
    let (servers, pool) = two();
    servers[1].lock().controls.pause_keep = false;
    let fault = pool.pause(WeightSync::Keep).await.unwrap_err();
    assert!(
        fault.class == Class::Terminal && fault.message.contains("cannot: b; start vllm with"),
        "{fault}"
    );
    assert!(servers[0].calls(&["pause"]).is_empty() && !is_paused(&pool));
}

#[tokio::test(start_paused = true)]
async fn a_refused_pause_is_undone() {
    let (servers, pool) = two();
    servers[1].goes("pause", Way::Refused);
    let fault = pool.pause(WeightSync::Abort).await.unwrap_err();
    assert_eq!(fault, Fault::terminal("server b: pause is not known here"));
    assert!(!servers[0].lock().is_paused && !is_paused(&pool));
    drop(open(&pool, 1).await.unwrap());
}

#[tokio::test(start_paused = true)]
async fn what_nobody_answered_is_owed_and_paid() {
    for (called, way) in [
        ("pause", Way::Fails),
        ("pause", Way::Unanswered),
        ("pause", Way::Hangs),
        ("version", Way::Unanswered),
        ("version", Way::Hangs),
        ("continue", Way::Fails),
        ("continue", Way::Hangs),
        ("continue", Way::Refused),
    ] {
        let (servers, pool) = two();
        servers[1].goes(called, way);
        pool.pause(WeightSync::Abort).await.unwrap();
        pool.set_version(PolicyVersion(1)).await.unwrap();
        pool.continue_generation().await.unwrap();
        servers[1].lock().must_not_be_asked = called != "pause";
        let streams = [open(&pool, 1).await.unwrap(), open(&pool, 2).await.unwrap()];
        let is_out = !matches!(states(&pool)[1], ServerState::Well | ServerState::Returning { .. });
        assert!(is_out || called == "pause", "{called} {way:?}: {:?}", states(&pool));
        drop(streams);
        servers[1].revive();
        servers[1].lock().must_not_be_asked = false;
        sleep(Duration::from_secs(600)).await;
        assert_eq!(states(&pool)[1], ServerState::Returning { room: 1 }, "{called} {way:?}");
        let server = servers[1].lock();
        assert_eq!((server.is_paused, server.label.as_str()), (false, "1"), "{called} {way:?}");
        assert!(server.violations.is_empty(), "{called} {way:?}: {:?}", server.violations);
    }
}

#[tokio::test(start_paused = true)]
async fn a_sync_that_no_server_did_fails() {
    let (servers, pool) = two();
    servers.iter().for_each(|server| server.goes("pause", Way::Fails));
    assert!(pool.pause(WeightSync::Abort).await.is_err());
    assert!(!is_paused(&pool));
    sleep(Duration::from_secs(60)).await;
    servers.iter().for_each(|server| server.revive());
    pool.pause(WeightSync::Abort).await.unwrap();
    servers.iter().for_each(|server| server.goes("version", Way::Fails));
    assert!(pool.set_version(PolicyVersion(5)).await.is_err());
    assert_eq!((pool.version(), is_paused(&pool)), (PolicyVersion(0), true));
}

#[tokio::test(start_paused = true)]
async fn a_server_with_other_weights_stays_out_until_a_version_is_set() {
    for (label_before, label_after, is_stale) in
        [("0", "0", false), ("default", "default", false), ("0", "default", true), ("default", "3", true)]
    {
        let (servers, pool) = two();
        servers[0].lock().label = label_before.to_owned();
        calm().await;
        let streams = [open(&pool, 1).await.unwrap(), open(&pool, 2).await.unwrap()];
        servers[0].die();
        for stream in streams {
            drop(stream.take(1).collect::<Vec<_>>().now_or_never());
        }
        sleep(Duration::from_secs(30)).await;
        assert_eq!(states(&pool)[0], ServerState::Ejected);
        servers[0].revive();
        servers[0].lock().label = label_after.to_owned();
        sleep(Duration::from_secs(100)).await;
        let expected = if is_stale { ServerState::Stale } else { ServerState::Returning { room: 1 } };
        assert_eq!(states(&pool)[0], expected, "{label_before} then {label_after}");
        pool.set_version(PolicyVersion(4)).await.unwrap();
        sleep(Duration::from_secs(100)).await;
        assert_eq!(states(&pool)[0], ServerState::Returning { room: 1 });
    }
}

#[tokio::test(start_paused = true)]
async fn who_missed_a_sync_or_joins_after_it_must_show_the_version() {
    for (label, is_stale) in [("0", true), ("1", false)] {
        let (servers, pool) = two();
        calm().await;
        let streams = [open(&pool, 1).await.unwrap(), open(&pool, 2).await.unwrap()];
        servers[0].die();
        futures_util::future::join_all(
            streams.map(|stream| async { drop(stream.take(1).collect::<Vec<_>>().now_or_never()) }),
        )
        .await;
        calm().await;
        pool.pause(WeightSync::Keep).await.unwrap();
        pool.set_version(PolicyVersion(1)).await.unwrap();
        pool.continue_generation().await.unwrap();
        servers[0].revive();
        servers[0].lock().label = label.to_owned();
        let joins = Fake::new("c");
        joins.lock().label = label.to_owned();
        pool.add(joins).unwrap();
        sleep(Duration::from_secs(200)).await;
        let expected = if is_stale { ServerState::Stale } else { ServerState::Returning { room: 1 } };
        assert_eq!([states(&pool)[0], states(&pool)[2]], [expected; 2], "{label}");
        assert_eq!(states(&pool)[1], ServerState::Well);
    }
}

#[tokio::test(start_paused = true)]
async fn a_drain_waits_and_may_be_dropped() {
    let (servers, pool) = two();
    let stream = open(&pool, 1).await.unwrap();
    let mut drain = pool.pause(WeightSync::Drain);
    assert!(drain.as_mut().now_or_never().is_none());
    assert!(open(&pool, 2).now_or_never().is_none());
    servers.iter().for_each(|server| server.say_all(&ended(GenerateFinish::Stop)));
    assert_eq!(rest(stream).await, [ended(GenerateFinish::Stop)]);
    drain.await.unwrap();
    pool.continue_generation().await.unwrap();

    let stream = open(&pool, 1).await.unwrap();
    let mut dropped = pool.pause(WeightSync::Drain);
    assert!(dropped.as_mut().now_or_never().is_none());
    drop(dropped);
    assert!(is_paused(&pool) && open(&pool, 2).now_or_never().is_none());
    pool.continue_generation().await.unwrap();
    drop(open(&pool, 2).await.unwrap());

    let mut ended_early = pool.pause(WeightSync::Drain);
    assert!(ended_early.as_mut().now_or_never().is_none());
    pool.continue_generation().await.unwrap();
    assert!(ended_early.await.is_err() && !is_paused(&pool));
    drop(stream);
}

#[tokio::test(start_paused = true)]
async fn after_a_failure_a_server_shows_its_weights_before_it_is_used_again() {
    for (label, expected) in [("1", ServerState::Well), ("0", ServerState::Stale)] {
        let server = Fake::new("a");
        let pool = pool_with(small(), &[&server]);
        pool.set_version(PolicyVersion(1)).await.unwrap();
        let stream = open(&pool, 1).await.unwrap();
        // It was started anew at once: probes and connections succeed.
        server.lock().label = label.to_owned();
        server.say_all(&Err(respool_core::Fault::transient("connection reset")));
        assert!(rest(stream).await.pop().is_some_and(|last| last.is_err()));
        assert_eq!(states(&pool), [ServerState::Suspect]);
        let mut next = Box::pin(open(&pool, 1));
        assert!(next.as_mut().now_or_never().is_none(), "it waits until that is known");
        calm().await;
        assert_eq!((states(&pool), next.now_or_never().is_some()), (vec![expected], label == "1"));
    }
}

#[tokio::test(start_paused = true)]
async fn broadcasts_say_what_each_server_answered() {
    let servers = [Fake::new("a"), Fake::new("b")];
    let pool = pool_with(small(), &[&servers[0], &servers[1]]);
    servers[1].goes("update", Way::Hangs);
    servers[1].goes("flush", Way::Refused);
    let flushed = pool.flush_cache().await;
    assert_eq!((&flushed[0], flushed[1].1.is_err()), (&("a".to_owned(), Ok(())), true));
    assert_eq!(pool.load().await.len(), 2);
    let updated = pool.update_from_disk("/weights/3", PolicyVersion(3)).await;
    assert!(updated[0].1.is_ok());
    assert!(updated[1].1.as_ref().is_err_and(|fault| fault.message.contains("server b")), "{updated:?}");
}

#[tokio::test(start_paused = true)]
async fn a_version_labels_no_weights_that_may_not_be_there() {
    for way in [Way::Hangs, Way::Fails, Way::Refused] {
        let servers = [Fake::new("a"), Fake::new("b")];
        let pool = pool_with(small(), &[&servers[0], &servers[1]]);
        servers[1].goes("update", way);
        assert!(pool.update_from_disk("/weights/3", PolicyVersion(3)).await[1].1.is_err());
        pool.set_version(PolicyVersion(3)).await.unwrap();
        calm().await;
        assert_eq!(states(&pool), [ServerState::Well, ServerState::Stale], "{way:?}");
        assert_eq!(servers[1].calls(&["version"]), [] as [String; 0], "{way:?}");
        servers[1].goes("update", Way::Well);
        assert!(pool.update_from_disk("/weights/3", PolicyVersion(3)).await[1].1.is_ok());
        calm().await;
        assert_ne!(states(&pool)[1], ServerState::Stale, "{way:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn who_is_removed_during_a_pause_is_continued() {
    let servers = [Fake::new("a"), Fake::new("b")];
    let pool = pool_with(small(), &[&servers[0], &servers[1]]);
    pool.pause(WeightSync::Keep).await.unwrap();
    assert!(servers[0].lock().is_paused);
    assert!(pool.remove("a"));
    calm().await;
    assert_eq!((servers[0].lock().is_paused, servers[1].lock().is_paused), (false, true));
    assert!(!pool.remove("a"));
}

#[tokio::test(start_paused = true)]
async fn who_refuses_to_be_probed_serves() {
    let server = Fake::new("a");
    server.goes("probe", Way::Refused);
    let pool = pool_with(small(), &[&server]);
    for _ in 0..4 {
        calm().await;
        tokio::time::sleep(small().probe_interval).await;
    }
    assert_eq!(states(&pool), [ServerState::Well]);
}
