//! Respool: verify.
