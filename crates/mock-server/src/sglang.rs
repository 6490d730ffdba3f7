//! SGLang's routes.

mod info;
mod request;
mod writer;

use http::StatusCode;
use respool_llm::WeightSync;
use serde_json::json;

use crate::admit::admit;
use crate::connection::{Call, Context};
use crate::reply::{self, Cut, Reply};

/// How long a pause waits for clients that do not read.
const LONGEST_PAUSE: std::time::Duration = std::time::Duration::from_secs(1);

const FLUSHED: &str = "Cache flushed.\nPlease check backend logs for more details. (When there are running \
                       or waiting requests, the operation will not be performed.)\n";
const NOT_FLUSHED: &str = "Flush cache failed.\nThere are running or waiting requests.\n";

pub(crate) async fn answer(context: Context, call: Call) -> Result<Reply, Cut> {
    let config = &context.shared.config;
    let is_open = call.path.starts_with("/health");
    let has_admin_key = config.admin_key.is_some() && call.has_key(config.admin_key.as_deref());
    if !is_open && !has_admin_key && !call.has_key(config.api_key.as_deref()) {
        return Ok(unauthorized());
    }
    let method = if call.method == "PUT" { "POST" } else { call.method.as_str() };
    match (method, call.path.as_str()) {
        ("POST", "/generate") => generate(context, &call).await,
        ("GET", "/health") => Ok(reply::text(StatusCode::OK, "")),
        ("GET", "/health_generate" | "/ready") => Ok(ready(&context).await),
        ("GET", "/model_info" | "/get_model_info") => Ok(ok(&info::model(&context))),
        ("GET", "/server_info" | "/get_server_info") => Ok(ok(&info::server(&context))),
        ("GET", "/v1/loads") => Ok(ok(&info::loads(&context).await)),
        ("GET", "/v1/models") => Ok(ok(&info::models(&context))),
        (_, path) if is_control(path) => {
            let needs_key = config.admin_key.is_some() && !has_admin_key;
            if needs_key { Ok(unauthorized()) } else { Ok(control(&context, &call).await) }
        }
        _ => Ok(reply::json(StatusCode::NOT_FOUND, &json!({ "detail": "Not Found" }))),
    }
}

fn is_control(path: &str) -> bool {
    const ROUTES: [&str; 6] = [
        "/abort_request",
        "/pause_generation",
        "/continue_generation",
        "/flush_cache",
        "/update_weights_from_disk",
        "/update_weight_version",
    ];
    ROUTES.contains(&path)
}

async fn control(context: &Context, call: &Call) -> Reply {
    if call.method != "POST" && call.path != "/flush_cache" {
        return reply::json(StatusCode::METHOD_NOT_ALLOWED, &json!({ "detail": "Method Not Allowed" }));
    }
    match call.path.as_str() {
        "/abort_request" => abort(context, call).await,
        "/pause_generation" => pause(context, call).await,
        "/continue_generation" => {
            context.life.go_on().await;
            ok(&json!({ "message": "Generation continued successfully.", "status": "ok" }))
        }
        "/flush_cache" => match context.life.load().await {
            (0, _) => reply::text(StatusCode::OK, FLUSHED),
            _ => reply::text(StatusCode::BAD_REQUEST, NOT_FLUSHED),
        },
        "/update_weights_from_disk" => update_from_disk(context, call).await,
        _ => update_version(context, call).await,
    }
}

async fn generate(context: Context, call: &Call) -> Result<Reply, Cut> {
    match request::read(&context.shared.config, call) {
        Ok(ask) => admit(context, ask, true, refuse).await,
        Err(request::Refusal::ForeignToken(_)) if context.shared.config.dies_on_bad_token => {
            context.shared.die_soon(None);
            Err(Cut)
        }
        Err(refusal) => Ok(refusal.into_reply()),
    }
}

/// Ids are prefixes; an empty one is ignored.
async fn abort(context: &Context, call: &Call) -> Reply {
    if call.flag("abort_all") == Some(true) {
        context.life.abort_all().await;
    } else if let Some(prefix) = call.text("rid").filter(|rid| !rid.is_empty()) {
        context.life.abort_prefix(&prefix);
    }
    reply::text(StatusCode::OK, "")
}

async fn pause(context: &Context, call: &Call) -> Reply {
    let mode = call.text("mode").unwrap_or_else(|| "abort".to_owned());
    match mode.as_str() {
        "abort" => {
            context.life.pause(WeightSync::Abort, false).await;
            let _ = tokio::time::timeout(LONGEST_PAUSE, context.life.mock.idle()).await;
        }
        "in_place" => context.life.pause(WeightSync::Keep, false).await,
        "retract" => context.life.pause(WeightSync::Keep, true).await,
        _ => {
            let message = format!("mode must be abort, retract or in_place, got {mode:?}");
            return request::Refusal::BadType(message).into_reply();
        }
    }
    ok(&json!({ "message": "Generation paused successfully.", "status": "ok" }))
}

/// Pretends: the policy stays, the label changes where one is given.
async fn update_from_disk(context: &Context, call: &Call) -> Reply {
    if call.text("model_path").is_none() {
        return request::Refusal::BadType("model_path: Field required".to_owned()).into_reply();
    }
    if call.flag("abort_all_requests") == Some(true) {
        context.life.abort_all().await;
    }
    if let Some(label) = call.text("weight_version") {
        context.life.set_label(&label).await;
    }
    let (running, _) = context.life.load().await;
    let num_paused_requests = if context.life.is_paused().await { running } else { 0 };
    ok(&json!({
        "success": true,
        "message": "Succeeded to update model weights.",
        "num_paused_requests": num_paused_requests,
    }))
}

/// Aborts everything unless it is told not to, as the real one does.
async fn update_version(context: &Context, call: &Call) -> Reply {
    let Some(label) = call.text("new_version") else {
        return request::Refusal::BadType("new_version: Field required".to_owned()).into_reply();
    };
    if call.flag("abort_all_requests") != Some(false) {
        context.life.abort_all().await;
    }
    context.life.set_label(&label).await;
    ok(&json!({
        "success": true,
        "message": format!("Weight version updated to {label}"),
        "new_version": label,
    }))
}

async fn ready(context: &Context) -> Reply {
    let is_paused = context.life.is_paused().await;
    reply::text(if is_paused { StatusCode::SERVICE_UNAVAILABLE } else { StatusCode::OK }, "")
}

fn ok(body: &serde_json::Value) -> Reply {
    reply::json(StatusCode::OK, body)
}

fn unauthorized() -> Reply {
    reply::json(StatusCode::UNAUTHORIZED, &json!({ "error": "Unauthorized" }))
}

fn refuse(status: StatusCode, message: &str) -> Reply {
    reply::json(status, &json!({ "error": { "message": message } }))
}
