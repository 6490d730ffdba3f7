//! Respool: interact.
