//! Mock servers, each in a process of its own: this program again, with [`SERVE`] as its first word.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use respool_llm_http::{Api, HttpConfig, HttpServer, HttpSettings};
use respool_llm_mock::ScriptPolicy;
use respool_mock_server::{Engine, MockHttpConfig, MockHttpServer, StreamStyle, turns_by_suffix};
use tokio::sync::mpsc;

/// The hidden command.
pub(crate) const SERVE: &str = "--serve";

/// A token that nothing ends with.
const STOP: u32 = 2;

/// Whose wire format, and what a chunk holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Vllm,
    Incremental,
    Cumulative,
}

impl Kind {
    pub(crate) const ALL: [Self; 3] = [Self::Vllm, Self::Incremental, Self::Cumulative];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Vllm => "vllm",
            Self::Incremental => "sglang",
            Self::Cumulative => "sglang-cumulative",
        }
    }

    pub(crate) const fn api(self) -> Api {
        match self {
            Self::Vllm => Api::VllmGenerate,
            Self::Incremental | Self::Cumulative => Api::SglangGenerate,
        }
    }
}

/// A server in a process of its own. Dropping it ends the process.
pub(crate) struct ServerProcess {
    child: Child,
    /// `None` once the process was told to end.
    asks: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
    pub(crate) kind: Kind,
    pub(crate) url: String,
}

/// What a server did until no stream was left.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settled {
    /// Since it was asked.
    pub(crate) after: Duration,
    /// Tokens in all streams since it was asked the last time.
    pub(crate) sent: u64,
}

impl ServerProcess {
    pub(crate) fn start(kind: Kind, pace: Duration) -> Result<Self> {
        let mut child = Command::new(std::env::current_exe()?)
            .args([SERVE, kind.name(), &pace.as_nanos().to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("cannot start a server process")?;
        let asks = child.stdin.take();
        let answers = child.stdout.take().context("a server process without an output")?;
        let mut server = Self { child, asks, answers: BufReader::new(answers), kind, url: String::new() };
        server.url = server.answer()?;
        Ok(server)
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// The client for it.
    pub(crate) fn client(&self) -> Result<HttpServer> {
        let config = HttpConfig { vocab_size: Some(200_000), ..HttpConfig::new(&self.url, self.kind.api()) };
        Ok(HttpServer::new(config, HttpSettings::default())?)
    }

    /// Asks it to tell when no stream is left.
    pub(crate) fn ask_settled(&mut self) -> Result<()> {
        let asks = self.asks.as_mut().context("a server process without an input")?;
        writeln!(asks, "settled?")?;
        Ok(asks.flush()?)
    }

    /// Its answer, once it comes.
    pub(crate) fn settled(&mut self) -> Result<Settled> {
        let answer = self.answer()?;
        let (nanoseconds, sent) = answer.split_once(' ').context("expected two numbers")?;
        Ok(Settled { after: Duration::from_nanos(nanoseconds.parse()?), sent: sent.parse()? })
    }

    fn answer(&mut self) -> Result<String> {
        let mut line = String::new();
        if self.answers.read_line(&mut line)? == 0 {
            bail!("a server process ended ({:?})", self.child.try_wait());
        }
        Ok(line.trim_end().to_owned())
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        // It ends with its input.
        drop(self.asks.take());
        let _ = self.child.wait();
    }
}

/// Serves in this process until its input ends.
pub(crate) fn serve(words: &[String]) -> Result<()> {
    let [name, pace] = words else { bail!("expected a kind and a pace") };
    let kind = Kind::ALL.into_iter().find(|kind| kind.name() == name).context("unknown kind")?;
    let pace = Duration::from_nanos(pace.parse()?);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let server = MockHttpServer::bind(([127, 0, 0, 1], 0).into(), config(kind, pace)).await?;
        answer(&format!("http://{}", server.addr()))?;
        let mut asks = asks();
        while asks.recv().await.is_some() {
            let start = Instant::now();
            server.idle().await;
            let after = start.elapsed().as_nanos();
            let sent: u64 = server.log().take().iter().map(|record| u64::from(record.sent)).sum();
            answer(&format!("{after} {sent}"))?;
        }
        Ok(())
    })
}

fn config(kind: Kind, pace: Duration) -> MockHttpConfig {
    let turn = (0..4096_u32).map(|at| 1000 + at * 7919 % 150_000).collect();
    let policy = Arc::new(ScriptPolicy::new([turn], STOP));
    let engine = if kind == Kind::Vllm { Engine::Vllm } else { Engine::Sglang };
    let style = if kind == Kind::Cumulative { StreamStyle::Cumulative } else { StreamStyle::Incremental };
    MockHttpConfig {
        token_latency: pace,
        stream_style: style,
        ..MockHttpConfig::new(engine, policy, turns_by_suffix(vec![1]), vec![STOP])
    }
}

fn answer(line: &str) -> Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{line}")?;
    Ok(out.flush()?)
}

/// The lines of the input, read by a thread that ends with it.
fn asks() -> mpsc::UnboundedReceiver<String> {
    let (sender, receiver) = mpsc::unbounded_channel();
    std::thread::spawn(move || {
        for line in std::io::stdin().lock().lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                return;
            }
        }
    });
    receiver
}
