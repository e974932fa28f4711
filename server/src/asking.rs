//! Asks the running server something over its own door, for the commands that look at it from outside.

use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use futures_lite::FutureExt;
use futures_lite::future::or;
use http_body_util::{BodyExt, Empty, Limited};
use hyper::body::Bytes;
use hyper::client::conn::http1;
use hyper::header::{AUTHORIZATION, HOST, HeaderValue};
use hyper::{Request, StatusCode};
use smol::Timer;
use smol::net::TcpStream;
use smol_hyper::rt::FuturesIo;

use crate::config::Settings;
use crate::state_dir::TOKEN;

/// Why the server could not be asked, and what to do.
#[derive(Debug, thiserror::Error)]
pub(crate) enum AskError {
    /// No token to ask with.
    #[error(
        "there is no generated token in {}: its principals are configured, so give the token of one with --token T",
        path.display()
    )]
    NoToken {
        /// The state directory.
        path: PathBuf,
    },
    /// The token cannot be sent in a header.
    #[error("--token must have visible ASCII characters only")]
    Token,
    /// The server does not answer.
    #[error("the server at {address} does not answer: {detail}")]
    Unreachable {
        /// Where it listens.
        address: SocketAddr,
        /// What went wrong.
        detail: String,
    },
}

/// What is asked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Question<'a> {
    /// Path below the base of the server, without a slash at its begin.
    pub(crate) path: &'a str,
    /// Token to ask with; without one the generated token.
    pub(crate) token: Option<&'a str>,
    /// Most bytes of the answer.
    pub(crate) bytes_max: usize,
    /// How long the server may take.
    pub(crate) longest: Duration,
}

/// Asks the server that listens on `address`: the status and the body of its answer.
///
/// # Errors
/// [`AskError`] says what to do.
pub(crate) fn get(
    settings: &Settings,
    address: SocketAddr,
    question: Question<'_>,
) -> Result<(StatusCode, String), AskError> {
    let token = match question.token {
        Some(token) => token.to_owned(),
        None => kept_token(&settings.state)?,
    };
    let address = reachable(address);
    let request = request(settings, address, &token, question.path)?;
    let late = async {
        Timer::after(question.longest).await;
        Err(format!("no answer within {} s", question.longest.as_secs()))
    };
    smol::block_on(exchange(address, request, question.bytes_max).or(late))
        .map_err(|detail| AskError::Unreachable { address, detail })
}

fn kept_token(state: &Path) -> Result<String, AskError> {
    let text = fs::read_to_string(state.join(TOKEN));
    let token = text.map(|text| text.trim_end().to_owned()).unwrap_or_default();
    if token.is_empty() {
        return Err(AskError::NoToken { path: state.to_owned() });
    }
    Ok(token)
}

/// A server that listens on every address is reached over loopback.
fn reachable(address: SocketAddr) -> SocketAddr {
    let ip = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    SocketAddr::new(ip, address.port())
}

fn request(
    settings: &Settings,
    address: SocketAddr,
    token: &str,
    path: &str,
) -> Result<Request<Empty<Bytes>>, AskError> {
    // The server answers to the name under which browsers reach it, also without the proxy between.
    let (host, base) = match &settings.public_url {
        Some(url) => (format!("{}:{}", url.host, url.port), url.base_path.as_str()),
        None => (address.to_string(), "/"),
    };
    let mut bearer =
        HeaderValue::try_from(format!("Bearer {token}")).map_err(|_| AskError::Token)?;
    bearer.set_sensitive(true);
    Request::get(format!("{base}{path}"))
        .header(HOST, host)
        .header(AUTHORIZATION, bearer)
        .body(Empty::new())
        .map_err(|error| AskError::Unreachable { address, detail: error.to_string() })
}

async fn exchange(
    address: SocketAddr,
    request: Request<Empty<Bytes>>,
    bytes_max: usize,
) -> Result<(StatusCode, String), String> {
    let stream = TcpStream::connect(address).await.map_err(|error| error.to_string())?;
    let (mut sender, connection) =
        http1::handshake(FuturesIo::new(stream)).await.map_err(|error| error.to_string())?;
    let answer = async move {
        let response = sender.send_request(request).await.map_err(|error| error.to_string())?;
        let status = response.status();
        let body = Limited::new(response.into_body(), bytes_max).collect().await;
        let bytes = body.map_err(|error| error.to_string())?.to_bytes();
        Ok((status, String::from_utf8_lossy(&bytes).into_owned()))
    };
    let connection = async {
        // Its end, good or bad, reaches whoever waits for the answer.
        let _ = connection.await;
        std::future::pending().await
    };
    or(answer, connection).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_on_every_address_is_reached_over_loopback() {
        for (listens, reached) in [
            ("0.0.0.0:80", "127.0.0.1:80"),
            ("[::]:80", "[::1]:80"),
            ("192.0.2.1:80", "192.0.2.1:80"),
        ] {
            assert_eq!(reachable(listens.parse().unwrap()), reached.parse().unwrap());
        }
    }
}
