//! Which request goes where.

use std::convert::Infallible;
use std::sync::Arc;

use hyper::body::Incoming;
use hyper::header::{HeaderValue, LOCATION};
use hyper::{Method, Request, Response, StatusCode};
use smol::Executor;
use smol::lock::SemaphoreGuardArc;

use super::edge::Peer;
use super::respond::{self, Body, text};
use super::{Site, endpoints, page, record, status, upgrade};

/// A connection's place among those the server holds; the last clone frees it.
#[derive(Clone, Debug)]
pub(super) struct Slot {
    _guard: Arc<SemaphoreGuardArc>,
}

impl Slot {
    pub(super) fn new(guard: SemaphoreGuardArc) -> Self {
        Self { _guard: Arc::new(guard) }
    }
}

/// Answers one request. The Host is looked at before anything else (EDGE-2).
pub(super) async fn answer(
    site: Arc<Site>,
    peer: Peer,
    request: Request<Incoming>,
    slot: Slot,
    executor: Arc<Executor<'static>>,
) -> Result<Response<Body>, Infallible> {
    let view = site.edge.view(&request, peer);
    if !view.is_host_allowed {
        return Ok(text(
            StatusCode::MISDIRECTED_REQUEST,
            "this server does not answer to that Host; public_url in the configuration sets it",
        ));
    }
    let path = request.uri().path().to_owned();
    if let Some(response) = to_base(&site, &path) {
        return Ok(response);
    }
    let is_read = matches!(*request.method(), Method::GET | Method::HEAD);
    let below_base = site.edge.below_base(&path);
    if let Some(session) = record::session_of(below_base) {
        return Ok(match *request.method() {
            Method::GET => record::answer(&site, &view, &request, session).await,
            _ => respond::wrong_method("GET"),
        });
    }
    Ok(match below_base {
        "v1/ws" if request.method() == Method::GET => {
            upgrade::answer(site, view, request, slot, executor).await
        }
        "v1/ws" => respond::wrong_method("GET"),
        "v1/login" if request.method() == Method::POST => {
            endpoints::login(&site, &view, request).await
        }
        "v1/logout" if request.method() == Method::POST => {
            endpoints::logout(&site, &view, &request).await
        }
        "v1/status" if request.method() == Method::GET => {
            status::answer(&site, &view, &request).await
        }
        "v1/status" => respond::wrong_method("GET"),
        "v1/login" | "v1/logout" => respond::wrong_method("POST"),
        "healthz" if is_read => text(StatusCode::OK, "ok"),
        "readyz" if is_read => endpoints::ready(&site).await,
        "healthz" | "readyz" => respond::wrong_method("GET, HEAD"),
        rest if is_read => page::answer(&site.assets, rest, request.headers()),
        rest if is_asset(&site, rest) => respond::wrong_method("GET, HEAD"),
        _ => respond::not_found(),
    })
}

fn is_asset(site: &Site, path: &str) -> bool {
    path.is_empty() || site.assets.get(path).is_some()
}

/// The page's relative URLs need the slash at the end of the base path.
fn to_base(site: &Site, path: &str) -> Option<Response<Body>> {
    let base = site.edge.base_path();
    if base.strip_suffix('/') != Some(path) {
        return None;
    }
    let mut response = text(StatusCode::PERMANENT_REDIRECT, "the page is one slash further");
    respond::set(&mut response, LOCATION, HeaderValue::try_from(base).ok()?);
    Some(response)
}
