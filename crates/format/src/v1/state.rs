//! The phase of a rollout, and why it ended.

use super::{
    message::{InteractReply, ToolCall, ToolResult},
    seam::Class,
    spec::Replay,
};

mirror!(enum AgentState {
    Pending,
    Generating { attempt: u32, fruitless: u32, turn_start: u32, attempt_start: u32 },
    ProcessingTools { slots: Vec<ToolSlot> },
    Interacting { attempt: u32, fruitless: u32, reply: Option<InteractReply> },
    Terminated(finish: Finish),
});

mirror!(
    struct ToolSlot {
        call: ToolCall,
        runs: bool,
        replay: Replay,
        progress: SlotProgress,
    }
);

mirror!(enum SlotProgress {
    Ready { attempt: u32 },
    Started { attempt: u32 },
    Returned(result: ToolResult),
});

mirror!(enum Finish {
    Answered,
    ResponseLength,
    ContextLength,
    TurnLength,
    AssistantTurns,
    UserTurns,
    InteractionEnded,
    Repetition,
    Other(name: String),
    EmptyReply,
    Cancelled,
    Failed(failure: Failure),
});

mirror!(
    struct Failure {
        kind: FailureKind,
        class: Class,
        message: String,
    }
);

mirror!(
    enum FailureKind {
        PromptTooLong,
        Dialect,
        Generate,
        Interact,
        Reward,
        Task,
        Checkpoint,
    }
);
