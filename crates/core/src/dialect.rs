//! How a model family writes: the trait that the engine and the driver know.

use std::fmt;

use crate::{CallOutcome, Fingerprint, JsonText, Message, Token, ToolCall, ToolSpec};

/// How a model family writes: tokenizer, chat template, tool-call format.
///
/// All methods are pure functions of their arguments: no clock, no I/O, no randomness.
pub trait Dialect: Send + Sync + fmt::Debug {
    /// Changes whenever a rollout could come out differently.
    fn fingerprint(&self) -> Fingerprint;

    /// Tokens that end a turn: `eos_token`, `eos_token_id` of the generation config, and the
    /// tool-call format's own.
    fn stop_tokens(&self) -> &[Token];

    /// Renders the first chat with tools and generation prompt, and tokenizes it (R1).
    ///
    /// # Errors
    /// If the template refuses the messages.
    fn encode_chat(&self, chat: &Chat<'_>) -> Result<Encoded, DialectError>;

    /// The tokens between the last sampled token and the next generation prompt (R8, R13).
    ///
    /// # Errors
    /// If the template refuses the messages.
    fn encode_continuation(&self, continuation: &Continuation<'_>) -> Result<Encoded, DialectError>;

    /// Reads a whole assistant turn. Total: no input panics or fails.
    ///
    /// `before` are all tokens that precede the turn: they tell whether the prompt already opened
    /// a reasoning block. `tools` are those that the prompt shows: formats that write plain text need
    /// the types of their parameters. `complete` is false for a turn that was cut by a length limit.
    fn parse_turn(&self, before: &[Token], turn: &[Token], tools: &[ToolSpec], complete: bool) -> ParsedTurn;

    /// Appends the bytes that a token stands for. Control tokens stand for their spelling; an
    /// unknown id for nothing.
    fn token_bytes(&self, token: Token, out: &mut Vec<u8>);

    /// The text of tokens, control tokens spelled out, invalid UTF-8 replaced.
    fn decode(&self, tokens: &[Token]) -> String {
        let mut bytes = Vec::with_capacity(tokens.len() * 4);
        for token in tokens {
            self.token_bytes(*token, &mut bytes);
        }
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

/// A chat to render.
#[derive(Clone, Copy, Debug)]
pub struct Chat<'a> {
    /// The messages.
    pub messages: &'a [Message],
    /// The tools that the prompt shows.
    pub tools: &'a [ToolSpec],
    /// Further arguments of the template, a JSON object.
    pub template_args: &'a JsonText,
}

/// New messages after a sampled turn.
#[derive(Clone, Copy, Debug)]
pub struct Continuation<'a> {
    /// The chat so far; its last message is the sampled assistant turn.
    pub chat: Chat<'a>,
    /// What comes after it: tool messages, or a user message.
    pub new_messages: &'a [Message],
    /// The last token of the sampled turn; tells whether the stop token is there (R13).
    pub last_token: Option<Token>,
}

/// Tokens made from messages.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Encoded {
    /// The tokens.
    pub tokens: Vec<Token>,
    /// What the template would now write differently in earlier text; empty where it is
    /// append-only, and where that is not asked (the first chat).
    pub changes: Vec<TemplateChange>,
}

/// A place where the template would now write earlier text differently.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TemplateChange {
    /// Offset in characters of the text that stays.
    pub at: u32,
    /// What stays.
    pub kept: String,
    /// What the template has there now.
    pub template: String,
}

/// A sampled turn, read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ParsedTurn {
    /// The text outside reasoning and calls, without stop tokens; white space trimmed at both ends.
    pub content: String,
    /// The reasoning, without its markers.
    pub reasoning: Option<String>,
    /// All call attempts in order. The id of a call is the one that the model wrote, empty where it
    /// wrote none.
    pub calls: Vec<ParsedCall>,
    /// Positions of the calls that were readable only with the format's lenient option.
    pub lenient: Vec<u32>,
}

/// A call attempt of a turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ParsedCall {
    /// A call with a name and an object of arguments.
    Call(ToolCall),
    /// A call with a name whose arguments are no object: it keeps its place, no tool runs (R5).
    Wrong {
        /// The tool's name.
        name: String,
        /// What is wrong, for the policy to read.
        reason: String,
    },
    /// No readable call.
    Malformed {
        /// What is wrong, for the policy to read.
        reason: String,
        /// What the policy wrote.
        text: String,
    },
}

impl ParsedCall {
    /// How a call that is answered without running a tool ends; `None` for one that runs.
    #[must_use]
    pub const fn fault(&self) -> Option<CallOutcome> {
        match self {
            Self::Call(_) => None,
            Self::Wrong { .. } => Some(CallOutcome::Wrong),
            Self::Malformed { .. } => Some(CallOutcome::Malformed),
        }
    }
}

/// A dialect cannot render or tokenize what it was given.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct DialectError {
    /// Which template or tokenizer, which messages, what it said, which option helps.
    pub message: String,
}

impl DialectError {
    /// An error with that message.
    #[must_use]
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into() }
    }
}
