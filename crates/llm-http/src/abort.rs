//! Telling a server to stop.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Fuse, FusedFuture};
use http::Method;
use tokio::runtime::Handle;
use tokio::time::Sleep;

use crate::server::Shared;
use crate::transport::Key;

/// How many aborts are on their way to one server at a time. Each needs a connection, and where
/// thousands of streams are aborted at once there are no thousands of connections more.
pub(crate) const ABORTS: usize = 32;

/// How long an abort may take, with waiting for its turn.
const SOON: Duration = Duration::from_secs(5);

/// Names a request that may be running, and stops it if nobody waits for it any more.
#[derive(Debug)]
pub(crate) struct AbortGuard {
    server: Arc<Shared>,
    /// As it was sent.
    id: String,
    /// As the server calls it, as far as known.
    server_id: Option<String>,
    is_armed: bool,
}

impl AbortGuard {
    /// Of a request that is about to be sent.
    pub(crate) fn new(server: Arc<Shared>, id: String) -> Self {
        Self { server, id, server_id: None, is_armed: true }
    }

    /// The request is over, or the server was told.
    pub(crate) const fn disarm(&mut self) {
        self.is_armed = false;
    }

    /// The server said what it calls the request.
    pub(crate) fn name(&mut self, server_id: Option<&str>) {
        if self.server_id.is_none() {
            self.server_id = server_id.map(str::to_owned);
        }
    }

    /// Tells the server to stop, and begins to wait for the stream's own end.
    pub(crate) fn abort(&mut self) -> Aborting {
        Aborting {
            call: self.call().fuse(),
            grace: Box::pin(tokio::time::sleep(self.server.settings.abort_grace)),
        }
    }

    fn call(&self) -> BoxFuture<'static, ()> {
        let server = self.server.clone();
        let ids = server.api.abort_ids(&self.id, self.server_id.as_deref());
        abort_call(server, ids).boxed()
    }
}

impl Drop for AbortGuard {
    fn drop(&mut self) {
        // Without a runtime the closed connection must do.
        if self.is_armed
            && let Ok(runtime) = Handle::try_current()
        {
            #[expect(clippy::let_underscore_future, reason = "nobody waits for the answer of an abort")]
            let _ = runtime.spawn(self.call());
        }
    }
}

/// An abort that was asked for. Makes the call, and is ready when the stream had its time to end.
pub(crate) struct Aborting {
    call: Fuse<BoxFuture<'static, ()>>,
    grace: Pin<Box<Sleep>>,
}

impl Aborting {
    /// Whether the call was made.
    pub(crate) fn was_told(&self) -> bool {
        self.call.is_terminated()
    }
}

impl Future for Aborting {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        // What it answers says nothing: engines answer 200 for requests that they do not know.
        let _ = self.call.poll_unpin(cx);
        self.grace.poll_unpin(cx)
    }
}

/// Tells the server to stop these, if it can be told soon; no answer of it counts.
async fn abort_call(server: Arc<Shared>, ids: Vec<String>) {
    // A server that takes no more aborts has closed connections to tell it.
    let _told = tokio::time::timeout(SOON, tell(&server, ids)).await;
}

async fn tell(server: &Shared, ids: Vec<String>) {
    let Ok(_turn) = server.aborts.acquire().await else { return };
    let limit = server.settings.control_timeout;
    let body = server.api.abort_body(&ids).to_string();
    for path in server.api.abort_routes() {
        let body = Some(body.clone().into_bytes());
        match server.transport.call(Method::POST, path, body, Key::Admin, limit).await {
            Ok(response) if response.status().is_success() => return,
            Ok(response) => {
                let status = response.status().as_u16();
                tracing::debug!(server = server.transport.base(), path, status, "an abort was refused");
            }
            Err(error) => {
                tracing::debug!(%error, path, "an abort did not arrive");
                return;
            }
        }
    }
}
