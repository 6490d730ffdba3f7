//! Everything the engine may want, as services.

use respool_core::{CallOutcome, Fault, ToolRequest, ToolResult};
use respool_stack::{GenerateService, InteractService, SessionService, ToolService};
use tower::{service_fn, util::BoxCloneSyncService};

/// The services of a rollout. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Services {
    /// Samples turns.
    pub generate: GenerateService,
    /// Runs tool calls.
    pub tools: ToolService,
    /// Keeps and releases tool sessions.
    pub sessions: SessionService,
    /// Answers in the user's place.
    pub interact: InteractService,
}

impl Services {
    /// Only a generator: every tool is unknown, and interactions fail with a message that says so.
    #[must_use]
    pub fn generate_only(generate: GenerateService) -> Self {
        Self {
            generate,
            tools: BoxCloneSyncService::new(service_fn(|request: ToolRequest| async move {
                // R6: an unknown name is the policy's mistake, and no failure of ours.
                let text = format!("unknown tool `{}`: there are no tools", request.call.name);
                Ok(ToolResult::text(CallOutcome::Wrong, text))
            })),
            sessions: BoxCloneSyncService::new(service_fn(|_| async { Ok(()) })),
            interact: BoxCloneSyncService::new(service_fn(|_| async {
                Err(Fault::terminal("no interaction is configured"))
            })),
        }
    }
}
