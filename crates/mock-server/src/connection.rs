//! One connection: a task of its own.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Method, Request};
use http_body_util::{BodyExt, Limited};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

use crate::life::Life;
use crate::reply::{Cut, Reply};
use crate::server::Shared;
use crate::{Engine, sglang, vllm};

/// No body is longer: a prompt of ten million tokens has less.
const LARGEST_BODY: usize = 128 << 20;

/// How long a dying server waits for what is on its way.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// What a request needs to know.
#[derive(Clone, Debug)]
pub(crate) struct Context {
    pub(crate) shared: Arc<Shared>,
    pub(crate) life: Arc<Life>,
    /// Whether the connection is to be reset rather than closed.
    pub(crate) is_reset: Arc<AtomicBool>,
}

/// A request, read whole.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) method: Method,
    pub(crate) path: String,
    pub(crate) query: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

/// Serves a connection until one side closes it or the server dies.
pub(crate) async fn serve(shared: Arc<Shared>, life: Arc<Life>, stream: TcpStream) {
    // Events are small and urgent. Where it cannot be set they are only later.
    let _ = stream.set_nodelay(true);
    let is_reset = Arc::new(AtomicBool::new(false));
    let death = life.death.clone();
    let context = Context { shared, life, is_reset: Arc::clone(&is_reset) };
    let service = service_fn(move |request| answer(context.clone(), request));
    let mut connection = http1::Builder::new().serve_connection(TokioIo::new(stream), service);
    // How it ends is in the log of its requests.
    tokio::select! {
        _ = &mut connection => {}
        () = death.cancelled() => {
            // Requests see the death themselves, and end; this ends a connection without one.
            std::pin::Pin::new(&mut connection).graceful_shutdown();
            let _ = tokio::time::timeout(LAST_WORDS, &mut connection).await;
        }
    }
    if is_reset.load(Ordering::Relaxed) {
        let stream = connection.into_parts().io.into_inner();
        let _ = stream.set_zero_linger();
    }
}

async fn answer(context: Context, request: Request<Incoming>) -> Result<Reply, Cut> {
    let death = context.life.death.clone();
    tokio::select! {
        biased;
        () = death.cancelled() => Err(Cut),
        reply = read_and_route(context, request) => reply,
    }
}

async fn read_and_route(context: Context, request: Request<Incoming>) -> Result<Reply, Cut> {
    let (parts, body) = request.into_parts();
    let body = Limited::new(body, LARGEST_BODY).collect().await.map_err(|_| Cut)?.to_bytes();
    let call = Call {
        method: parts.method,
        path: parts.uri.path().to_owned(),
        query: parts.uri.query().map(str::to_owned).unwrap_or_default(),
        headers: parts.headers,
        body,
    };
    match context.shared.config.engine {
        Engine::Sglang => sglang::answer(context, call).await,
        Engine::Vllm => vllm::answer(context, call).await,
    }
}

impl Call {
    /// Whether it carries this bearer token; without a token there is nothing to carry.
    pub(crate) fn has_key(&self, key: Option<&str>) -> bool {
        let Some(key) = key else { return true };
        let header = self.headers.get(http::header::AUTHORIZATION);
        let given = header.and_then(|value| value.to_str().ok()?.strip_prefix("Bearer "));
        given == Some(key)
    }

    /// The value of a query parameter, as it stands there.
    pub(crate) fn query(&self, name: &str) -> Option<&str> {
        let pairs = self.query.split('&').filter_map(|pair| pair.split_once('='));
        pairs.into_iter().find_map(|(key, value)| (key == name).then_some(value))
    }

    /// The body as JSON; no body is an empty object.
    pub(crate) fn json<T: serde::de::DeserializeOwned>(&self) -> Result<T, String> {
        let body: &[u8] = if self.body.is_empty() { b"{}" } else { &self.body };
        serde_json::from_slice(body).map_err(|error| error.to_string())
    }

    /// A flag of the body, if it is a JSON object that has it.
    pub(crate) fn flag(&self, name: &str) -> Option<bool> {
        self.json::<serde_json::Value>().ok().and_then(|body| body.get(name)?.as_bool())
    }

    /// A text of the body, if it is a JSON object that has it.
    pub(crate) fn text(&self, name: &str) -> Option<String> {
        let body = self.json::<serde_json::Value>().ok()?;
        body.get(name)?.as_str().map(str::to_owned)
    }
}
