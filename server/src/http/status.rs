//! `GET /v1/status`: runs and connections as they are now (OBS-02).

use hyper::body::Incoming;
use hyper::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderValue};
use hyper::{Request, Response, StatusCode};

use super::edge::{Origin, View};
use super::respond::{self, Body, foreign_origin, refused, text};
use super::{Site, cookie};
use crate::auth::principal_id;
use crate::config::OPERATOR;

/// A principal is told of the runs of its own sessions, the principal [`OPERATOR`] of all runs.
pub(super) async fn answer(
    site: &Site,
    view: &View,
    request: &Request<Incoming>,
) -> Response<Body> {
    if view.origin == Origin::Foreign {
        return foreign_origin();
    }
    let presented = cookie::presented(request.headers(), &site.edge);
    let asker = match site.authority.authenticate(view.client, presented).await {
        Ok(grant) => grant.principal.id,
        Err(refusal) => return refused(&refusal),
    };
    let status = site.service.status(asker, asker == principal_id(OPERATOR)).await;
    let body = serde_json::to_string(&status).expect("a status has string keys only");
    let mut response = text(StatusCode::OK, body);
    respond::set(&mut response, CONTENT_TYPE, HeaderValue::from_static("application/json"));
    respond::set(&mut response, CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}
