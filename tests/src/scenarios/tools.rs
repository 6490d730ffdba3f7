//! The tools of scenarios, by behaviour.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use respool_core::{Replay, SessionPolicy, ToolSpec};
use respool_tools::{ExecuteRequest, SessionName, Tool, ToolError, ToolOutput, ToolSession, Toolbox};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::input;
use crate::report::Verdict;
use crate::{item, messages};

/// Sets the interrupt signal.
pub(super) type Signal = Arc<dyn Fn() + Send + Sync>;

/// All tools of a scenario.
///
/// # Errors
/// If one has a form or a behaviour that is not known.
pub(super) fn toolbox(tools: &[input::Tool], signal: &Signal) -> Result<Toolbox, Verdict> {
    let mut builder = Toolbox::builder();
    for tool in tools {
        let spec = ToolSpec {
            name: item::parse::<Schema>(tool.schema.get())?.function.name,
            schema: messages::json_text(&tool.schema)?,
            replay: Replay::default(),
            session: SessionPolicy::default(),
        };
        let behaviour = Behaviour {
            name: Known::read(&tool.behaviour)?,
            given: tool.behaviour_args.clone(),
            reward: tool.reward,
            signal: Arc::clone(signal),
        };
        builder = builder.tool(Scripted { spec, behaviour });
    }
    builder.build().map_err(|error| Verdict::NotUnderstood(format!("tools: {error}")))
}

#[derive(Deserialize)]
struct Schema {
    function: Function,
}

#[derive(Deserialize)]
struct Function {
    name: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Known {
    Calculator,
    Echo,
    Repeat,
    Constant,
    Raise,
    SlowEcho,
    CancelThenEcho,
}

impl Known {
    fn read(name: &str) -> Result<Self, Verdict> {
        Ok(match name {
            "calculator" => Self::Calculator,
            "echo" => Self::Echo,
            "repeat" => Self::Repeat,
            "constant" => Self::Constant,
            "raise" => Self::Raise,
            "slow_echo" => Self::SlowEcho,
            "cancel_then_echo" => Self::CancelThenEcho,
            _ => return Err(Verdict::NotUnderstood(format!("tools: behaviour {name:?}"))),
        })
    }
}

#[derive(Clone)]
struct Behaviour {
    name: Known,
    /// The scenario's own arguments of the behaviour.
    given: Map<String, Value>,
    reward: Option<f64>,
    signal: Signal,
}

impl fmt::Debug for Behaviour {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.name.fmt(f)
    }
}

impl Behaviour {
    async fn run(&self, arguments: &Map<String, Value>) -> Result<String, ToolError> {
        match self.name {
            Known::Calculator => calculate(arguments),
            Known::Echo => text(arguments, "text"),
            Known::Repeat => Ok(text(arguments, "text")?.repeat(count(arguments, "n")?)),
            Known::Constant => self.given_text(),
            Known::Raise => Err(ToolError::failed(self.given_text().unwrap_or_default())),
            Known::SlowEcho => {
                let seconds = self.given.values().find_map(Value::as_f64).unwrap_or(0.05);
                tokio::time::sleep(Duration::try_from_secs_f64(seconds).unwrap_or_default()).await;
                text(arguments, "text")
            }
            Known::CancelThenEcho => {
                (self.signal)();
                tokio::task::yield_now().await;
                text(arguments, "text")
            }
        }
    }

    fn given_text(&self) -> Result<String, ToolError> {
        let given = self.given.values().find_map(Value::as_str);
        given.map(str::to_owned).ok_or_else(|| ToolError::failed("the scenario gives no text"))
    }
}

fn text(arguments: &Map<String, Value>, name: &str) -> Result<String, ToolError> {
    let text = arguments.get(name).and_then(Value::as_str);
    text.map(str::to_owned).ok_or_else(|| ToolError::BadArguments(format!("{name} is no text")))
}

fn count(arguments: &Map<String, Value>, name: &str) -> Result<usize, ToolError> {
    let count = arguments.get(name).and_then(Value::as_u64).filter(|count| *count <= 1 << 20);
    count.map(|count| count as usize).ok_or_else(|| ToolError::BadArguments(format!("{name} is no count")))
}

/// An integral float prints without `.0`.
fn calculate(arguments: &Map<String, Value>) -> Result<String, ToolError> {
    let number = |name: &str| {
        let value = arguments.get(name).and_then(Value::as_f64);
        value.ok_or_else(|| ToolError::BadArguments(format!("{name} is no number")))
    };
    let (a, b) = (number("a")?, number("b")?);
    let value = match text(arguments, "op")?.as_str() {
        "+" => a + b,
        "-" => a - b,
        "*" => a * b,
        "/" if b != 0.0 => a / b,
        op => return Err(ToolError::failed(format!("{a} {op} {b} has no value"))),
    };
    Ok(value.to_string())
}

#[derive(Debug)]
struct Scripted {
    spec: ToolSpec,
    behaviour: Behaviour,
}

impl Tool for Scripted {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn session(&self, _: SessionName<'_>) -> Box<dyn ToolSession> {
        Box::new(Session(self.behaviour.clone()))
    }
}

struct Session(Behaviour);

impl ToolSession for Session {
    fn execute<'a>(&'a self, request: ExecuteRequest<'a>) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let output = ToolOutput::new(self.0.run(&request.arguments()?).await?);
            Ok(match self.0.reward {
                Some(reward) => output.with_reward(reward),
                None => output,
            })
        })
    }
}
