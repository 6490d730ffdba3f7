//! Respool: core.
