//! Respool: llm-mock.
