//! The operator page and its files.

use http_body_util::Full;
use hyper::header::{
    CACHE_CONTROL, CONTENT_ENCODING, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, HeaderMap,
    HeaderValue, IF_NONE_MATCH, REFERRER_POLICY, VARY, X_CONTENT_TYPE_OPTIONS,
};
use hyper::{Response, StatusCode};

use super::negotiation::selects_gzip;
use super::respond::{Body, not_found, set};
use crate::assets::{Asset, Assets, INDEX};

/// What the page may load and do (WEB-3).
pub(super) const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; \
    img-src 'self'; font-src 'self'; connect-src 'self'; object-src 'none'; base-uri 'none'; \
    form-action 'none'; frame-ancestors 'none'";

/// The file with this path below the base path; the empty path is the page.
pub(super) fn answer(assets: &Assets, path: &str, headers: &HeaderMap) -> Response<Body> {
    let path = if path.is_empty() { INDEX } else { path };
    match assets.get(path) {
        Some(asset) => file(asset, headers),
        None => not_found(),
    }
}

fn file(asset: &Asset, headers: &HeaderMap) -> Response<Body> {
    let mut response = Response::new(Full::default());
    set(&mut response, CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    set(&mut response, X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    set(&mut response, REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    set(&mut response, CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    let etag = HeaderValue::try_from(&asset.etag).expect("hex digits in quotes");
    set(&mut response, ETAG, etag);
    if asset.gzip.is_some() {
        set(&mut response, VARY, HeaderValue::from_static("Accept-Encoding"));
    }
    if is_current(headers, &asset.etag) {
        *response.status_mut() = StatusCode::NOT_MODIFIED;
        return response;
    }
    set(&mut response, CONTENT_TYPE, HeaderValue::from_static(asset.media_type));
    *response.body_mut() = match &asset.gzip {
        Some(gzip) if selects_gzip(headers) => {
            set(&mut response, CONTENT_ENCODING, HeaderValue::from_static("gzip"));
            Full::new(gzip.clone())
        }
        Some(_) | None => Full::new(asset.plain.clone()),
    };
    response
}

/// Whether the client has this version; tags are compared weakly.
fn is_current(headers: &HeaderMap, etag: &str) -> bool {
    let values = headers.get_all(IF_NONE_MATCH);
    let texts = values.iter().filter_map(|value| value.to_str().ok());
    let strong = etag.trim_start_matches("W/");
    texts
        .flat_map(|text| text.split(','))
        .map(|tag| tag.trim().trim_start_matches("W/"))
        .any(|tag| tag == "*" || tag == strong)
}
