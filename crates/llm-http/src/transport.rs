//! Sending HTTP requests to one server.

use std::error::Error;
use std::time::Duration;

use bytes::Bytes;
use http::header::{AUTHORIZATION, CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderName, HeaderValue, Method, Request, Response, Uri};
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Incoming;
use hyper_util::client::legacy::{Client, connect::HttpConnector};
use hyper_util::rt::{TokioExecutor, TokioTimer};

use crate::credentials::Credentials;
use crate::{ClientError, ErrorKind, HttpSettings, ServerError};

#[cfg(feature = "tls")]
type Connector = hyper_rustls::HttpsConnector<HttpConnector>;
#[cfg(not(feature = "tls"))]
type Connector = HttpConnector;

/// Idle connections are closed by us first: uvicorn, which both engines use, closes them after 5 s,
/// and a request that is just then sent on one is lost.
const IDLE: Duration = Duration::from_secs(4);

/// The most of an error's or a control call's body that is read.
const CONTROL_BODY: usize = 4 << 20;

/// Whose key a request carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Key {
    Api,
    Admin,
}

/// The way to one server.
#[derive(Debug)]
pub(crate) struct Transport {
    /// The base URL, without a slash at its end.
    base: String,
    client: Client<Connector, Full<Bytes>>,
    credentials: Credentials,
    session_header: Option<HeaderName>,
    header_timeout: Option<Duration>,
    control_timeout: Duration,
}

impl Transport {
    pub(crate) fn new(url: &str, settings: &HttpSettings) -> Result<Self, ClientError> {
        let base = base_url(url)?;
        let session_header = settings.session_header.as_deref().map(|name| {
            name.parse().map_err(|_| {
                let message = format!("session_header is {name:?}, expected the name of a header");
                ClientError::new(ErrorKind::Settings, &base, message)
            })
        });
        let client = Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(IDLE)
            .build(connector(settings.connect_timeout));
        Ok(Self {
            session_header: session_header.transpose()?,
            credentials: Credentials::read(settings, &base)?,
            client,
            header_timeout: settings.header_timeout,
            control_timeout: settings.control_timeout,
            base,
        })
    }

    /// The base URL, without a slash at its end.
    pub(crate) fn base(&self) -> &str {
        &self.base
    }

    /// Asks for tokens; returns when the answer begins.
    pub(crate) async fn generate(
        &self,
        path: &str,
        body: Vec<u8>,
        session: &str,
    ) -> Result<Response<Incoming>, ClientError> {
        let mut request = self.request(Method::POST, path, Some(body), Key::Api)?;
        if let Some(name) = &self.session_header
            && let Ok(value) = HeaderValue::from_str(session)
        {
            request.headers_mut().insert(name, value);
        }
        let response = self.client.request(request);
        let response = match self.header_timeout {
            None => response.await,
            Some(limit) => {
                let late = |_| {
                    self.error(ErrorKind::Timeout, format!("no answer within {limit:?} (header_timeout)"))
                };
                tokio::time::timeout(limit, response).await.map_err(late)?
            }
        };
        response.map_err(|error| self.lost(&error))
    }

    /// Sends a small request and reads its whole answer, whatever its status.
    pub(crate) async fn call(
        &self,
        method: Method,
        path: &str,
        body: Option<Vec<u8>>,
        key: Key,
        limit: Duration,
    ) -> Result<Response<Bytes>, ClientError> {
        let request = self.request(method, path, body, key)?;
        let answer = async {
            let response = self.client.request(request).await.map_err(|error| self.lost(&error))?;
            let (parts, body) = response.into_parts();
            Ok(Response::from_parts(parts, self.whole(body, CONTROL_BODY).await?))
        };
        let late = |_| self.error(ErrorKind::Timeout, format!("{path}: no answer within {limit:?}"));
        tokio::time::timeout(limit, answer).await.map_err(late)?
    }

    /// The error that an answer to a generation is.
    pub(crate) async fn failure(&self, response: Response<Incoming>) -> ServerError {
        let (status, retry_after) = (response.status().as_u16(), retry_after(&response));
        let body = tokio::time::timeout(self.control_timeout, self.whole(response.into_body(), CONTROL_BODY));
        let body = body.await.ok().and_then(Result::ok).unwrap_or_default();
        ServerError::of_status(status, retry_after, &body)
    }

