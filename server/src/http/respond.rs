//! Answers that are not the page: short plain text that no cache keeps.

use bytes::Bytes;
use http_body_util::Full;
use hyper::header::{
    ALLOW, CACHE_CONTROL, CONTENT_TYPE, HeaderName, HeaderValue, REFERRER_POLICY, RETRY_AFTER,
    WWW_AUTHENTICATE, X_CONTENT_TYPE_OPTIONS,
};
use hyper::{Response, StatusCode};

use crate::auth::Refusal;

/// The body of every answer.
pub(super) type Body = Full<Bytes>;

/// A status and a line of text.
pub(super) fn text(status: StatusCode, line: impl Into<String>) -> Response<Body> {
    let mut line = line.into();
    line.push('\n');
    let mut response = Response::new(Full::from(line));
    *response.status_mut() = status;
    set(&mut response, CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    private(response)
}

/// 204.
pub(super) fn nothing() -> Response<Body> {
    let mut response = Response::new(Full::default());
    *response.status_mut() = StatusCode::NO_CONTENT;
    private(response)
}

/// 405, with the methods that work.
pub(super) fn wrong_method(allowed: &'static str) -> Response<Body> {
    let line = format!("use {allowed} here");
    let mut response = text(StatusCode::METHOD_NOT_ALLOWED, line);
    set(&mut response, ALLOW, HeaderValue::from_static(allowed));
    response
}

/// 404.
pub(super) fn not_found() -> Response<Body> {
    text(StatusCode::NOT_FOUND, "nothing is here")
}

/// 403: the request comes from a page of another site, or from a browser that hides where (AUTH-2).
pub(super) fn foreign_origin() -> Response<Body> {
    text(
        StatusCode::FORBIDDEN,
        "a request with a login cookie needs the Origin of this server's page",
    )
}

/// 401, 429 or 503.
pub(super) fn refused(refusal: &Refusal) -> Response<Body> {
    let status = match refusal {
        Refusal::Credentials => StatusCode::UNAUTHORIZED,
        Refusal::TooMany { .. } => StatusCode::TOO_MANY_REQUESTS,
        Refusal::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
    };
    let mut response = text(status, refusal.to_string());
    match refusal {
        Refusal::Credentials => {
            set(&mut response, WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        Refusal::TooMany { retry_after_ms } => {
            set(&mut response, RETRY_AFTER, HeaderValue::from(retry_after_ms.div_ceil(1_000)));
        }
        Refusal::Unavailable => {}
    }
    response
}

/// Sets one header, replacing what was there.
pub(super) fn set(response: &mut Response<Body>, name: HeaderName, value: HeaderValue) {
    response.headers_mut().insert(name, value);
}

fn private(mut response: Response<Body>) -> Response<Body> {
    set(&mut response, CACHE_CONTROL, HeaderValue::from_static("no-store"));
    set(&mut response, X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    set(&mut response, REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    response
}
