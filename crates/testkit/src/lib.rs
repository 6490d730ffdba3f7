//! Doubles for the tests of Respool.
//!
//! [`TokenDialect`] is a [`Dialect`](respool_core::Dialect) of bare token ids, small enough to
//! follow by eye. [`read_slowly`] is the reader of turns that the fast one has to agree with. [`broken`] holds engines that are broken on purpose: the properties of
//! `respool-verify` have to catch each of them.
//!
//! It is deliberately not published, and nothing but tests and runners links it.
//!
//! *Invariant:* everything here is a pure function of its arguments.
//!
//! ```
//! use respool_core::{Dialect, ParsedCall};
//! use respool_testkit::TokenDialect;
//!
//! let turn = TokenDialect::new().parse_turn(&[1, 5], &[11, 701, 2], &[], true);
//! assert_eq!(turn.content, "b");
//! assert!(matches!(&turn.calls[..], [ParsedCall::Call(call)] if call.name == "t01"));
//! ```

pub mod broken;
mod dialect;
mod parse;
mod services;
mod slow_reader;
pub mod token;
mod vocabulary;

pub use dialect::{ResultTokens, TokenDialect};
pub use services::Worlds;
pub use slow_reader::read_slowly;
pub use vocabulary::vocabulary;
