//! Respool: engine.
