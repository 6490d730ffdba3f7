//! Respool: registry.
