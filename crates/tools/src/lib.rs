//! Tools that rollouts call, and what each keeps for a rollout between its calls.
//!
//! A [`Toolbox`] is built from [`Tool`]s that are registered one by one; it gives the service that
//! runs calls and the service that keeps and releases sessions. A tool that keeps nothing is one
//! async function: [`function_tool`]. [`calculator`] is built in.
//!
//! It is deliberately not the rules: limits on parallel calls, result order, truncation and replay
//! after an interrupt belong to the engine, and it knows no LLM server.
//!
//! *Invariant:* every session that was created, or begun to be, is released exactly once, whatever
//! happened in it; and no tool's error, panic or silence reaches another call.
//!
//! ```
//! use respool_tools::{Toolbox, ToolError, calculator, function_spec, function_tool};
//! use serde_json::json;
//!
//! #[derive(serde::Deserialize)]
//! struct City {
//!     city: String,
//! }
//! let parameters = json!({"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]});
//! let weather = function_tool(
//!     function_spec("weather", "Tells the weather.", &parameters)?,
//!     |City { city }| async move { Ok::<_, ToolError>(format!("sunny in {city}")) },
//! );
//! let tools = Toolbox::builder().tool(calculator()?).tool(weather).build()?;
//! assert_eq!(tools.specs()[1].name, "weather");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod tool;

mod calculator;
mod call;
mod function;
mod session;
mod sessions;
mod spec;
mod toolbox;

pub use calculator::{ExpressionError, MAX_EXPRESSION_CHARS, calculate, calculator};
pub use function::{FunctionTool, function_tool};
pub use spec::function_spec;
pub use tool::{CreateRequest, ExecuteRequest, SessionName, Tool, ToolError, ToolOutput, ToolSession};
pub use toolbox::{
    DEFAULT_LEASE, DEFAULT_RELEASE_TIMEOUT, DEFAULT_TIMEOUT, Toolbox, ToolboxBuilder, ToolboxError,
};
