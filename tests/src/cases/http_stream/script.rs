//! Several requests: what is asked again, of whom, and with which tokens.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use respool_core::{Class, GenerateRequest, PolicyVersion};
use respool_llm::{Backoff, ContinueSettings, Pool, PoolSettings, ServerManager, continued};
use respool_stack::GenerateService;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::expected::{Expected, seen};
use super::input::{RequestInput, ScriptInput, ServersInput, Step};
use super::table::event_with;
use super::{Wire, broken};
use crate::cases::Checked;
use crate::report::Verdict;
use crate::wire::{self, Answer, Ending, Received, WireServer, client, collect};

/// Both engines' ways of saying the same.
const WIRES: [Wire; 3] = [Wire::SglangGenerate, Wire::VllmGenerate, Wire::VllmCompletions];
/// Short, so that a case takes no time.
const BACKOFF: Backoff = Backoff::new(Duration::from_millis(4), Duration::from_millis(64));

/// One server.
pub(super) async fn check_one(input: &ScriptInput, expected: &Expected) -> Checked {
    for wire in WIRES {
        let server = Scripted::start(wire, input.server_script.clone()).await?;
        let pool = pool([server.server.url()], wire)?;
        let request = request(&input.request);
        let all =
            collect(&service(&pool, input.max_attempts), request, &CancellationToken::new(), usize::MAX)
                .await;
        let mut seen = seen(&all);
        seen["attempts"] = json!(server.generations().len());
        seen["attempt_ids_distinct"] = json!(are_distinct(&server.generations()));
        seen["backoff"] = json!(if grows_to_a_bound() { "non-decreasing, bounded" } else { "not" });
        seen["requests"] = server.generations().iter().map(|request| asked(wire, request)).collect();
        expected.check(&seen)?;
    }
    Ok(())
}

/// Several servers; the first to be asked is the sticky one.
pub(super) async fn check_many(input: &ServersInput, expected: &Expected) -> Checked {
    for wire in WIRES {
        let (mut servers, mut urls) = (BTreeMap::new(), Vec::new());
        for name in &input.servers {
            let script = input.server_script.get(name).cloned().unwrap_or_default();
            let url = if script.iter().all(|step| step.connect.is_some()) {
                wire::refused().await.map_err(broken)?
            } else {
                let server = Scripted::start(wire, script).await?;
                let url = server.server.url();
                servers.insert(name.clone(), server);
                url
            };
            // The sticky server is the first that is there, and so the first that is asked.
            let at = if Some(name) == input.sticky.as_ref() { 0 } else { urls.len() };
            urls.insert(at, url);
        }
        let pool = pool(urls, wire)?;
        let input_request = RequestInput { prompt_ids: vec![1, 2], max_tokens: 8 };
        let service = service(&pool, input.max_attempts);
        let all = collect(&service, request(&input_request), &CancellationToken::new(), usize::MAX).await;
        let mut seen = seen(&all);
        let served = servers.iter().find(|(_, server)| !server.generations().is_empty());
        seen["served_by"] = json!(served.map(|(name, _)| name));
        expected.check(&seen)?;
    }
    Ok(())
}

/// A server that gives the answers of a script, the last one again and again.
pub(super) struct Scripted {
    pub(super) server: WireServer,
    path: &'static str,
}

impl Scripted {
    pub(super) async fn start(wire: Wire, script: Vec<Step>) -> Result<Self, Verdict> {
        let answers = script.iter().map(|step| answer(wire, step)).collect::<Result<Vec<_>, _>>()?;
        let (path, given) = (wire.api().path(), AtomicUsize::new(0));
        let server = WireServer::start(move |received| {
            if received.path != path {
                return Answer::json(200, "{}");
            }
            let index = given.fetch_add(1, Ordering::Relaxed).min(answers.len().saturating_sub(1));
            answers.get(index).cloned().unwrap_or_else(Answer::nothing)
        });
        Ok(Self { server: server.await.map_err(broken)?, path })
    }

    /// The generations that it was asked for.
    pub(super) fn generations(&self) -> Vec<Received> {
        self.server.received().into_iter().filter(|received| received.path == self.path).collect()
    }
}

