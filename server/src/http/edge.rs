//! Where a request comes from, and whether it was meant for this server (family EDGE).

use std::net::{IpAddr, SocketAddr};

use hyper::header::{HOST, HeaderMap, HeaderName, ORIGIN};
use hyper::http::uri::Authority as UriAuthority;
use hyper::{Request, Uri};
use ipnet::IpNet;

use crate::config::PublicUrl;

const FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
const FORWARDED_HOST: HeaderName = HeaderName::from_static("x-forwarded-host");
const FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");

/// The two ends of a TCP connection.
#[derive(Clone, Copy, Debug)]
pub struct Peer {
    /// The other end.
    pub address: IpAddr,
    /// This end.
    pub local: SocketAddr,
}

/// What counts as an address of this server (EDGE-1).
#[derive(Clone, Debug)]
pub struct Edge {
    hosts: Vec<Host>,
    accepts_local_address: bool,
    is_https: Option<bool>,
    base_path: String,
    cookie: String,
    trusted: Vec<IpNet>,
}

/// What the edge says of one request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct View {
    /// The client, behind trusted proxies (EDGE-3).
    pub client: IpAddr,
    /// Whether the Host is one of this server (EDGE-2).
    pub is_host_allowed: bool,
    /// The Origin.
    pub origin: Origin,
    /// Whether the browser speaks https.
    pub is_https: bool,
}

/// The Origin of a request (AUTH-2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// No such header: not a browser, or a plain navigation.
    Absent,
    /// A page of this server.
    Allowed,
    /// Any other page.
    Foreign,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Host {
    name: String,
    port: u16,
}

impl Edge {
    /// The edge of a server that listens on `bound`.
    pub fn new(bound: SocketAddr, public_url: Option<&PublicUrl>, trusted: Vec<IpNet>) -> Self {
        match public_url {
            Some(url) => Self {
                hosts: vec![Host { name: url.host.clone(), port: url.port }],
                accepts_local_address: false,
                is_https: Some(url.is_https),
                base_path: url.base_path.clone(),
                cookie: "runwarden_login".to_owned(),
                trusted,
            },
            None => Self {
                hosts: listen_hosts(bound),
                accepts_local_address: bound.ip().is_unspecified(),
                is_https: None,
                base_path: "/".to_owned(),
                // Browsers share cookies between the ports of a host, and one may run several servers.
                cookie: format!("runwarden_login_{}", bound.port()),
                trusted,
            },
        }
    }

    /// Path of the page, beginning and ending with `/`.
    pub fn base_path(&self) -> &str {
        &self.base_path
    }

    /// Name of the login cookie.
    pub fn cookie(&self) -> &str {
        &self.cookie
    }

    /// The path below the base path. A proxy may have removed the base path already.
    pub fn below_base<'a>(&self, path: &'a str) -> &'a str {
        match path.strip_prefix(&*self.base_path) {
            Some(rest) => rest,
            None => path.strip_prefix('/').unwrap_or(path),
        }
    }

    /// What this request says of itself, as far as it may be believed.
    pub fn view<B>(&self, request: &Request<B>, peer: Peer) -> View {
        let headers = request.headers();
        let is_proxied = self.is_trusted(peer.address.to_canonical());
        let proto = is_proxied.then(|| single(headers, &FORWARDED_PROTO)).flatten();
        let is_https =
            self.is_https.unwrap_or(proto.is_some_and(|proto| proto.eq_ignore_ascii_case("https")));
        let forwarded = is_proxied.then(|| single(headers, &FORWARDED_HOST)).flatten();
        let host = match forwarded {
            Some(text) => Host::parse(text, is_https),
            None => host_of(request.uri(), headers, is_https),
        };
        View {
            client: self.client(headers, peer.address),
            is_host_allowed: host.is_some_and(|host| self.is_own(&host, peer)),
            origin: self.origin(headers, is_https, peer),
            is_https,
        }
    }

    fn origin(&self, headers: &HeaderMap, is_https: bool, peer: Peer) -> Origin {
        if !headers.contains_key(ORIGIN) {
            return Origin::Absent;
        }
        let scheme = if is_https { "https://" } else { "http://" };
        let host = single(headers, &ORIGIN)
            .and_then(|text| text.strip_prefix(scheme))
            .and_then(|rest| Host::parse(rest, is_https));
        match host {
            Some(host) if self.is_own(&host, peer) => Origin::Allowed,
            Some(_) | None => Origin::Foreign,
        }
    }

    fn is_own(&self, host: &Host, peer: Peer) -> bool {
        self.hosts.contains(host) || self.accepts_local_address && *host == Host::of(peer.local)
    }

    fn is_trusted(&self, address: IpAddr) -> bool {
        self.trusted.iter().any(|network| network.contains(&address))
    }

    /// The last address, read from this end, that no trusted proxy has (EDGE-3).
    fn client(&self, headers: &HeaderMap, peer: IpAddr) -> IpAddr {
        let mut client = peer.to_canonical();
        let values = headers.get_all(FORWARDED_FOR);
        let texts: Vec<_> = values.iter().map(|value| value.to_str().unwrap_or_default()).collect();
        for text in texts.iter().rev().flat_map(|text| text.rsplit(',')) {
            match forwarded_address(text.trim()) {
                Some(next) if self.is_trusted(client) => client = next,
                Some(_) | None => break,
            }
        }
        client
    }
}

impl Host {
    fn of(address: SocketAddr) -> Self {
        let name = match address.ip().to_canonical() {
            IpAddr::V4(ip) => ip.to_string(),
            IpAddr::V6(ip) => format!("[{ip}]"),
        };
        Self { name, port: address.port() }
    }

    fn parse(text: &str, is_https: bool) -> Option<Self> {
        let authority: UriAuthority = text.parse().ok()?;
        if authority.as_str().contains('@') || authority.host().is_empty() {
            return None;
        }
        let port = match authority.port() {
            Some(port) => port.as_str().parse().ok()?,
            None if authority.as_str() != authority.host() => return None,
            None if is_https => 443,
            None => 80,
        };
        Some(Self { name: authority.host().to_ascii_lowercase(), port })
    }
}

/// The listen address and, if it takes loopback connections, the names of loopback.
fn listen_hosts(bound: SocketAddr) -> Vec<Host> {
    let mut hosts = vec![Host::of(bound)];
    if bound.ip().is_loopback() || bound.ip().is_unspecified() {
        for name in ["localhost", "127.0.0.1", "[::1]"] {
            hosts.push(Host { name: name.to_owned(), port: bound.port() });
        }
    }
    hosts
}

/// The host of an absolute request target counts before the header, as HTTP has it.
fn host_of(uri: &Uri, headers: &HeaderMap, is_https: bool) -> Option<Host> {
    match uri.authority() {
        Some(authority) => Host::parse(authority.as_str(), is_https),
        None => single(headers, &HOST).and_then(|text| Host::parse(text, is_https)),
    }
}

/// The value of a header that must not be repeated.
fn single<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (Some(value), None) => value.to_str().ok(),
        _ => None,
    }
}

/// An address as proxies write it: bare, in brackets, or with a port.
fn forwarded_address(text: &str) -> Option<IpAddr> {
    let bare = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(text);
    let with_port = || text.parse::<SocketAddr>().map(|address| address.ip());
    bare.parse().or_else(|_| with_port()).ok().map(|address: IpAddr| address.to_canonical())
}

#[cfg(test)]
mod tests;
