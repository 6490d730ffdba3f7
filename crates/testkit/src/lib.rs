//! Respool: testkit.
