//! Any schedule of sends, drops, failures, servers that come and go, and pauses.

use futures_util::future::BoxFuture;
use proptest::prelude::*;

use super::*;

#[derive(Clone, Debug)]
enum Op {
    Send(u128),
    DropWaiting(usize),
    DropStream(usize),
    Say(usize, Item),
    Goes(usize, &'static str, Way),
    Die(usize),
    Revive(usize),
    Add(usize),
    Remove(usize),
    Pause(WeightSync),
    /// Begun, and dropped where it would wait.
    DropPause(WeightSync),
    Continue,
    DropContinue,
    Version(u64),
    AbortAll,
    Pass(u64),
}

const SERVERS: usize = 3;

fn ops() -> impl Strategy<Value = Vec<Op>> {
    let mode = || prop_oneof![Just(WeightSync::Abort), Just(WeightSync::Keep)];
    let any_mode = prop_oneof![mode(), Just(WeightSync::Drain)];
    let server = || 0..SERVERS;
    let item = prop_oneof![
        Just(delta(0, &[5])),
        Just(ended(GenerateFinish::Stop)),
        Just(ended(GenerateFinish::Abort)),
        Just(Err(Fault::transient("reset"))),
        Just(Err(Fault::terminal("400"))),
        Just(Err(Fault::overloaded(Some(Duration::from_secs(3)), "429"))),
    ];
    let calls = prop_oneof![
        Just("generate"),
        Just("pause"),
        Just("continue"),
        Just("version"),
        Just("probe"),
        Just("abort")
    ];
    let way = prop_oneof![
        Just(Way::Well),
        Just(Way::Refused),
        Just(Way::Fails),
        Just(Way::Unanswered),
        Just(Way::Hangs)
    ];
    let op = prop_oneof![
        8 => (0_u128..6).prop_map(Op::Send),
        1 => (0_usize..8).prop_map(Op::DropWaiting),
        2 => (0_usize..8).prop_map(Op::DropStream),
        4 => (server(), item).prop_map(|(server, item)| Op::Say(server, item)),
        2 => (server(), calls, way).prop_map(|(server, call, way)| Op::Goes(server, call, way)),
        1 => server().prop_map(Op::Die),
        2 => server().prop_map(Op::Revive),
        1 => server().prop_map(Op::Add),
        1 => server().prop_map(Op::Remove),
        1 => mode().prop_map(Op::Pause),
        1 => any_mode.prop_map(Op::DropPause),
        2 => Just(Op::Continue),
        1 => Just(Op::DropContinue),
        1 => (1_u64..5).prop_map(Op::Version),
        1 => Just(Op::AbortAll),
        3 => (0_u64..20_000).prop_map(Op::Pass),
    ];
    proptest::collection::vec(op, 0..60)
}

struct World {
    servers: Vec<Arc<Fake>>,
    pool: Pool,
    waiting: Vec<BoxFuture<'static, Result<GenerateStream, Fault>>>,
    streams: Vec<GenerateStream>,
}

impl World {
    fn new() -> Self {
        let servers: Vec<Arc<Fake>> = ["a", "b", "c"].map(Fake::new).into();
        let pool = pool_with(small(), &[&servers[0], &servers[1], &servers[2]]);
        Self { servers, pool, waiting: Vec::new(), streams: Vec::new() }
    }

