//! From an endpoint to an open connection.

use std::io;

use futures_lite::{AsyncRead, AsyncWrite};
use runwarden_runtime::ports::AgentFailure;
use runwarden_runtime::ports::agent::FailureKind;
use smol::net::TcpStream;

use super::endpoint::Endpoint;

/// A connection, with or without TLS.
pub(super) trait Connection: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Connection for T {}

/// Resolves the name, connects to the first address that accepts, and does the TLS handshake.
///
/// # Errors
/// Every failure is [`FailureKind::Unreachable`].
pub(super) async fn connect(endpoint: &Endpoint) -> Result<Box<dyn Connection>, AgentFailure> {
    let failed = |what: &str, error: io::Error| AgentFailure {
        kind: FailureKind::Unreachable,
        detail: format!("{what} {}:{}: {error}", endpoint.host, endpoint.port),
    };
    let stream = TcpStream::connect((endpoint.host.as_str(), endpoint.port))
        .await
        .map_err(|error| failed("connect to", error))?;
    // Small requests must not wait for more to send; a failure only costs latency.
    let _ = stream.set_nodelay(true);
    let Some(tls) = &endpoint.tls else { return Ok(Box::new(stream)) };
    let stream = tls
        .connector
        .connect(tls.server_name.clone(), stream)
        .await
        .map_err(|error| failed("TLS handshake with", error))?;
    Ok(Box::new(stream))
}
