//! Respool: tools.
