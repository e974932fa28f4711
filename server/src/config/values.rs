//! Values of the configuration file that are more than a text or a number.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

use hyper::Uri;
use ipnet::IpNet;
use serde::Deserialize;

/// Longest name of a principal, in characters.
pub(super) const NAME_CHARS_MAX: usize = 64;

/// The URL browsers use (EDGE-1).
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct PublicUrl {
    /// Whether it is https.
    pub is_https: bool,
    /// Host name or address, lower case, IPv6 in brackets.
    pub host: String,
    /// Port, also when the URL leaves it out.
    pub port: u16,
    /// Path of the page, beginning and ending with `/`.
    pub base_path: String,
}

/// An address and a port.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(try_from = "String")]
pub(super) struct Listen(pub(super) SocketAddr);

/// An address or a network.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(try_from = "String")]
pub(super) struct Proxy(pub(super) IpNet);

/// A name people can read in a log.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "String")]
pub(super) struct Name(pub(super) String);

/// A SHA-256 in hex.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(try_from = "String")]
pub(super) struct Sha256Hex(pub(super) [u8; 32]);

/// A path that is not empty.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "String")]
pub(super) struct StatePath(pub(super) PathBuf);

impl TryFrom<String> for PublicUrl {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        const EXPECTED: &str = "expected an http or https URL without user, query or fragment, such \
                                as https://example.org/runwarden/";
        let uri: Uri = text.parse().map_err(|_| EXPECTED)?;
        let is_https = match uri.scheme_str() {
            Some("https") => true,
            Some("http") => false,
            _ => return Err(EXPECTED),
        };
        let authority = uri.authority().ok_or(EXPECTED)?;
        let is_plain = text.bytes().all(|byte| byte.is_ascii_graphic() && byte != b';');
        if authority.as_str().contains('@') || uri.query().is_some() || !is_plain {
            return Err(EXPECTED);
        }
        // Uri drops a fragment without a word.
        if text.contains('#') || authority.host().is_empty() {
            return Err(EXPECTED);
        }
        let mut base_path = uri.path().to_owned();
        if !base_path.ends_with('/') {
            base_path.push('/');
        }
        Ok(Self {
            is_https,
            host: authority.host().to_ascii_lowercase(),
            port: authority.port_u16().unwrap_or(if is_https { 443 } else { 80 }),
            base_path,
        })
    }
}

impl TryFrom<String> for Listen {
    type Error = String;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        crate::cli::parse_listen(&text).map(Self)
    }
}

impl TryFrom<String> for Proxy {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let single = || text.parse::<IpAddr>().map(IpNet::from);
        text.parse::<IpNet>()
            .or_else(|_| single())
            .map(Self)
            .map_err(|_| "expected an address or a network, such as 10.0.0.7 or 10.0.0.0/8")
    }
}

impl TryFrom<String> for Name {
    type Error = String;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let is_long = text.chars().count() > NAME_CHARS_MAX;
        if text.trim().is_empty() || is_long || text.chars().any(char::is_control) {
            return Err(format!("expected 1 to {NAME_CHARS_MAX} printable characters"));
        }
        Ok(Self(text))
    }
}

impl TryFrom<String> for Sha256Hex {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        crate::auth::bytes_of_hex(&text)
            .map(Self)
            .ok_or("expected 64 hex digits, as `printf %s TOKEN | sha256sum` prints them")
    }
}

impl TryFrom<String> for StatePath {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        if text.is_empty() {
            return Err("expected a directory");
        }
        Ok(Self(PathBuf::from(text)))
    }
}
