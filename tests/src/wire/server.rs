//! A server that answers by a function of the request.

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::{Answer, Ending};

/// A request as it arrived.
#[derive(Clone, Debug)]
pub(crate) struct Received {
    pub(crate) path: String,
    pub(crate) body: Vec<u8>,
    /// Its place among all requests, from 0.
    pub(crate) index: usize,
}

impl Received {
    /// The body as JSON; null if it is none.
    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }
}

/// All requests so far.
#[derive(Debug)]
struct State(watch::Sender<Vec<Received>>);

impl State {
    fn add(&self, request: &mut Received) {
        self.0.send_modify(|all| {
            request.index = all.len();
            all.push(request.clone());
        });
    }

    /// Waits for a request that came after the one with this index.
    async fn another(&self, index: usize) {
        let mut all = self.0.subscribe();
        // The sender is ours: it cannot be gone.
        let _came = all.wait_for(|all| all.len() > index + 1).await;
    }
}

type Handler = Arc<dyn Fn(&Received) -> Answer + Send + Sync>;

/// A running server. Dropping it closes everything.
pub(crate) struct WireServer {
    address: SocketAddr,
    state: Arc<State>,
    _connections: JoinSet<()>,
}

/// The base URL of a server that refuses connections.
///
/// # Errors
/// If no port can be had.
pub(crate) async fn refused() -> Result<String> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    Ok(format!("http://{}", listener.local_addr()?))
}

impl WireServer {
    /// Starts a server on a free port.
    ///
    /// # Errors
    /// If no port can be had.
    pub(crate) async fn start(handler: impl Fn(&Received) -> Answer + Send + Sync + 'static) -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await.context("no free port")?;
        let address = listener.local_addr()?;
        let state = Arc::new(State(watch::Sender::new(Vec::new())));
        let handler: Handler = Arc::new(handler);
        let mut connections = JoinSet::new();
        connections.spawn(accept(listener, Arc::clone(&state), handler));
        Ok(Self { address, state, _connections: connections })
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// All requests so far, in order.
    pub(crate) fn received(&self) -> Vec<Received> {
        self.state.0.borrow().clone()
    }
}

async fn accept(listener: TcpListener, state: Arc<State>, handler: Handler) {
    let mut open = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        let (state, handler) = (Arc::clone(&state), Arc::clone(&handler));
        open.spawn(async move {
            // A client may leave at any time: then there is nobody left to tell.
            let _gone = serve(stream, &state, &handler).await;
        });
    }
}

/// Answers one request, then closes.
async fn serve(mut stream: TcpStream, state: &State, handler: &Handler) -> Result<()> {
    let mut request = read_request(&mut stream).await?;
    state.add(&mut request);
    let answer = handler(&request);
    if answer.status_line.is_empty() {
        return Ok(());
    }
    stream.write_all(&answer.head()).await?;
    for chunk in answer.chunks() {
        stream.write_all(&chunk).await?;
    }
    if answer.hold {
        state.another(request.index).await;
    }
    match answer.ending {
        Ending::Whole => stream.write_all(b"0\r\n\r\n").await?,
        Ending::Closed => {}
        Ending::Reset => {
            // A reset throws away what the other side has not read yet.
            tokio::time::sleep(Duration::from_millis(50)).await;
            stream.set_zero_linger()?;
        }
    }
    Ok(())
}

async fn read_request(stream: &mut TcpStream) -> Result<Received> {
    let mut bytes = Vec::new();
    let head = loop {
        if let Some(at) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break at;
        }
        read_more(stream, &mut bytes).await?;
    };
    let text = String::from_utf8_lossy(&bytes[..head]).into_owned();
    let mut lines = text.split("\r\n");
    let mut words = lines.next().unwrap_or_default().split(' ');
    let path = words.nth(1).unwrap_or_default();
    let length = lines.find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse::<usize>().ok()).flatten()
    });
    while bytes.len() < head + 4 + length.unwrap_or_default() {
        read_more(stream, &mut bytes).await?;
    }
    let body = bytes.split_off(head + 4);
    Ok(Received { path: path.to_owned(), body, index: 0 })
}

async fn read_more(stream: &mut TcpStream, bytes: &mut Vec<u8>) -> Result<()> {
    if stream.read_buf(bytes).await? == 0 {
        bail!("the client left in the middle of a request");
    }
    Ok(())
}

impl fmt::Debug for WireServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WireServer").field("address", &self.address).finish_non_exhaustive()
    }
}
