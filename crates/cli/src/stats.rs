//! Counts of a running run, for the progress display. Losing them loses nothing.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering::Relaxed},
};

use respool_core::GenerateEvent;
use respool_stack::{GenerateService, GenerateStream, Observer, Response, ToolService};
use tower::ServiceExt;

/// What happened so far in this process.
#[derive(Debug, Default)]
pub(crate) struct Stats {
    pub(crate) tokens: AtomicU64,
    pub(crate) tool_calls: AtomicU64,
    pub(crate) interrupts: AtomicU64,
    pub(crate) syncs: AtomicU64,
}

struct CountTokens(Arc<Stats>);

impl Observer for CountTokens {
    fn event(&mut self, event: &GenerateEvent) {
        if let GenerateEvent::Delta(delta) = event {
            self.0.tokens.fetch_add(delta.tokens.len() as u64, Relaxed);
        }
    }
}

impl Stats {
    pub(crate) fn add(counter: &AtomicU64) {
        counter.fetch_add(1, Relaxed);
    }

    pub(crate) fn get(counter: &AtomicU64) -> u64 {
        counter.load(Relaxed)
    }

    /// Counts the tokens that a service gives.
    pub(crate) fn watch_generate(self: &Arc<Self>, service: GenerateService) -> GenerateService {
        let stats = Arc::clone(self);
        let watched = move |stream: GenerateStream| stream.observed(CountTokens(Arc::clone(&stats)));
        GenerateService::new(service.map_response(watched))
    }

    /// Counts the calls that a service has answered.
    pub(crate) fn watch_tools(self: &Arc<Self>, service: ToolService) -> ToolService {
        let stats = Arc::clone(self);
        ToolService::new(service.map_response(move |result| {
            Self::add(&stats.tool_calls);
            result
        }))
    }
}
