//! Control calls.

use std::sync::atomic::Ordering;
use std::time::Duration;

use bytes::Bytes;
use http::Method;
use respool_core::{Class, PolicyVersion};
use respool_llm::{Load, WeightSync};
use serde_json::{Value, json};

use crate::answer::server_error;
use crate::error::quote;
use crate::transport::Key;
use crate::{ClientError, Engine, ErrorKind, HttpServer, ServerError};

/// How to make a server take a control call that it does not.
pub(crate) const fn how_to_enable(engine: Engine) -> &'static str {
    match engine {
        Engine::Sglang => "it needs a newer SGLang, asked directly and not through a router",
        Engine::Vllm => "start vLLM with VLLM_SERVER_DEV_MODE=1 in its environment",
    }
}

impl HttpServer {
    fn engine(&self) -> Engine {
        self.shared.api.engine()
    }

    fn error(&self, kind: ErrorKind, message: impl Into<String>) -> ClientError {
        self.shared.transport.error(kind, message)
    }

    async fn ask(
        &self,
        method: Method,
        path: &str,
        body: Option<Value>,
        limit: Duration,
    ) -> Result<Bytes, ClientError> {
        let body = body.map(|body| body.to_string().into_bytes());
        let response = self.shared.transport.call(method, path, body, Key::Admin, limit).await?;
        let status = response.status();
        if status.is_success() {
            return Ok(response.into_body());
        }
        let failure = ServerError::of_status(status.as_u16(), None, response.body());
        let error = server_error(ErrorKind::HttpStatus, self.shared.transport.base(), &failure);
        match status.as_u16() {
            401 | 403 => {
                let message = format!("{path}: {}; set admin_key_env or admin_key_file", error.message());
                Err(self.error(ErrorKind::Unsupported, message))
            }
            404 | 405 | 501 => {
                let enable = how_to_enable(self.engine());
                let message = format!("{path} is not available ({}): {enable}", error.message());
                Err(self.error(ErrorKind::Unsupported, message))
            }
            _ => {
                let message = format!("{path}: {}", error.message());
                let base = self.shared.transport.base();
                Err(ClientError::with_class(ErrorKind::HttpStatus, failure.class(), base, message))
            }
        }
    }

    pub(crate) async fn post(&self, path: &str, body: Value) -> Result<Bytes, ClientError> {
        self.ask(Method::POST, path, Some(body), self.shared.settings.control_timeout).await
    }

    pub(crate) async fn get(&self, path: &str) -> Result<Value, ClientError> {
        let body = self.ask(Method::GET, path, None, self.shared.settings.control_timeout).await?;
        self.json(path, &body)
    }

    fn json(&self, path: &str, body: &[u8]) -> Result<Value, ClientError> {
        serde_json::from_slice(body).map_err(|error| {
            let found = quote(&String::from_utf8_lossy(body));
            self.error(ErrorKind::InvalidResponse, format!("{path}: {error}, in: {found}"))
        })
    }

    /// An answer that says that it did not do what was asked is a refusal.
    fn check_success(&self, path: &str, body: &[u8]) -> Result<(), ClientError> {
        let Ok(answer) = serde_json::from_slice::<Value>(body) else { return Ok(()) };
        if answer.get("success").and_then(Value::as_bool) != Some(false) {
            return Ok(());
        }
        let message = quote(answer.get("message").and_then(Value::as_str).unwrap_or("no reason given"));
        let base = self.shared.transport.base();
        let message = format!("{path} did not succeed: {message}");
        Err(ClientError::with_class(ErrorKind::ServerError, Class::Terminal, base, message))
    }

    pub(crate) async fn health(&self) -> Result<(), ClientError> {
        self.ask(Method::GET, "/health", None, self.shared.settings.control_timeout).await.map(drop)
    }

    pub(crate) async fn pause_as(&self, mode: WeightSync) -> Result<(), ClientError> {
        let is_abort = mode == WeightSync::Abort;
        match self.engine() {
            Engine::Sglang => {
                let mode = if is_abort { "abort" } else { "in_place" };
                self.post("/pause_generation", json!({ "mode": mode })).await?;
            }
            Engine::Vllm => {
                let query =
                    if is_abort { "mode=abort&clear_cache=true" } else { "mode=keep&clear_cache=false" };
                self.post(&format!("/pause?{query}"), json!({})).await?;
            }
        }
        self.shared.is_holding.store(!is_abort, Ordering::Release);
        Ok(())
    }

    pub(crate) async fn resume(&self) -> Result<(), ClientError> {
        let path = match self.engine() {
            Engine::Sglang => "/continue_generation",
            Engine::Vllm => "/resume",
        };
        self.post(path, json!({})).await?;
        self.shared.is_holding.store(false, Ordering::Release);
        Ok(())
    }

    pub(crate) async fn abort_request(&self, id: &str) -> Result<(), ClientError> {
        let api = self.shared.api;
        let body = api.abort_body(&api.abort_ids(id, None));
        let [route, ..] = api.abort_routes() else { return Ok(()) };
        self.post(route, body).await.map(drop)
    }

    pub(crate) async fn abort_everything(&self) -> Result<(), ClientError> {
        match self.engine() {
            Engine::Sglang => self.post("/abort_request", json!({"abort_all": true})).await,
            Engine::Vllm => self.post("/abort_requests", json!({})).await,
        }
        .map(drop)
    }

