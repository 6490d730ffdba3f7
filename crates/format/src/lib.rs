//! Respool: format.
