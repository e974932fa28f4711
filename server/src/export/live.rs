//! From the running server.

use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::Path;
use std::time::Duration;

use futures_lite::FutureExt;
use futures_lite::future::or;
use http_body_util::{BodyExt, Empty, Limited};
use hyper::body::Bytes;
use hyper::client::conn::http1;
use hyper::header::{AUTHORIZATION, HOST, HeaderValue};
use hyper::{Request, StatusCode};
use runwarden_protocol::ids::SessionId;
use runwarden_protocol::race::FILE_BYTES_MAX;
use smol::Timer;
use smol::net::TcpStream;
use smol_hyper::rt::FuturesIo;

use super::error::ExportError;
use crate::config::Settings;
use crate::state_dir::TOKEN;

/// How long the server may take.
const ANSWER_MAX: Duration = Duration::from_secs(60);

/// Asks the server that listens on `address`.
pub(super) fn fetch(
    settings: &Settings,
    address: SocketAddr,
    token: Option<&str>,
    session_id: SessionId,
) -> Result<String, ExportError> {
    let token = match token {
        Some(token) => token.to_owned(),
        None => kept_token(&settings.state)?,
    };
    let address = reachable(address);
    let request = request(settings, address, &token, session_id)?;
    let failed = |detail: String| ExportError::Unreachable { address, detail };
    let late = async {
        Timer::after(ANSWER_MAX).await;
        Err(format!("no answer within {} s", ANSWER_MAX.as_secs()))
    };
    let (status, text) = smol::block_on(exchange(address, request).or(late)).map_err(failed)?;
    match status {
        StatusCode::OK => Ok(text),
        StatusCode::INTERNAL_SERVER_ERROR => Err(ExportError::Differs(text.trim_end().to_owned())),
        status => {
            let text = text.trim_end().to_owned();
            Err(ExportError::Refused { status: status.as_u16(), text })
        }
    }
}

fn kept_token(state: &Path) -> Result<String, ExportError> {
    let text = fs::read_to_string(state.join(TOKEN));
    let token = text.map(|text| text.trim_end().to_owned()).unwrap_or_default();
    if token.is_empty() {
        return Err(ExportError::NoToken { path: state.to_owned() });
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
    session_id: SessionId,
) -> Result<Request<Empty<Bytes>>, ExportError> {
    // The server answers to the name under which browsers reach it, also without the proxy between.
    let (host, base) = match &settings.public_url {
        Some(url) => (format!("{}:{}", url.host, url.port), url.base_path.as_str()),
        None => (address.to_string(), "/"),
    };
    let mut bearer =
        HeaderValue::try_from(format!("Bearer {token}")).map_err(|_| ExportError::Token)?;
    bearer.set_sensitive(true);
    Request::get(format!("{base}v1/sessions/{session_id}/record"))
        .header(HOST, host)
        .header(AUTHORIZATION, bearer)
        .body(Empty::new())
        .map_err(|error| ExportError::Unreachable { address, detail: error.to_string() })
}

async fn exchange(
    address: SocketAddr,
    request: Request<Empty<Bytes>>,
) -> Result<(StatusCode, String), String> {
    let stream = TcpStream::connect(address).await.map_err(|error| error.to_string())?;
    let (mut sender, connection) =
        http1::handshake(FuturesIo::new(stream)).await.map_err(|error| error.to_string())?;
    let answer = async move {
        let response = sender.send_request(request).await.map_err(|error| error.to_string())?;
        let status = response.status();
        let body = Limited::new(response.into_body(), FILE_BYTES_MAX).collect().await;
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