    async fn apply(&mut self, op: Op) {
        match op {
            Op::Send(rollout) => self.waiting.push(self.pool.generate().oneshot(call(rollout)).boxed()),
            Op::DropWaiting(index) if index < self.waiting.len() => drop(self.waiting.remove(index)),
            Op::DropStream(index) if index < self.streams.len() => drop(self.streams.remove(index)),
            Op::DropWaiting(_) | Op::DropStream(_) => {}
            Op::Say(server, item) => self.servers[server].say_all(&item),
            Op::Goes(server, call, way) => self.servers[server].goes(call, way),
            Op::Die(server) => self.servers[server].die(),
            Op::Revive(server) => self.servers[server].revive(),
            Op::Add(server) => {
                let server = &self.servers[server];
                if self.pool.add(server.clone()).is_ok() {
                    // Whoever brings a server back brings it back running.
                    server.lock().is_paused = false;
                    server.lock().must_not_be_asked = false;
                }
            }
            Op::Remove(server) => {
                self.pool.remove(self.servers[server].name());
                self.servers[server].lock().must_not_be_asked = true;
            }
            Op::Pause(mode) => drop(self.pool.pause(mode).await),
            Op::DropPause(mode) => drop(self.pool.pause(mode).now_or_never()),
            Op::Continue => drop(self.pool.continue_generation().await),
            Op::DropContinue => drop(self.pool.continue_generation().now_or_never()),
            Op::Version(version) => drop(self.pool.set_version(PolicyVersion(version)).await),
            Op::AbortAll => drop(self.pool.abort_all().now_or_never()),
            Op::Pass(millis) => sleep(Duration::from_millis(millis)).await,
        }
    }

    /// Polls everything once; nobody who is out gets a request.
    fn poll(&mut self) {
        let out: Vec<(String, usize)> = self.out();
        self.streams.retain_mut(|stream| match stream.next().now_or_never() {
            Some(Some(Ok(GenerateEvent::Ended(_)) | Err(_)) | None) => {
                assert_eq!(stream.next().now_or_never(), Some(None), "nothing comes after the end");
                false
            }
            Some(Some(Ok(_))) | None => true,
        });
        let still_out = self.out();
        for before in out {
            let after = still_out.iter().find(|after| after.0 == before.0);
            assert!(after.is_none_or(|after| *after == before), "{before:?} was asked while out");
        }
        for mut waiting in std::mem::take(&mut self.waiting) {
            match waiting.as_mut().now_or_never() {
                Some(Ok(stream)) => self.streams.push(stream),
                Some(Err(_)) => {}
                None => self.waiting.push(waiting),
            }
        }
        let outstanding: usize = outstanding(&self.pool).iter().sum();
        assert!(outstanding <= self.streams.len() + self.waiting.len(), "a place is held by nobody");
        for server in &self.servers {
            assert!(server.lock().violations.is_empty(), "{server:?}");
        }
    }

    /// Who is out of service, with the number of its requests.
    fn out(&self) -> Vec<(String, usize)> {
        let serves = |state| matches!(state, ServerState::Well | ServerState::Returning { .. });
        let statuses = self.pool.servers().into_iter().filter(|status| !serves(status.state));
        let requests =
            |name: &str| self.servers.iter().find(|server| server.name() == name).map_or(0, |s| s.requests());
        statuses.map(|status| (status.name.clone(), requests(&status.name))).collect()
    }

    /// In the end nothing is counted, and servers that are well again serve again.
    async fn end(mut self) {
        self.waiting.clear();
        self.streams.clear();
        assert!(outstanding(&self.pool).iter().all(|count| *count == 0));
        assert!(self.pool.shared.lock().queue.is_empty());
        for server in &self.servers {
            server.revive();
            drop(self.pool.add(server.clone()));
            server.lock().must_not_be_asked = false;
        }
        let _ = self.pool.continue_generation().await;
        sleep(Duration::from_secs(1)).await;
        self.pool.set_version(PolicyVersion(9)).await.unwrap();
        sleep(Duration::from_secs(600)).await;
        let stream = open(&self.pool, 1).await.unwrap();
        assert!(out_of(&self.pool).is_empty(), "{:?}", self.pool.servers());
        drop(stream);
        for server in &self.servers {
            assert!(!server.lock().is_paused, "{server:?}");
        }
    }
}

fn out_of(pool: &Pool) -> Vec<ServerStatus> {
    let serves = |state| matches!(state, ServerState::Well | ServerState::Returning { .. });
    pool.servers().into_iter().filter(|status| !serves(status.state)).collect()
}

proptest! {
    #[test]
    fn counts_return_to_zero_and_nobody_who_is_out_is_asked(ops in ops()) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        runtime.block_on(async {
            let mut world = World::new();
            for op in ops {
                world.apply(op).await;
                world.poll();
            }
            world.end().await;
        });
    }
}