fn answer(wire: Wire, step: &Step) -> Result<Answer, Verdict> {
    if step.connect.is_some() {
        return Ok(Answer::nothing());
    }
    let status = step.http.unwrap_or(200);
    let mut answer = match step.tokens.as_ref().or(step.stream_tokens.as_ref()) {
        Some(tokens) if status == 200 => {
            let finish = step.finish.as_ref().map_or(Value::Null, |finish| finish_of(wire, finish));
            let mut pieces = vec![event_with(wire, tokens, &step.logprobs, &finish)];
            if step.then.is_none() {
                pieces.push(b"data: [DONE]\n\n".to_vec());
            }
            Answer::events(pieces)
        }
        _ => Answer::json(status, step.body.as_ref().map(ToString::to_string).unwrap_or_default()),
    };
    answer.ending = match step.then.as_deref() {
        None => Ending::Whole,
        Some(then) if then.contains("reset") => Ending::Reset,
        Some(then) if then.contains("close") => Ending::Closed,
        Some(other) => return Err(Verdict::NotUnderstood(format!("input.server_script: then {other:?}"))),
    };
    let headers = step.headers.clone().unwrap_or_default();
    let wish = step.retry_after.as_ref().map(|wish| ("retry-after".to_owned(), wish.to_string()));
    Ok(headers
        .into_iter()
        .chain(wish)
        .fold(answer, |answer, (name, value)| answer.with_header(&name, &value)))
}

fn finish_of(wire: Wire, finish: &str) -> Value {
    if wire == Wire::SglangGenerate { json!({ "type": finish }) } else { json!(finish) }
}

/// A pool of the servers at these URLs.
pub(super) fn pool(urls: impl IntoIterator<Item = String>, wire: Wire) -> Result<Pool, Verdict> {
    let pool = Pool::new(PoolSettings::default(), wire::wire_ids(), 0, PolicyVersion(0));
    for url in urls {
        add(&pool, &url, wire)?;
    }
    Ok(pool)
}

fn add(pool: &Pool, url: &str, wire: Wire) -> Checked {
    pool.add(Arc::new(client(url, wire.api()).map_err(broken)?)).map_err(broken)
}

/// The pool with the rule of `llm::continued`.
pub(super) fn service(pool: &Pool, max_attempts: Option<u32>) -> GenerateService {
    let settings = ContinueSettings { max_attempts: max_attempts.unwrap_or(8), backoff: BACKOFF, seed: 0 };
    continued(pool.generate(), settings)
}

fn request(input: &RequestInput) -> GenerateRequest {
    wire::request(input.prompt_ids.clone(), input.max_tokens)
}

/// The names under which requests were sent.
pub(super) fn are_distinct(requests: &[Received]) -> bool {
    let ids: HashSet<String> = requests
        .iter()
        .filter_map(|request| {
            let body = request.json();
            Some(body.get("rid").or_else(|| body.get("request_id"))?.to_string())
        })
        .collect();
    ids.len() == requests.len()
}

/// The request in the words of the cases.
fn asked(wire: Wire, request: &Received) -> Value {
    let body = request.json();
    let (prompt, budget) = match wire {
        Wire::SglangGenerate => (&body["input_ids"], &body["sampling_params"]["max_new_tokens"]),
        Wire::VllmGenerate | Wire::VllmChat => (&body["token_ids"], &body["sampling_params"]["max_tokens"]),
        Wire::VllmCompletions => (&body["prompt"], &body["max_tokens"]),
    };
    json!({ "prompt_ids": prompt, "max_tokens": budget })
}

/// The delays between attempts, for any jitter.
fn grows_to_a_bound() -> bool {
    (0..100).all(|seed| {
        let delays: Vec<_> =
            (0..40).filter_map(|retry| Backoff::default().delay(retry, Class::Transient, seed)).collect();
        let bounded = delays.iter().all(|delay| *delay <= Duration::from_secs(10));
        // The first ones double; at the bound only the jitter is left.
        bounded && delays.windows(2).take(6).all(|pair| pair[0] <= pair[1])
    })
}
