//! The tower vocabulary of Respool: what each service takes and gives, and the layers around them.
//!
//! Services are boxed at crate boundaries through the small closed set of aliases here; generics
//! stay inside a file. A layer is written once for every service whose request is a [`Call`],
//! whose response is a [`Response`] and whose error is a [`Fault`](respool_core::Fault).
//!
//! It is deliberately not a client: it knows neither HTTP nor any server or tool.
//!
//! *Invariant:* no rollout's state lives in a layer. Limits, timers, spans and counts do, and
//! losing them loses nothing.
//!
//! ```
//! use std::time::Duration;
//! use respool_core::{CallOutcome, Fault, ToolRequest, ToolResult};
//! use respool_stack::{ConcurrencyLimitLayer, MetricsLayer, TimeoutLayer, ToolService, TraceLayer};
//! use tower::ServiceBuilder;
//!
//! async fn echo(request: ToolRequest) -> Result<ToolResult, Fault> {
//!     Ok(ToolResult::text(CallOutcome::Ok, request.call.arguments.to_string()))
//! }
//!
//! let service = ServiceBuilder::new()
//!     .layer(TraceLayer)
//!     .layer(MetricsLayer)
//!     .layer(ConcurrencyLimitLayer::new(16))
//!     .layer(TimeoutLayer::new(Duration::from_secs(30)))
//!     .service_fn(echo);
//! let boxed = ToolService::new(service);
//! # let _ = boxed;
//! ```

mod call;
mod caught;
mod limit;
mod metrics;
mod new_service;
mod ready;
mod response;
mod service;
mod stream_timeout;
mod timeout;
mod trace;
mod waste;

pub use call::Call;
pub use caught::caught;
pub use limit::{ConcurrencyLimit, ConcurrencyLimitLayer};
pub use metrics::{Metrics, MetricsLayer};
pub use new_service::NewService;
pub use ready::ready_after;
pub use response::{Observer, Response};
pub use service::{
    GenerateCall, GenerateService, GenerateStream, InteractService, SessionService, ToolService,
};
pub use stream_timeout::{StreamTimeout, StreamTimeoutLayer};
pub use timeout::{Timeout, TimeoutLayer};
pub use trace::{Trace, TraceLayer};
pub use waste::{Waste, wasted};

#[cfg(test)]
mod testing;
