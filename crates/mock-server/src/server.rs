//! The server: a port, and a life behind it.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::sync::Mutex;
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::TaskTracker;

use crate::life::Life;
use crate::{MockHttpConfig, WireLog, connection};

/// How long to wait after an accept that failed (too many open files, say).
const ACCEPT_PAUSE: Duration = Duration::from_millis(20);

/// A mock server that listens. Dropping it stops it.
#[derive(Debug)]
pub struct MockHttpServer {
    shared: Arc<Shared>,
    _stops: DropGuard,
}

#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) config: MockHttpConfig,
    pub(crate) log: WireLog,
    addr: SocketAddr,
    /// Generation requests so far.
    requests: AtomicU64,
    now: Mutex<Now>,
    stopped: CancellationToken,
}

#[derive(Debug)]
struct Now {
    deaths: u32,
    /// The life and its connections, while it lasts.
    alive: Option<(Arc<Life>, TaskTracker)>,
}

impl MockHttpServer {
    /// Listens here, and serves from now on in tasks of its own. Port 0 is any free one.
    ///
    /// # Errors
    /// If the address cannot be bound.
    pub async fn bind(addr: SocketAddr, config: MockHttpConfig) -> io::Result<Self> {
        let listener = TcpListener::bind(addr).await?;
        let stopped = CancellationToken::new();
        let shared = Arc::new(Shared {
            config,
            log: WireLog::default(),
            addr: listener.local_addr()?,
            requests: AtomicU64::new(0),
            now: Mutex::new(Now { deaths: 0, alive: None }),
            stopped: stopped.clone(),
        });
        shared.now.lock().await.alive = Some(shared.live(listener, 0));
        Ok(Self { shared, _stops: stopped.drop_guard() })
    }

    /// Where it listens.
    #[must_use]
    pub fn addr(&self) -> SocketAddr {
        self.shared.addr
    }

    /// What it sent.
    #[must_use]
    pub fn log(&self) -> WireLog {
        self.shared.log.clone()
    }

    /// Generation requests so far that were not refused for what they are; a fault's index counts
    /// these.
    #[must_use]
    pub fn requests(&self) -> u64 {
        self.shared.requests.load(Ordering::Relaxed)
    }

    /// Kills it: every connection is cut, the port refuses, weights and pauses are forgotten.
    /// Done when all of it has happened; a dead one stays dead.
    pub async fn kill(&self) {
        self.shared.kill().await;
    }

    /// Starts it again on the same port, with the label of its start. One that lives goes on.
    ///
    /// # Errors
    /// If the port is taken by now, or the server was shut down.
    pub async fn revive(&self) -> io::Result<()> {
        self.shared.revive().await
    }

    /// Waits until no generation request runs or waits.
    pub async fn idle(&self) {
        loop {
            let life = self.shared.now.lock().await.alive.as_ref().map(|(life, _)| Arc::clone(life));
            match life {
                Some(life) if life.active_count() > 0 => tokio::time::sleep(Duration::from_millis(1)).await,
                _ => return,
            }
        }
    }

    /// Stops for good, as after a kill.
    pub async fn shutdown(self) {
        self.shared.stopped.cancel();
        self.shared.kill().await;
    }
}

impl Shared {
    /// The index of a new generation request.
    pub(crate) fn count_request(&self) -> u64 {
        self.requests.fetch_add(1, Ordering::Relaxed)
    }

    /// Starts to accept connections.
    fn live(self: &Arc<Self>, listener: TcpListener, index: u32) -> (Arc<Life>, TaskTracker) {
        let life = Arc::new(Life::new(&self.config, index, self.stopped.child_token()));
        let tasks = TaskTracker::new();
        tasks.spawn(accept(Arc::clone(self), Arc::clone(&life), listener, tasks.clone()));
        tasks.close();
        (life, tasks)
    }

    async fn kill(&self) {
        let mut now = self.now.lock().await;
        if let Some((life, tasks)) = now.alive.take() {
            now.deaths += 1;
            life.death.cancel();
            tasks.wait().await;
        }
    }

    async fn revive(self: &Arc<Self>) -> io::Result<()> {
        let mut now = self.now.lock().await;
        if self.stopped.is_cancelled() {
            return Err(io::Error::other("the mock server was shut down"));
        }
        if now.alive.is_none() {
            let listener = TcpListener::bind(self.addr).await?;
            now.alive = Some(self.live(listener, now.deaths));
        }
        Ok(())
    }

    /// Dies from within a request, and comes back after this time.
    pub(crate) fn die_soon(self: &Arc<Self>, back_after: Option<Duration>) {
        let shared = Arc::clone(self);
        #[expect(clippy::disallowed_methods, reason = "the request that asks for it dies of it")]
        drop(tokio::spawn(async move {
            shared.kill().await;
            if let Some(delay) = back_after {
                tokio::time::sleep(delay).await;
                // It fails only if the server is shut down or its port taken: it stays dead.
                let _ = shared.revive().await;
            }
        }));
    }
}

async fn accept(shared: Arc<Shared>, life: Arc<Life>, listener: TcpListener, tasks: TaskTracker) {
    loop {
        let accepted = tokio::select! {
            biased;
            () = life.death.cancelled() => return,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((stream, _)) => {
                let connection = connection::serve(Arc::clone(&shared), Arc::clone(&life), stream);
                tasks.spawn(connection);
            }
            Err(_) => tokio::time::sleep(ACCEPT_PAUSE).await,
        }
    }
}

#[cfg(test)]
mod tests;
