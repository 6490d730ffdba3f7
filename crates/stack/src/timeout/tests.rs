use respool_core::{Class, RolloutId, SessionAction, SessionRequest};
use tower::{ServiceExt, service_fn};

use super::*;

/// The answer, under a limit of 3 s, of a service that takes so long.
async fn answer(takes: Duration) -> Result<(), Fault> {
    let inner = service_fn(move |_request: SessionRequest| async move {
        tokio::time::sleep(takes).await;
        Ok(())
    });
    let request = SessionRequest { rollout: RolloutId(7), action: SessionAction::Keep };
    TimeoutLayer::new(Duration::from_secs(3)).layer(inner).oneshot(request).await
}

#[tokio::test(start_paused = true)]
async fn a_late_answer_is_a_transient_fault_that_says_whose() {
    let fault = answer(Duration::from_secs(4)).await.unwrap_err();
    assert_eq!(fault.class, Class::Transient);
    assert_eq!(fault.message, "session of rollout 00000000000000000000000000000007: no answer within 3s");
}

#[tokio::test(start_paused = true)]
async fn an_answer_in_time_is_passed_on() {
    assert_eq!(answer(Duration::from_secs(2)).await, Ok(()));
}
