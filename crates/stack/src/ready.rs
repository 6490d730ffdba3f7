//! Waiting before a request is sent.

use std::time::Duration;

use respool_core::Fault;
use tokio_util::sync::CancellationToken;
use tower::ServiceExt;

use crate::GenerateService;

/// Waits out the delay, then for the service's readiness. An abort ends both waits; once the request
/// is sent, ending it is the service's part.
///
/// # Errors
/// If it was aborted, or the service fails.
pub async fn ready_after(
    service: &mut GenerateService,
    delay: Duration,
    abort: &CancellationToken,
) -> Result<(), Fault> {
    let ready = async {
        if !delay.is_zero() {
            tokio::time::sleep(delay).await;
        }
        service.ready().await.map(drop)
    };
    tokio::select! {
        biased;
        () = abort.cancelled() => Err(Fault::transient("aborted before the request was sent")),
        ready = ready => ready,
    }
}
