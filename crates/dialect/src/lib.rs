//! Respool: dialect.
