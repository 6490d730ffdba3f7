//! Tools that take their time, and remember what was done with them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::future::{self, BoxFuture};
use respool_tools::{
    CreateRequest, ExecuteRequest, SessionName, Tool, ToolError, ToolOutput, ToolSession, function_spec,
};
use serde_json::json;

use crate::report::Verdict;

/// What a tool does when it is called.
#[derive(Clone, Debug)]
pub(crate) enum Behaviour {
    /// Answers after a while.
    Answers { text: String, after: Duration },
    /// Never answers.
    Hangs,
    /// Fails by its own fault.
    Raises,
    /// Panics.
    Panics,
    /// Acquires something, then cannot be created.
    FailsToCreate,
    /// Its sandbox is gone.
    Unreachable,
}

/// What was done with all tools of a case.
#[derive(Clone, Debug, Default)]
pub(crate) struct Seen(Arc<Mutex<Counts>>);

/// How often what was done, by tool, and the most calls that ran at once.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counts {
    pub(crate) started: BTreeMap<String, usize>,
    pub(crate) created: BTreeMap<String, usize>,
    pub(crate) released: BTreeMap<String, usize>,
    pub(crate) running: usize,
    pub(crate) most_running: usize,
}

impl Seen {
    pub(crate) fn counts(&self) -> Counts {
        self.with(|counts| counts.clone())
    }

    fn with<T>(&self, change: impl FnOnce(&mut Counts) -> T) -> T {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// A tool of a case.
#[derive(Debug)]
pub(crate) struct StubTool {
    spec: respool_core::ToolSpec,
    behaviour: Behaviour,
    seen: Seen,
}

impl StubTool {
    /// # Errors
    /// If the name cannot be a tool's.
    pub(crate) fn new(name: &str, behaviour: Behaviour, seen: &Seen) -> Result<Self, Verdict> {
        let spec = function_spec(name, "A tool of a case.", &json!({"type": "object", "properties": {}}))
            .map_err(|error| Verdict::NotUnderstood(format!("tools.{name}: {error}")))?;
        Ok(Self { spec, behaviour, seen: seen.clone() })
    }
}

impl Tool for StubTool {
    fn spec(&self) -> &respool_core::ToolSpec {
        &self.spec
    }

    fn session(&self, _: SessionName<'_>) -> Box<dyn ToolSession> {
        let (name, behaviour, seen) = (self.spec.name.clone(), self.behaviour.clone(), self.seen.clone());
        Box::new(StubSession { name, behaviour, seen })
    }
}

struct StubSession {
    name: String,
    behaviour: Behaviour,
    seen: Seen,
}

/// A call that runs; dropping it is its end, however it ends.
struct Running<'a>(&'a Seen);

impl<'a> Running<'a> {
    fn start(seen: &'a Seen, name: &str) -> Self {
        seen.with(|counts| {
            *counts.started.entry(name.to_owned()).or_default() += 1;
            counts.running += 1;
            counts.most_running = counts.most_running.max(counts.running);
        });
        Self(seen)
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.0.with(|counts| counts.running -= 1);
    }
}

impl ToolSession for StubSession {
    fn create<'a>(&'a self, _: CreateRequest<'a>) -> BoxFuture<'a, Result<(), ToolError>> {
        self.seen.with(|counts| *counts.created.entry(self.name.clone()).or_default() += 1);
        let fails = matches!(self.behaviour, Behaviour::FailsToCreate);
        Box::pin(future::ready(if fails {
            Err(ToolError::Infrastructure("what was acquired cannot be used".to_owned()))
        } else {
            Ok(())
        }))
    }

    fn execute<'a>(&'a self, _: ExecuteRequest<'a>) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async {
            let _running = Running::start(&self.seen, &self.name);
            match &self.behaviour {
                Behaviour::Answers { text, after } => {
                    tokio::time::sleep(*after).await;
                    Ok(ToolOutput::new(text.as_str()))
                }
                Behaviour::Hangs => future::pending().await,
                Behaviour::Raises => Err(ToolError::Failed("it raised".to_owned())),
                #[expect(clippy::panic, reason = "that is what this tool is there for")]
                Behaviour::Panics => panic!("a bug in a tool"),
                Behaviour::FailsToCreate | Behaviour::Unreachable => {
                    Err(ToolError::Infrastructure("the sandbox connection is lost".to_owned()))
                }
            }
        })
    }

    fn release(&self) -> BoxFuture<'_, Result<(), ToolError>> {
        self.seen.with(|counts| *counts.released.entry(self.name.clone()).or_default() += 1);
        Box::pin(future::ready(Ok(())))
    }
}

/// Reads what a case says of a tool: `0.05 s`, `never answers`, `raises`, `answers 'ok' after 0.05 s`.
///
/// # Errors
/// If it says something else.
pub(crate) fn behaviour(text: &str) -> Result<Behaviour, Verdict> {
    let not_understood = || Verdict::NotUnderstood(format!("tools: {text:?}"));
    match text {
        "hangs" => return Ok(Behaviour::Hangs),
        _ if text.starts_with("never answers") => return Ok(Behaviour::Hangs),
        "panics" => return Ok(Behaviour::Panics),
        _ if text == "raises" || text.starts_with("raises ") => return Ok(Behaviour::Raises),
        _ => {}
    }
    let (answer, time) = match text.strip_prefix("answers '").and_then(|rest| rest.rsplit_once("' ")) {
        Some((answer, time)) => (answer, time.strip_prefix("after ").unwrap_or(time)),
        None => ("ok", text),
    };
    let after = match time {
        "at once" | "immediately" => Duration::ZERO,
        time => seconds(time).ok_or_else(not_understood)?,
    };
    Ok(Behaviour::Answers { text: answer.to_owned(), after })
}

/// Reads `0.05 s` or `50 ms`.
pub(crate) fn seconds(text: &str) -> Option<Duration> {
    let text = text.trim();
    let (number, unit) = match text.strip_suffix("ms") {
        Some(number) => (number, 0.001),
        None => (text.strip_suffix('s')?, 1.0),
    };
    let number: f64 = number.trim().parse().ok()?;
    Duration::try_from_secs_f64(number * unit).ok()
}
