//! A mock policy behind an HTTP server.
