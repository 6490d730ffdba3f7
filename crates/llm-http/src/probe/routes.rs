//! Which control routes a server has.

use futures_util::future::join_all;
use http::Method;

use crate::control::how_to_enable;
use crate::transport::Key;
use crate::{ControlReport, Engine, HttpServer};

/// Asks which control routes there are: no engine does anything for `OPTIONS`.
pub(super) async fn control_reports(server: &HttpServer) -> Vec<ControlReport> {
    let routes: [(&str, &str); 6] = match server.api().engine() {
        Engine::Sglang => [
            ("abort", "/abort_request"),
            ("pause_abort", "/pause_generation"),
            ("pause_keep", "/pause_generation"),
            ("set_version", "/update_weight_version"),
            ("update_from_disk", "/update_weights_from_disk"),
            ("flush_cache", "/flush_cache"),
        ],
        Engine::Vllm => [
            ("abort", "/abort_requests"),
            ("pause_abort", "/pause"),
            ("pause_keep", "/pause"),
            ("set_version", "/update_weight_version"),
            ("update_from_disk", ""),
            ("flush_cache", "/reset_prefix_cache"),
        ],
    };
    join_all(routes.map(|(name, route)| control_report(server, name, route))).await
}

async fn control_report(server: &HttpServer, name: &'static str, route: &'static str) -> ControlReport {
    let missing = |enable: String| ControlReport { name, route, available: false, enable: Some(enable) };
    if route.is_empty() {
        return missing("vLLM has no such route".to_owned());
    }
    let limit = server.shared.settings.control_timeout;
    match server.shared.transport.call(Method::OPTIONS, route, None, Key::Admin, limit).await {
        Ok(response) => match response.status().as_u16() {
            401 | 403 => missing("set admin_key_env or admin_key_file".to_owned()),
            404 | 501 => missing(how_to_enable(server.api().engine()).to_owned()),
            status @ 500.. => missing(format!("it answers {status}")),
            _ => ControlReport { name, route, available: true, enable: None },
        },
        Err(error) => missing(error.to_string()),
    }
}
