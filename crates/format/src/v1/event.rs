//! Events of the journal.

use super::{
    data::TemplateChange,
    message::{InteractReply, ToolResult},
    seam::{DialectError, EffectId, Fault, PolicyVersion},
    transcript::Logprobs,
};

mirror!(
    enum Event {
        Encoded { effect: EffectId, encoded: Encoded },
        EncodeFailed { effect: EffectId, error: DialectError },
        Sampled { effect: EffectId, at: u32, delta: GenerateDelta },
        GenerateEnded { effect: EffectId, finish: GenerateFinish },
        GenerateFailed { effect: EffectId, fault: Fault },
        Versions { effect: EffectId, spans: Vec<VersionSpan>, uncertain: bool },
        ToolStarted { effect: EffectId },
        ToolReturned { effect: EffectId, result: ToolResult },
        ToolInterrupted { effect: EffectId },
        Replied { effect: EffectId, reply: InteractReply },
        InteractFailed { effect: EffectId, fault: Fault },
        Interrupt,
        Resume,
        Cancel,
    }
);

mirror!(
    struct Encoded {
        tokens: Vec<u32>,
        changes: Vec<TemplateChange>,
    }
);

mirror!(
    struct GenerateDelta {
        version: PolicyVersion,
        tokens: Vec<u32>,
        logprobs: Logprobs,
    }
);

mirror!(enum GenerateFinish {
    Stop,
    Length,
    Abort,
    Repetition,
    ContextLength,
    Other(name: String),
});

mirror!(
    struct VersionSpan {
        start: u32,
        len: u32,
        version: PolicyVersion,
    }
);
