//! The way of a generation request from its check to its answer; both engines'.

use http::StatusCode;
use tokio_util::sync::CancellationToken;

use crate::ask::Ask;
use crate::connection::Context;
use crate::plan::Plan;
use crate::reply::{self, Cut, Reply};
use crate::running::Running;

/// How an engine says no.
pub(crate) type Refuse = fn(StatusCode, &str) -> Reply;

/// Answers a request that was checked. With `unique_ids` a second one of an id that is in use is
/// refused.
pub(crate) async fn admit(
    context: Context,
    ask: Ask,
    unique_ids: bool,
    refuse: Refuse,
) -> Result<Reply, Cut> {
    let abort = CancellationToken::new();
    let Some(active) = context.life.enter(&ask.abort_id, &abort, unique_ids) else {
        let message = format!("Duplicate request ID detected: {}", ask.id);
        return Ok(refuse(StatusCode::BAD_REQUEST, &message));
    };
    let index = context.shared.count_request();
    let plan = Plan::new(context.shared.config.faults.of(index));
    if let Some((status, retry_after)) = plan.refusal {
        let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let refusal = refuse(status, &format!("mock server: fault of request {index}"));
        return Ok(reply::with_retry_after(refusal, retry_after));
    }
    if !plan.header_delay.is_zero() {
        tokio::time::sleep(plan.header_delay).await;
    }
    let streams = ask.streams;
    match Running::start(context, ask, plan, abort, active) {
        Err(message) => Ok(refuse(StatusCode::BAD_REQUEST, &message)),
        Ok(running) if streams => Ok(reply::events(running.into_events())),
        Ok(running) => running.into_whole().await,
    }
}
