//! Respool: stack.