    async fn whole(&self, body: Incoming, limit: usize) -> Result<Bytes, ClientError> {
        let body = Limited::new(body, limit).collect().await;
        body.map(http_body_util::Collected::to_bytes).map_err(|error| {
            if error.is::<http_body_util::LengthLimitError>() {
                return self.error(ErrorKind::TooLarge, format!("a body of more than {limit} bytes"));
            }
            self.error(ErrorKind::Broken, format!("the answer broke off: {}", causes(&*error)))
        })
    }

    fn request(
        &self,
        method: Method,
        path: &str,
        body: Option<Vec<u8>>,
        key: Key,
    ) -> Result<Request<Full<Bytes>>, ClientError> {
        let mut request = Request::builder().method(method).uri(format!("{}{path}", self.base));
        let key = match key {
            Key::Api => &self.credentials.api,
            Key::Admin => &self.credentials.admin,
        };
        if let Some(key) = key {
            request = request.header(AUTHORIZATION, key);
        }
        if body.is_some() {
            request = request.header(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        }
        request
            .body(Full::from(body.unwrap_or_default()))
            .map_err(|error| self.error(ErrorKind::Settings, format!("{path}: {error}")))
    }

    fn lost(&self, error: &hyper_util::client::legacy::Error) -> ClientError {
        let (kind, what) = match error.is_connect() {
            true => (ErrorKind::Connect, "no connection"),
            false => (ErrorKind::Broken, "the connection broke before an answer"),
        };
        self.error(kind, format!("{what}: {}", causes(error)))
    }

    pub(crate) fn error(&self, kind: ErrorKind, message: impl Into<String>) -> ClientError {
        ClientError::new(kind, &self.base, message)
    }
}

fn base_url(url: &str) -> Result<String, ClientError> {
    let base = url.trim_end_matches('/');
    let wrong = |why: &str| {
        // What stands before an @ may be a password.
        let shown = base.rsplit('@').next().filter(|shown| !shown.is_empty()).unwrap_or("(an empty URL)");
        ClientError::new(ErrorKind::Settings, shown, why)
    };
    let uri: Uri = base.parse().map_err(|_| wrong("not a URL, expected http://HOST:PORT"))?;
    if uri.authority().is_some_and(|authority| authority.as_str().contains('@')) {
        return Err(wrong("a URL with a user in it: give keys with api_key_env or api_key_file"));
    }
    if uri.query().is_some() || base.contains('#') {
        return Err(wrong("a URL with a query or a fragment, expected http://HOST:PORT"));
    }
    let port = uri.authority().and_then(|authority| authority.as_str().rsplit_once(':'));
    if port.is_some_and(|(_, port)| !port.ends_with(']') && port.parse::<u16>().is_err()) {
        return Err(wrong("the port is no number up to 65535"));
    }
    match uri.scheme_str() {
        Some("http") => Ok(base.to_owned()),
        Some("https") if cfg!(feature = "tls") => Ok(base.to_owned()),
        Some("https") => Err(wrong("https needs a build with the feature tls")),
        _ => Err(wrong("expected a URL that begins with http:// or https://")),
    }
}

/// How long a connection is silent before the other side is asked whether it is still there.
const KEEPALIVE: Duration = Duration::from_secs(30);

fn connector(connect_timeout: Duration) -> Connector {
    let mut http = HttpConnector::new();
    http.set_connect_timeout(Some(connect_timeout));
    http.set_nodelay(true);
    // A host that vanished answers nothing, and nothing else would tell.
    http.set_keepalive(Some(KEEPALIVE));
    http.set_keepalive_interval(Some(KEEPALIVE / 3));
    http.set_keepalive_retries(Some(3));
    #[cfg(feature = "tls")]
    let http = {
        http.enforce_http(false);
        hyper_rustls::HttpsConnectorBuilder::new()
            .with_webpki_roots()
            .https_or_http()
            .enable_http1()
            .wrap_connector(http)
    };
    http
}

/// How long an answer asks to wait: seconds or a date.
fn retry_after<B>(response: &Response<B>) -> Option<Duration> {
    let value = response.headers().get(RETRY_AFTER)?.to_str().ok()?.trim();
    if let Ok(seconds) = value.parse::<f64>() {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let date = httpdate::parse_http_date(value).ok()?;
    Some(date.duration_since(std::time::SystemTime::now()).unwrap_or_default())
}

/// An error and what it says caused it.
pub(crate) fn causes(error: &(dyn Error + 'static)) -> String {
    let mut message = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        message.push_str(": ");
        message.push_str(&error.to_string());
        cause = error.source();
    }
    message
}
