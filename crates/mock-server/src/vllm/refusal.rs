//! How vLLM says no.

use http::StatusCode;
use serde_json::json;

use crate::reply::{self, Reply};

/// An error as vLLM tells it.
#[derive(Debug)]
pub(super) struct Refusal {
    status: StatusCode,
    kind: &'static str,
    message: String,
    param: Option<&'static str>,
}

impl Refusal {
    /// An error of this status, with the type that vLLM gives it.
    pub(super) fn new(status: StatusCode, message: &str, param: Option<&'static str>) -> Self {
        let kind = match status {
            StatusCode::BAD_REQUEST => "BadRequestError",
            StatusCode::FORBIDDEN => "ForbiddenError",
            StatusCode::NOT_FOUND => "NotFoundError",
            StatusCode::TOO_MANY_REQUESTS => "TooManyRequestsError",
            StatusCode::SERVICE_UNAVAILABLE => "ServiceUnavailableError",
            _ => "InternalServerError",
        };
        Self { status, kind, message: message.to_owned(), param }
    }

    /// A value that makes no sense.
    pub(super) fn bad(message: &str, param: Option<&'static str>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, message, param)
    }

    /// A field that is not of its type.
    pub(super) fn invalid(field: &'static str, message: &str) -> Self {
        Self {
            status: StatusCode::BAD_REQUEST,
            kind: "Bad Request",
            message: format!("1 validation error:\n  {{'loc': '{field}', 'msg': '{message}'}}"),
            param: Some(field),
        }
    }

    pub(super) fn into_reply(self) -> Reply {
        let Self { status, kind, message, param } = self;
        let error = json!({ "message": message, "type": kind, "param": param, "code": status.as_u16() });
        reply::json(status, &json!({ "error": error }))
    }
}
