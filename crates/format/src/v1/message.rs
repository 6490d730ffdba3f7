//! Messages, tool calls and their results.

use super::seam::Json;

mirror!(
    struct Message {
        role: Role,
        content: Content,
        reasoning: Option<String>,
        tool_calls: Vec<ToolCall>,
        tool_call_id: Option<String>,
        name: Option<String>,
        outcome: Option<CallOutcome>,
    }
);

mirror!(
    struct ToolCall {
        id: String,
        slot: u32,
        name: String,
        arguments: Json,
    }
);

mirror!(
    struct ToolResult {
        outcome: CallOutcome,
        content: Content,
        reward: Option<f64>,
        metrics: Vec<(String, f64)>,
    }
);

mirror!(
    struct InteractReply {
        content: Content,
        score: Option<f64>,
        terminate: bool,
    }
);

mirror!(
    enum Role {
        System,
        Developer,
        User,
        Assistant,
        Tool,
    }
);

mirror!(enum Content {
    Text(text: String),
    Parts(parts: Vec<ContentPart>),
});

mirror!(enum ContentPart {
    Text(text: String),
    Image(url: String),
    Video(url: String),
    Audio(url: String),
});

mirror!(
    enum CallOutcome {
        Ok,
        Wrong,
        Malformed,
        OverLimit,
        Infrastructure,
        Interrupted,
        Cancelled,
        NotRun,
    }
);
