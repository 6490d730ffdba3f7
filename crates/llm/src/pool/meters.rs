//! What a pool tells about each server, through the `metrics` facade.

use metrics::{Counter, Gauge, counter, gauge};
use respool_core::Class;

/// The handles of one server.
///
/// | metric | is |
/// |---|---|
/// | `respool_server_outstanding` | streams that are open |
/// | `respool_server_requests_total` | requests sent |
/// | `respool_server_failures_total` | requests and probes that failed, with the label `class` |
/// | `respool_server_ejections_total` | ejections |
pub(crate) struct Meters {
    pub(crate) outstanding: Gauge,
    pub(crate) requests: Counter,
    pub(crate) ejections: Counter,
    server: String,
}

impl Meters {
    pub(crate) fn new(server: &str) -> Self {
        let server = server.to_owned();
        Self {
            outstanding: gauge!("respool_server_outstanding", "server" => server.clone()),
            requests: counter!("respool_server_requests_total", "server" => server.clone()),
            ejections: counter!("respool_server_ejections_total", "server" => server.clone()),
            server,
        }
    }

    pub(crate) fn failed(&self, class: Class) {
        counter!("respool_server_failures_total", "server" => self.server.clone(), "class" => class.name())
            .increment(1);
    }
}

/// Requests that wait for a server or for the end of a pause.
pub(crate) fn set_waiting(waiting: usize) {
    gauge!("respool_pool_waiting").set(waiting as f64);
}
