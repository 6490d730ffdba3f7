//! How model families write: Hugging Face tokenizers and chat templates, and tool-call formats.
//!
//! [`HfDialect`] implements [`respool_core::Dialect`] from a model folder, or from the small
//! dialect that is built in. [`Template`] renders a chat template alone, and the [`ToolFormat`]s
//! read a turn's text alone.
//!
//! It is deliberately not a client: nothing here knows a network, a clock or a random number, and
//! after [`HfDialect::load`] nothing reads a file.
//!
//! *Invariant:* what was given or sampled is never tokenized again; a continuation only appends.
//!
//! ```
//! use respool_core::{Chat, Dialect, JsonText, Message, Role};
//! use respool_dialect::{Clock, DialectOptions, HfDialect};
//!
//! let clock = Clock::from_unix_seconds(1_767_322_800);
//! let dialect = HfDialect::embedded(DialectOptions::new(clock))?;
//! let messages = [Message::new(Role::User, "What is 2 + 3?")];
//! let chat = Chat { messages: &messages, tools: &[], template_args: &JsonText::empty_object() };
//! let prompt = dialect.encode_chat(&chat)?;
//! assert!(dialect.decode(&prompt.tokens).ends_with("<|im_start|>assistant\n"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod auto;
mod bounded;
mod byte_table;
mod changes;
mod check;
mod continuation;
mod controls;
mod cut;
mod dialect;
mod embedded;
mod facts;
mod fingerprint;
mod format;
mod harmony_results;
mod literals;
mod load;
mod memo;
mod messages;
mod named;
mod opaque;
mod options;
mod ordinary;
mod probe;
mod python;
mod report;
mod sample;
mod shortcut;
mod stand_in;
mod suffix;
mod template;
mod tiktoken;
mod trial;
mod turn_reader;
mod vocabulary;

pub use auto::FormatEvidence;
pub use check::{
    ContinuationCheck, DialectCheck, ExamplePiece, FormatCheck, Hazard, MarkerCheck, NewMessages, Reference,
    SpecialToken, SystemMessage, TemplateCheck, ThinkingCheck, TokenCheck,
};
pub use dialect::HfDialect;
pub use facts::model_rows;
pub use format::{
    Block, Ending, Event, EventKind, Framing, Item, ReadOptions, RestoreError, ToolFormat, TurnContext,
    TurnParser, Unwritable, ValueFraming, parse, tool_format, tool_format_names,
};
pub use load::{LoadError, Parts};
pub use options::{DialectOptions, ToolResults};
pub use python::Clock;
pub use report::{ContinuationReport, Continues};
pub use suffix::suffix_text;
pub use template::{RenderInput, StringArguments, Template, TemplateError};
pub use turn_reader::TurnReader;
