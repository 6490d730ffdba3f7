//! The binary, from outside.

mod bad_input;
mod inspect;
mod interrupt;
mod respool;
mod run;
