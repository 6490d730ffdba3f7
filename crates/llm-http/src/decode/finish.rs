//! Finish reasons in all their spellings.

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::{Malformed, ServerError};
use crate::error::quote;

/// Why a generation ended, as the engine says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WireFinish {
    /// A stop token, or what the engine's own parser took for a call.
    Stop,
    /// The budget is used up.
    Length,
    /// Somebody aborted it.
    Abort,
    /// The engine found the model repeating itself.
    Repetition,
    /// Any other reason, by its name.
    Other(String),
    /// It failed.
    Failed(ServerError),
}

/// The finish reason of an event, unread: most events have none.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(transparent)]
pub(super) struct RawFinish<'a>(#[serde(borrow)] Option<&'a RawValue>);

impl RawFinish<'_> {
    /// Reads a reason: `null`, a name, or an object with a `type`.
    pub(super) fn read(self) -> Result<Option<WireFinish>, Malformed> {
        let Some(raw) = self.0 else { return Ok(None) };
        let unknown = || {
            let raw = quote(raw.get());
            Malformed::invalid(format!("finish_reason is {raw}, expected a name or an object with a type"))
        };
        let value: Value = serde_json::from_str(raw.get()).map_err(|_| unknown())?;
        let name = match &value {
            Value::Null => return Ok(None),
            Value::String(name) => name.as_str(),
            object => object.get("type").and_then(Value::as_str).ok_or_else(unknown)?,
        };
        Ok(Some(match name {
            "stop" | "tool_calls" => WireFinish::Stop,
            "length" => WireFinish::Length,
            "abort" => abort(&value),
            "repetition" => WireFinish::Repetition,
            "error" => WireFinish::Failed(ServerError {
                message: "the engine ended the request with finish_reason error".to_owned(),
                ..ServerError::default()
            }),
            other => WireFinish::Other(quote(other)),
        }))
    }
}

/// SGLang ends a request that it refuses or that fails as an abort too, with a status.
fn abort(value: &Value) -> WireFinish {
    let has_status = value.get("status_code").is_some_and(|code| !code.is_null());
    if has_status { WireFinish::Failed(ServerError::in_object(value)) } else { WireFinish::Abort }
}
