//! `/v1/login`, `/v1/logout` and `/readyz`.

use std::time::Duration;

use futures_lite::FutureExt;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::body::Incoming;
use hyper::header::SET_COOKIE;
use hyper::{Request, Response, StatusCode};
use serde::Deserialize;
use smol::Timer;

use super::edge::{Origin, View};
use super::respond::{self, Body, foreign_origin, nothing, refused, text};
use super::{Site, cookie};
use crate::auth::Refusal;

/// Largest body of a login.
const LOGIN_BYTES_MAX: usize = 4_096;

/// How long a client may take to send it.
const BODY_READ: Duration = Duration::from_secs(10);

/// Logs a browser in (PRIN-6). A page of another site cannot, so that nobody is logged in as someone else.
pub(super) async fn login(site: &Site, view: &View, request: Request<Incoming>) -> Response<Body> {
    if view.origin == Origin::Foreign {
        return foreign_origin();
    }
    let body = match read(request).await {
        Ok(body) => body,
        Err(response) => return response,
    };
    let Ok(Login { token }) = serde_json::from_slice(&body) else {
        return text(StatusCode::BAD_REQUEST, "expected {\"token\": \"…\"}");
    };
    match site.authority.login(view.client, &token).await {
        Ok(value) => {
            let mut response = nothing();
            respond::set(&mut response, SET_COOKIE, cookie::given(&site.edge, view, &value));
            response
        }
        Err(refusal) => refused(&refusal),
    }
}

/// Ends the login of the cookie that is sent along (PRIN-7).
pub(super) async fn logout(
    site: &Site,
    view: &View,
    request: &Request<Incoming>,
) -> Response<Body> {
    if view.origin != Origin::Allowed {
        return foreign_origin();
    }
    let Some(value) = cookie::login(request.headers(), &site.edge) else {
        return refused(&Refusal::Credentials);
    };
    let ended = site.authority.logout(view.client, value).await;
    let mut response = match &ended {
        Ok(()) => nothing(),
        Err(refusal) => refused(refusal),
    };
    // A cookie that is no longer good is taken back too.
    if matches!(ended, Ok(()) | Err(Refusal::Credentials)) {
        respond::set(&mut response, SET_COOKIE, cookie::removed(&site.edge, view));
    }
    response
}

/// 200 while actions are accepted and the store can be written.
pub(super) async fn ready(site: &Site) -> Response<Body> {
    if site.service.ready().await {
        text(StatusCode::OK, "ready")
    } else {
        text(StatusCode::SERVICE_UNAVAILABLE, "not ready")
    }
}

#[derive(Deserialize)]
struct Login {
    token: String,
}

async fn read(request: Request<Incoming>) -> Result<Vec<u8>, Response<Body>> {
    let body = Limited::new(request.into_body(), LOGIN_BYTES_MAX).collect();
    let late = async {
        Timer::after(BODY_READ).await;
        Err(text(StatusCode::REQUEST_TIMEOUT, "the body took too long"))
    };
    let read = async {
        match body.await {
            Ok(body) => Ok(body.to_bytes().to_vec()),
            Err(error) if error.is::<LengthLimitError>() => {
                Err(text(StatusCode::PAYLOAD_TOO_LARGE, "at most 4096 bytes are read here"))
            }
            Err(_) => Err(text(StatusCode::BAD_REQUEST, "the body could not be read")),
        }
    };
    read.or(late).await
}
