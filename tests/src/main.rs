//! Runners.
fn main() {}
