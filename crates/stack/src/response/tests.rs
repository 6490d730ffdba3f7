use std::sync::{Arc, Mutex};

use futures_util::StreamExt;
use respool_core::{CallOutcome, Fault, GenerateEvent, ToolResult};

use crate::testing::{Item, delta, stop, stream};
use crate::{Observer, Response};

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<&'static str>>>);

struct Logging(Log);

impl Logging {
    fn note(&self, what: &'static str) {
        self.0.0.lock().unwrap().push(what);
    }
}

impl Observer for Logging {
    fn event(&mut self, _event: &GenerateEvent) {
        self.note("event");
    }

    fn failed(&mut self, _fault: &Fault) {
        self.note("failed");
    }
}

impl Drop for Logging {
    fn drop(&mut self) {
        self.note("dropped");
    }
}

#[track_caller]
fn check(items: Vec<Item>, expected: &[&str]) {
    let log = Log::default();
    let mut observed = stream(items.clone()).observed(Logging(log.clone()));
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let seen: Vec<Item> = runtime.block_on(observed.by_ref().collect());
    assert_eq!(seen, items, "an observer changes nothing");
    assert_eq!(*log.0.lock().unwrap(), expected, "with the ended stream still there");
}

#[test]
fn the_observer_sees_every_event_and_leaves_with_the_last() {
    check(vec![delta(&[1]), stop()], &["event", "event", "dropped"]);
    check(vec![delta(&[1]), Err(Fault::transient("reset"))], &["event", "failed", "dropped"]);
    check(vec![delta(&[1])], &["event", "failed", "dropped"]);
    check(vec![], &["failed", "dropped"]);
}

#[test]
fn a_whole_response_is_over_at_once() {
    let log = Log::default();
    let result = ToolResult::text(CallOutcome::Ok, "4").observed(Logging(log.clone()));
    assert_eq!(*log.0.lock().unwrap(), ["dropped"]);
    assert_eq!(result.outcome, CallOutcome::Ok);
}
