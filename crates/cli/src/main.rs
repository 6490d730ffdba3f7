//! The binary `respool`.
fn main() {}
