//! Respool: llm.
