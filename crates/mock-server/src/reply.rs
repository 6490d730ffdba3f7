//! Answers.

use std::time::Duration;

use bytes::Bytes;
use futures_util::Stream;
use futures_util::StreamExt;
use http::header::{CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderValue, Response, StatusCode};
use http_body_util::{BodyExt, Full, StreamBody, combinators::UnsyncBoxBody};
use hyper::body::Frame;
use serde_json::Value;

/// The connection is to be cut: no answer, or none after this.
#[derive(Debug, thiserror::Error)]
#[error("mock server: the connection is cut on purpose")]
pub(crate) struct Cut;

pub(crate) type Body = UnsyncBoxBody<Bytes, Cut>;
pub(crate) type Reply = Response<Body>;

fn reply(status: StatusCode, content_type: &'static str, body: Body) -> Reply {
    let mut reply = Response::new(body);
    *reply.status_mut() = status;
    reply.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    reply
}

fn full(bytes: impl Into<Bytes>) -> Body {
    Full::new(bytes.into()).map_err(|never| match never {}).boxed_unsync()
}

/// A JSON answer.
pub(crate) fn json(status: StatusCode, body: &Value) -> Reply {
    json_bytes(status, body.to_string())
}

pub(crate) fn json_bytes(status: StatusCode, body: impl Into<Bytes>) -> Reply {
    reply(status, "application/json", full(body))
}

/// A plain text, maybe empty.
pub(crate) fn text(status: StatusCode, body: &'static str) -> Reply {
    reply(status, "text/plain; charset=utf-8", full(body))
}

/// A stream of events.
pub(crate) fn events(stream: impl Stream<Item = Result<Bytes, Cut>> + Send + 'static) -> Reply {
    let frames = stream.map(|item| item.map(Frame::data));
    reply(StatusCode::OK, "text/event-stream; charset=utf-8", StreamBody::new(frames).boxed_unsync())
}

/// Asks to wait so many seconds, rounded up.
pub(crate) fn with_retry_after(mut reply: Reply, after: Option<Duration>) -> Reply {
    if let Some(after) = after {
        let seconds = after.as_secs() + u64::from(after.subsec_nanos() > 0);
        reply.headers_mut().insert(RETRY_AFTER, HeaderValue::from(seconds));
    }
    reply
}
