mod failures;
mod sessions;

use std::sync::Mutex;

use futures_util::future::{BoxFuture, join_all};
use respool_core::{CallOutcome, EffectId, JsonText, Replay, RolloutId, SessionPolicy, ToolCall, ToolResult};
use serde_json::json;
use tokio::time::{Instant, sleep};
use tower::ServiceExt;

use super::*;
use crate::{
    CreateRequest, ExecuteRequest, SessionName, ToolError, ToolOutput, ToolSession, calculator,
    function_spec, function_tool,
};

const ROLLOUT: RolloutId = RolloutId(7);

/// A tool that writes down what is done with its sessions. Its kwargs tell how creating goes, a
/// call's arguments how the call goes: `ok`, `error`, `panic`, `infra`, `hang`, or seconds.
#[derive(Clone)]
struct Probe {
    spec: ToolSpec,
    log: Arc<Mutex<Vec<String>>>,
}

impl Probe {
    fn new(session: SessionPolicy) -> Self {
        let spec = function_spec("probe", "", &json!({})).unwrap();
        Self { spec: ToolSpec { session, ..spec }, log: Arc::default() }
    }

    fn log(&self) -> Vec<String> {
        self.log.lock().unwrap().clone()
    }

    fn count(&self, what: &str) -> usize {
        self.log().iter().filter(|line| line.starts_with(what)).count()
    }
}

impl Tool for Probe {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn session(&self, _name: SessionName<'_>) -> Box<dyn ToolSession> {
        Box::new(self.clone())
    }
}

impl Probe {
    fn note(&self, line: impl Into<String>) {
        self.log.lock().unwrap().push(line.into());
    }
}

impl ToolSession for Probe {
    fn create<'a>(&'a self, request: CreateRequest<'a>) -> BoxFuture<'a, Result<(), ToolError>> {
        Box::pin(async move {
            self.note(if request.reattach { "create again" } else { "create" });
            play(request.kwargs).await
        })
    }

    fn execute<'a>(&'a self, request: ExecuteRequest<'a>) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            self.note(format!("{} {}", if request.rebuilding { "rerun" } else { "run" }, request.call.id));
            let mut cut = NoteWhenCut { probe: self, done: false };
            let played = play(&request.call.arguments).await;
            cut.done = true;
            played.map(|()| ToolOutput::from("ok"))
        })
    }

    fn release(&self) -> BoxFuture<'_, Result<(), ToolError>> {
        Box::pin(async move {
            self.note("release");
            Ok(())
        })
    }
}

/// Notes that a call was dropped while it ran.
struct NoteWhenCut<'a> {
    probe: &'a Probe,
    done: bool,
}

impl Drop for NoteWhenCut<'_> {
    fn drop(&mut self) {
        if !self.done && !std::thread::panicking() {
            self.probe.note("cut");
        }
    }
}

async fn play(script: &JsonText) -> Result<(), ToolError> {
    let script: serde_json::Value = serde_json::from_str(script.as_str()).unwrap();
    if let Some(seconds) = script["do"].as_f64() {
        sleep(Duration::from_secs_f64(seconds)).await;
    }
    match script["do"].as_str() {
        Some("error") => Err(ToolError::failed("no such file")),
        Some("infra") => Err(ToolError::infrastructure("connection lost")),
        Some("panic") => panic!("index out of range"),
        Some("hang") => std::future::pending().await,
        _ => Ok(()),
    }
}

/// A call of tool `tool` whose id is `id`.
fn call(tool: &str, id: &str, arguments: &serde_json::Value) -> ToolCall {
    let arguments = JsonText::new(arguments.to_string()).unwrap();
    ToolCall { id: id.to_owned(), slot: 0, name: tool.to_owned(), arguments }
}

fn request(call: ToolCall) -> ToolRequest {
    ToolRequest {
        rollout: ROLLOUT,
        effect: EffectId { turn: 0, slot: call.slot, attempt: 0 },
        call,
        create_kwargs: JsonText::empty_object(),
        session: SessionPolicy::Stateless,
        history: Vec::new(),
    }
}

