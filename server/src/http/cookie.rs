//! The login cookie (PRIN-6), and the bearer header beside it.

use hyper::header::{AUTHORIZATION, COOKIE, HeaderMap, HeaderValue};

use super::edge::{Edge, View};
use crate::auth::{LOGIN_LIFETIME_MS, Presented};

/// The credentials of a request. A bearer token counts before a cookie, which browsers send unasked.
pub(super) fn presented<'a>(headers: &'a HeaderMap, edge: &Edge) -> Option<Presented<'a>> {
    match headers.get(AUTHORIZATION) {
        Some(value) => Some(Presented::Token(bearer(value))),
        None => login(headers, edge).map(Presented::Cookie),
    }
}

/// The value of the login cookie.
pub(super) fn login<'a>(headers: &'a HeaderMap, edge: &Edge) -> Option<&'a str> {
    let values = headers.get_all(COOKIE);
    let texts = values.iter().filter_map(|value| value.to_str().ok());
    texts
        .flat_map(|text| text.split(';'))
        .filter_map(|pair| pair.trim().split_once('='))
        .find_map(|(name, value)| (name == edge.cookie()).then_some(value))
}

/// The header that gives a browser its login.
pub(super) fn given(edge: &Edge, view: &View, value: &str) -> HeaderValue {
    header(edge, view, value, LOGIN_LIFETIME_MS / 1_000)
}

/// The header that takes it away.
pub(super) fn removed(edge: &Edge, view: &View) -> HeaderValue {
    header(edge, view, "", 0)
}

/// A header that is not a bearer token is a wrong one.
fn bearer(value: &HeaderValue) -> &str {
    let text = value.to_str().unwrap_or_default();
    match text.split_once(' ') {
        Some((scheme, token)) if scheme.eq_ignore_ascii_case("bearer") => token.trim(),
        Some(_) | None => "",
    }
}

fn header(edge: &Edge, view: &View, value: &str, age_s: u64) -> HeaderValue {
    let (name, path) = (edge.cookie(), edge.base_path());
    let secure = if view.is_https { "; Secure" } else { "" };
    let text =
        format!("{name}={value}; Path={path}; Max-Age={age_s}; HttpOnly; SameSite=Strict{secure}");
    HeaderValue::try_from(text).expect("name, base path and value are visible ASCII")
}
