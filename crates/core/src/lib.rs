//! Plain values of Respool and the vocabulary of its seams.
//!
//! A *rollout* is one run of an agent loop for one task. This crate says what a rollout **is**
//! ([`AgentData`] with its [`Transcript`], and the phase [`AgentState`]), how it **ends**
//! ([`AgentLoopOutput`], [`Finish`]), what can **happen** to it ([`Event`]), and what it asks of
//! the outside world ([`GenerateRequest`], [`ToolRequest`], [`InteractRequest`], [`Dialect`]).
//!
//! It is deliberately not the rules (`respool-engine`), not bytes (`respool-format`) and not I/O.
//!
//! *Invariant:* no serde, no async, no clock, no randomness; the only dependency is `thiserror`.
//!
//! ```
//! use respool_core::{Logprob, PolicyVersion, Transcript};
//!
//! let mut transcript = Transcript::new();
//! transcript.push_given(&[1, 5]); // the prompt
//! transcript.end_prompt();
//! transcript.push_sampled(PolicyVersion(3), &[11, 2], &[Logprob::new(-0.5), Logprob::MISSING]);
//! transcript.push_given(&[801, 9]); // a tool result
//! assert_eq!(transcript.response_ids(), [11, 2, 801, 9]);
//! assert_eq!(transcript.response_mask(), [1, 1, 0, 0]);
//! assert_eq!(transcript.token_versions()[1], Some(PolicyVersion(3)));
//! ```

mod call;
mod data;
mod dialect;
mod event;
mod fault;
mod finish;
mod ids;
mod json;
mod limits;
mod logprob;
mod mark;
mod message;
mod outcome;
mod output;
mod request;
mod spec;
mod state;
mod tool;
mod transcript;
mod truncate;

pub use call::{CallOutcome, CallRecord, EffectKey, EffectKind};
pub use data::{AgentData, AttemptSpan, USER_DATA_LIMIT, UserData, UserDataTooLarge};
pub use dialect::{
    Chat, Continuation, Dialect, DialectError, Encoded, ParsedCall, ParsedTurn, TemplateChange,
};
pub use event::{Event, GenerateFinish, VersionSpan};
pub use fault::{Class, Fault};
pub use finish::{Failure, FailureKind, Finish};
pub use ids::{EffectId, Fingerprint, PolicyVersion, RolloutId, Token};
pub use json::{InvalidJson, JsonText};
pub use limits::{
    CallsOverLimit, Compat, ContinuationMode, ControlTokens, FailedCallReward, Limits, MalformedCalls,
    Options, PartialOff, PromptOverflow, TerminatingReplyTokens, ToolInterrupt, TruncateSide,
};
pub use logprob::Logprob;
pub use mark::{Mark, MarkKind};
pub use message::{Content, ContentPart, Message, Role, ToolCall};
pub use outcome::{Difference, outcome_eq, outcome_within};
pub use output::{AgentLoopOutput, Trajectory};
pub use request::{
    GenerateDelta, GenerateEvent, GenerateRequest, InteractReply, InteractRequest, SessionAction,
    SessionRequest, ToolRequest, ToolResult,
};
pub use spec::{InteractionSpec, LoopKind, RolloutSpec, Sampling};
pub use state::{AgentState, SlotProgress, ToolSlot};
pub use tool::{Replay, SessionPolicy, ToolSpec};
pub use transcript::{Run, RunKind, Transcript};
pub use truncate::truncate;
