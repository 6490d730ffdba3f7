//! vLLM's routes.

mod completions;
mod refusal;
mod request;
mod tokens;

use http::StatusCode;
use respool_llm::WeightSync;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::admit::admit;
use crate::connection::{Call, Context};
use crate::reply::{self, Cut, Reply};
use refusal::Refusal;

/// How long a pause waits for clients that do not read.
const LONGEST_PAUSE: std::time::Duration = std::time::Duration::from_secs(1);

/// What refuses new requests: 0.33 in a pause of mode abort or wait.
const PAUSED: &str = "The engine is paused. Resume it with POST /resume.";

const NO_SCALE_OUT: &str = "This endpoint is disabled. Start the server with --enable-scale-out.";

pub(crate) async fn answer(context: Context, call: Call) -> Result<Reply, Cut> {
    if call.path != "/health" && !call.has_key(context.shared.config.api_key.as_deref()) {
        return Ok(reply::json(StatusCode::UNAUTHORIZED, &json!({ "error": "Unauthorized" })));
    }
    match (call.method.as_str(), call.path.as_str()) {
        ("POST", "/inference/v1/generate" | "/inference/v1/abort_requests")
            if !context.shared.config.scale_out =>
        {
            Ok(refuse(StatusCode::FORBIDDEN, NO_SCALE_OUT))
        }
        ("POST", "/inference/v1/generate") => generate(context, request::tokens(&call)).await,
        ("POST", "/v1/completions") => generate(context, request::completion(&call)).await,
        ("POST", "/inference/v1/abort_requests") => Ok(abort_in_background(&context, &call)),
        ("GET", "/v1/models") => Ok(ok(&models(&context))),
        ("GET", "/version") => Ok(ok(&json!({ "version": context.shared.config.engine_version() }))),
        ("GET", "/health") => Ok(reply::text(StatusCode::OK, "")),
        ("GET", "/load") => Ok(ok(&json!({ "server_load": context.life.active_count() }))),
        (method, path) if context.shared.config.development_mode => {
            Ok(control(&context, &call, method, path).await)
        }
        (_, path) => Ok(no_such(path, &ROUTES)),
    }
}

/// The routes that are always there.
const ROUTES: [&str; 7] = [
    "/inference/v1/generate",
    "/v1/completions",
    "/inference/v1/abort_requests",
    "/v1/models",
    "/version",
    "/health",
    "/load",
];

/// The routes of the development mode.
const DEVELOPMENT_ROUTES: [&str; 7] = [
    "/pause",
    "/resume",
    "/is_paused",
    "/abort_requests",
    "/update_weight_version",
    "/weight_info",
    "/reset_prefix_cache",
];

/// A route that is there has another method; clients find out so what a server can do.
fn no_such(path: &str, routes: &[&str]) -> Reply {
    if routes.contains(&path) {
        return reply::json(StatusCode::METHOD_NOT_ALLOWED, &json!({ "detail": "Method Not Allowed" }));
    }
    not_found()
}

async fn generate(context: Context, asked: request::Asked) -> Result<Reply, Cut> {
    let config = &context.shared.config;
    let ask = match asked.and_then(|asked| asked.check(config)) {
        Ok(ask) => ask,
        Err(refusal) => return Ok(refusal.into_reply()),
    };
    if !config.holds_while_paused && context.life.refuses_when_paused() {
        return Ok(refuse(StatusCode::SERVICE_UNAVAILABLE, PAUSED));
    }
    admit(context, ask, false, refuse).await
}

/// The routes of the development mode.
async fn control(context: &Context, call: &Call, method: &str, path: &str) -> Reply {
    match (method, path) {
        ("POST", "/pause") => pause(context, call).await,
        ("POST", "/resume") => {
            context.life.set_refuses_when_paused(false);
            context.life.go_on().await;
            ok(&json!({ "status": "resumed" }))
        }
        ("GET", "/is_paused") => ok(&json!({ "is_paused": context.life.is_paused().await })),
        ("POST", "/abort_requests") => abort(context, call).await,
        ("POST", "/update_weight_version") => match call.text("new_version") {
            Some(label) => {
                context.life.set_label(&label).await;
                ok(&json!({ "success": true, "new_version": label }))
            }
            None => Refusal::invalid("body.new_version", "Field required").into_reply(),
        },
        ("GET", "/weight_info") => ok(&json!({ "weight_version": *context.life.current_label() })),
        ("POST", "/reset_prefix_cache") => ok(&json!({ "success": true })),
        _ => no_such(path, &[ROUTES, DEVELOPMENT_ROUTES].concat()),
    }
}

async fn pause(context: &Context, call: &Call) -> Reply {
    let mode = call.query("mode").unwrap_or("abort");
    let sync = match mode {
        "abort" => WeightSync::Abort,
        "keep" => WeightSync::Keep,
        "wait" => WeightSync::Drain,
        _ => return Refusal::invalid("query.mode", "Input should be 'abort', 'wait' or 'keep'").into_reply(),
    };
    context.life.set_refuses_when_paused(sync != WeightSync::Keep);
    context.life.pause(sync, false).await;
    if sync == WeightSync::Abort {
        let _ = tokio::time::timeout(LONGEST_PAUSE, context.life.mock.idle()).await;
    }
    ok(&json!({ "status": "paused" }))
}

#[derive(Default, Deserialize)]
struct Ids {
    request_ids: Option<Vec<String>>,
}

/// Answers 200 whatever there was: only exact ids, with their prefix, do something.
fn abort_in_background(context: &Context, call: &Call) -> Reply {
    match call.json::<Ids>() {
        Ok(Ids { request_ids: Some(ids) }) => {
            for id in &ids {
                context.life.abort_id(id);
            }
            reply::text(StatusCode::OK, "")
        }
        Ok(_) => Refusal::invalid("body.request_ids", "Field required").into_reply(),
        Err(message) => Refusal::invalid("body", &message).into_reply(),
    }
}

/// No ids are all ids.
async fn abort(context: &Context, call: &Call) -> Reply {
    let aborted = match call.json::<Ids>() {
        Ok(Ids { request_ids: Some(ids) }) => ids.iter().map(|id| context.life.abort_id(id)).sum(),
        Ok(_) => context.life.abort_all().await,
        Err(message) => return Refusal::invalid("body", &message).into_reply(),
    };
    ok(&json!({ "status": "aborted", "aborted": aborted }))
}

fn models(context: &Context) -> Value {
    let mut model = context.shared.config.model_entry("vllm");
    model["permission"] = json!([]);
    json!({ "object": "list", "data": [model] })
}

fn ok(body: &Value) -> Reply {
    reply::json(StatusCode::OK, body)
}

fn not_found() -> Reply {
    reply::json(StatusCode::NOT_FOUND, &json!({ "detail": "Not Found" }))
}

/// How vLLM says no.
fn refuse(status: StatusCode, message: &str) -> Reply {
    Refusal::new(status, message, None).into_reply()
}