    pub(crate) async fn label_weights(&self, version: PolicyVersion) -> Result<(), ClientError> {
        let path = "/update_weight_version";
        let mut body = json!({"new_version": version.to_string()});
        if self.engine() == Engine::Sglang {
            // Its default is to abort everything that runs.
            body["abort_all_requests"] = false.into();
        }
        let answer = self.post(path, body).await?;
        self.check_success(path, &answer)?;
        self.shared.last_version.store(version.0, Ordering::Release);
        Ok(())
    }

    pub(crate) async fn read_label(&self) -> Result<String, ClientError> {
        let path = match self.engine() {
            Engine::Sglang => "/model_info",
            Engine::Vllm => "/weight_info",
        };
        match self.get(path).await {
            Ok(info) => match info.get("weight_version") {
                Some(Value::String(label)) => Ok(label.clone()),
                Some(Value::Number(label)) => Ok(label.to_string()),
                // A router answers for its servers and knows no label.
                _ => self.shared.weight_label.clone().ok_or_else(|| {
                    self.error(ErrorKind::Unsupported, format!("{path} answers without weight_version"))
                }),
            },
            Err(error) if error.kind() == ErrorKind::Unsupported => {
                self.shared.weight_label.clone().ok_or(error)
            }
            Err(error) => Err(error),
        }
    }

    pub(crate) async fn load_weights(
        &self,
        model_path: &str,
        version: PolicyVersion,
    ) -> Result<(), ClientError> {
        if self.engine() == Engine::Vllm {
            return Err(self.error(
                ErrorKind::Unsupported,
                "vLLM has no route that loads weights from a folder; update them with the trainer's weight transfer",
            ));
        }
        let path = "/update_weights_from_disk";
        let body = json!({
            "model_path": model_path,
            "weight_version": version.to_string(),
            "abort_all_requests": false,
            // The cache of requests that are held is in use: emptying it fails.
            "flush_cache": !self.shared.is_holding.load(Ordering::Acquire),
        });
        let limit = self.shared.settings.update_timeout;
        let answer = self.ask(Method::POST, path, Some(body), limit).await?;
        self.check_success(path, &answer)?;
        self.shared.last_version.store(version.0, Ordering::Release);
        Ok(())
    }

    pub(crate) async fn empty_cache(&self) -> Result<(), ClientError> {
        let path = match self.engine() {
            // It waits so many seconds for requests that are just ending.
            Engine::Sglang => "/flush_cache?timeout=5",
            Engine::Vllm => "/reset_prefix_cache",
        };
        let answer = self.post(path, json!({})).await?;
        self.check_success(path, &answer)
    }

    pub(crate) async fn read_load(&self) -> Result<Load, ClientError> {
        match self.engine() {
            Engine::Sglang => {
                let answer = self.get("/v1/loads").await?;
                let ranks = answer.get("loads").and_then(Value::as_array);
                let ranks =
                    ranks.ok_or_else(|| self.error(ErrorKind::InvalidResponse, "/v1/loads has no loads"))?;
                let sum = |key: &str| ranks.iter().filter_map(|rank| rank.get(key)?.as_u64()).sum();
                Ok(Load { running: sum("num_running_reqs"), waiting: sum("num_waiting_reqs") })
            }
            Engine::Vllm => {
                let limit = self.shared.settings.control_timeout;
                let metrics = self.ask(Method::GET, "/metrics", None, limit).await?;
                let metrics = String::from_utf8_lossy(&metrics);
                let running = gauge(&metrics, "vllm:num_requests_running");
                let waiting = gauge(&metrics, "vllm:num_requests_waiting");
                let load = running.zip(waiting).map(|(running, waiting)| Load { running, waiting });
                load.ok_or_else(|| {
                    self.error(
                        ErrorKind::InvalidResponse,
                        "/metrics has no vllm:num_requests_running and _waiting",
                    )
                })
            }
        }
    }

    /// Waits while vLLM is paused; whether it was.
    pub(crate) async fn wait_while_paused(&self) -> Result<bool, ClientError> {
        const FIRST: Duration = Duration::from_millis(100);
        const LONGEST: Duration = Duration::from_secs(2);
        let mut delay = FIRST;
        let mut was_paused = false;
        loop {
            let answer = match self.get("/is_paused").await {
                // Out of development mode it cannot be paused either.
                Err(error) if error.kind() == ErrorKind::Unsupported => return Ok(false),
                answer => answer?,
            };
            if answer.get("is_paused").and_then(Value::as_bool) != Some(true) {
                return Ok(was_paused);
            }
            was_paused = true;
            tokio::time::sleep(delay).await;
            delay = (delay * 2).min(LONGEST);
        }
    }
}

/// The sum of a gauge over its labels, in Prometheus' text format.
fn gauge(metrics: &str, name: &str) -> Option<u64> {
    let values = metrics.lines().filter_map(|line| {
        let rest = line.strip_prefix(name)?;
        let is_it = rest.starts_with(['{', ' ']);
        let value = rest.rsplit(' ').next()?.parse::<f64>().ok()?;
        is_it.then_some(value as u64)
    });
    values.fold(None, |sum, value| Some(sum.unwrap_or(0) + value))
}

#[cfg(test)]
mod tests;