/// A call of the probe that does `what`.
fn probe(id: &str, what: impl Into<serde_json::Value>) -> ToolRequest {
    request(call("probe", id, &json!({ "do": what.into() })))
}

async fn run(tools: &Toolbox, request: ToolRequest) -> ToolResult {
    tools.service().oneshot(request).await.unwrap()
}

async fn session(tools: &Toolbox, action: SessionAction) {
    tools.sessions().oneshot(SessionRequest { rollout: ROLLOUT, action }).await.unwrap();
}

fn toolbox(tool: &Probe) -> Toolbox {
    Toolbox::builder().tool(tool.clone()).timeout(Duration::from_secs(1)).build().unwrap()
}

#[test]
fn names_are_unique_and_those_of_the_schemas() {
    let build = |name: &str| {
        let other = ToolSpec { name: name.to_owned(), ..function_spec("a", "", &json!({})).unwrap() };
        let first = function_spec("a", "", &json!({})).unwrap();
        let tool = |spec| function_tool(spec, |_: serde_json::Value| async { Ok("") });
        Toolbox::builder().tool(tool(first)).tool(tool(other)).build().unwrap_err().to_string()
    };
    assert_eq!(build("a"), "two tools are named `a`, expected different names");
    assert_eq!(build("b"), "the schema of tool `b` has \"a\" as function.name, expected \"b\"");
}

#[test]
fn the_schema_keeps_the_order_of_keys() {
    let spec = function_spec("f", "d", &json!({"type": "object", "properties": {"z": {}, "a": {}}})).unwrap();
    let expected = r#"{"type":"function","function":{"name":"f","description":"d","parameters":{"type":"object","properties":{"z":{},"a":{}}}}}"#;
    assert_eq!(spec.schema.as_str(), expected);
}

#[test]
fn the_fingerprint_tells_tool_sets_apart() {
    let tool = |spec| function_tool(spec, |_: serde_json::Value| async { Ok("") });
    let of = |specs: &[ToolSpec]| {
        let builder =
            specs.iter().cloned().fold(Toolbox::builder(), |builder, spec| builder.tool(tool(spec)));
        builder.build().unwrap().fingerprint()
    };
    let a = function_spec("a", "", &json!({})).unwrap();
    let b = function_spec("b", "", &json!({})).unwrap();
    let once = ToolSpec { replay: Replay::Once, ..a.clone() };
    let all = [
        of(&[a.clone(), b.clone()]),
        of(&[b, a.clone()]),
        of(std::slice::from_ref(&a)),
        of(&[once]),
        of(&[]),
    ];
    assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), all.len());
    assert_eq!(all[2], of(&[a]));
}

#[tokio::test(start_paused = true)]
async fn calls_of_one_turn_run_at_the_same_time_in_one_session() {
    let tool = Probe::new(SessionPolicy::Stateless);
    let tools = toolbox(&tool);
    let began = Instant::now();
    let calls = [("a", 0.2), ("b", 0.0), ("c", 0.1)].map(|(id, seconds)| run(&tools, probe(id, seconds)));
    let results = join_all(calls).await;
    assert!(results.iter().all(|result| result.outcome == CallOutcome::Ok));
    assert!(began.elapsed() < Duration::from_millis(250), "{:?}", began.elapsed());
    assert_eq!((tool.count("create"), tools.open_sessions()), (1, 1));
}

#[tokio::test]
async fn a_calculator_call_goes_through() {
    let tools = Toolbox::builder().tool(calculator().unwrap()).build().unwrap();
    let ask = |arguments| run(&tools, request(call("calculator", "c0", &arguments)));
    assert_eq!(ask(json!({"expression": "16-3-4"})).await, ToolResult::text(CallOutcome::Ok, "9"));
    let wrong = "tool `calculator`: failed: at character 2: division by zero";
    assert_eq!(ask(json!({"expression": "1/0"})).await, ToolResult::text(CallOutcome::Wrong, wrong));
}
