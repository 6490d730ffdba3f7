//! Tools that are one async function and keep nothing between calls.

use std::{fmt, sync::Arc};

use futures_util::future::BoxFuture;
use respool_core::ToolSpec;
use serde::de::DeserializeOwned;

use crate::{ExecuteRequest, SessionName, Tool, ToolError, ToolOutput, ToolSession};

type Function = dyn Fn(ExecuteRequest<'_>) -> Result<BoxFuture<'static, Result<ToolOutput, ToolError>>, ToolError>
    + Send
    + Sync;

/// A tool without sessions; see [`function_tool`].
#[derive(Clone)]
pub struct FunctionTool {
    spec: ToolSpec,
    function: Arc<Function>,
}

/// A tool made of an async function. The call's arguments are read into `A` by serde; a call
/// whose arguments do not fit is a wrong call, and the function does not run.
pub fn function_tool<A, O, F, Fut>(spec: ToolSpec, function: F) -> FunctionTool
where
    A: DeserializeOwned,
    O: Into<ToolOutput>,
    F: Fn(A) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<O, ToolError>> + Send + 'static,
{
    let function = move |request: ExecuteRequest<'_>| {
        let answer = function(request.arguments()?);
        Ok(Box::pin(async move { answer.await.map(Into::into) }) as BoxFuture<'static, _>)
    };
    FunctionTool { spec, function: Arc::new(function) }
}

impl Tool for FunctionTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn session(&self, _name: SessionName<'_>) -> Box<dyn ToolSession> {
        Box::new(Stateless(Arc::clone(&self.function)))
    }
}

impl fmt::Debug for FunctionTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FunctionTool").field("spec", &self.spec).finish_non_exhaustive()
    }
}

struct Stateless(Arc<Function>);

impl ToolSession for Stateless {
    fn execute<'a>(&'a self, request: ExecuteRequest<'a>) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move { (self.0)(request)?.await })
    }
}
