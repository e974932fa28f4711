//! The upgrade to WebSocket: authority first, then the socket (AUTH-2, AUTH-3).

use std::sync::Arc;
use std::time::Duration;

use async_tungstenite::WebSocketStream;
use async_tungstenite::tungstenite::handshake::server::create_response_with_body;
use async_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use async_tungstenite::tungstenite::protocol::{CloseFrame, Role, WebSocketConfig};
use futures_lite::{FutureExt, StreamExt};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::header::{CONNECTION, HeaderName, HeaderValue, UPGRADE};
use hyper::upgrade::OnUpgrade;
use hyper::{Request, Response, StatusCode};
use runwarden_runtime::connection::Metered;
use smol::net::TcpStream;
use smol::{Executor, Timer};
use smol_hyper::rt::FuturesIo;

use super::edge::{Origin, View};
use super::respond::{self, Body, foreign_origin, refused, text};
use super::router::Slot;
use super::{Accepted, ClientSocket, Site, cookie};
use crate::auth::{Grant, Presented, Refusal};

/// Largest action; a larger message is an error of the socket and closes with 1009 (2.2).
pub const ACTION_BYTES_MAX: usize = 1_048_576;

/// Read buffer of a socket. It is resident for every idle connection.
pub const READ_BUFFER_BYTES: usize = 4_096;

/// Most bytes a socket buffers for writing: more than one batch, or the largest frame, ever needs.
pub const WRITE_BUFFER_BYTES_MAX: usize = 4_194_304 + 65_536;

/// Bytes that may gather before they are written without a flush: one batch.
const WRITE_BUFFER_BYTES: usize = 65_536;

/// How long a refused client may take to answer the close.
const CLOSE_WAIT: Duration = Duration::from_secs(2);

const VERSION: HeaderName = HeaderName::from_static("sec-websocket-version");

/// The settings of every socket.
pub fn socket_config() -> WebSocketConfig {
    WebSocketConfig::default()
        .read_buffer_size(READ_BUFFER_BYTES)
        .write_buffer_size(WRITE_BUFFER_BYTES)
        .max_write_buffer_size(WRITE_BUFFER_BYTES_MAX)
        .max_message_size(Some(ACTION_BYTES_MAX))
        .max_frame_size(Some(ACTION_BYTES_MAX))
}

/// Why an upgrade is refused.
enum Refused {
    Origin,
    Authority(Refusal),
}

/// Answers a request for `/v1/ws`.
pub(super) async fn answer(
    site: Arc<Site>,
    view: View,
    mut request: Request<Incoming>,
    slot: Slot,
    executor: Arc<Executor<'static>>,
) -> Response<Body> {
    let handshake = create_response_with_body(&request, Full::default);
    let granted = authorise(&site, &view, &request, handshake.is_ok()).await;
    let (response, grant) = match (granted, handshake) {
        (Ok(grant), Ok(response)) => (response, Some(grant)),
        (Ok(_), Err(error)) => return not_an_upgrade(&error.to_string()),
        (Err(refusal), Ok(response)) if is_closed_instead(&view, &refusal) => (response, None),
        (Err(Refused::Origin), _) => return foreign_origin(),
        (Err(Refused::Authority(refusal)), _) => return refused(&refusal),
    };
    let upgrade = hyper::upgrade::on(&mut request);
    let task = async move {
        if let Some(socket) = upgraded(upgrade).await {
            match grant {
                Some(Grant { principal, lease }) => {
                    site.service.serve(Accepted { principal, lease, socket }).await;
                }
                None => close_unauthorized(socket).await,
            }
        }
        drop(slot);
    };
    executor.spawn(task).detach();
    response
}

/// A page of another site is refused whatever it presents, and a cookie, which browsers send unasked,
/// needs the Origin of this server (AUTH-2). Browsers send no Origin with a plain request of their own
/// page, which asks this way whether its login still counts.
async fn authorise(
    site: &Site,
    view: &View,
    request: &Request<Incoming>,
    is_handshake: bool,
) -> Result<Grant, Refused> {
    let presented = cookie::presented(request.headers(), &site.edge);
    let needs_origin = is_handshake && matches!(presented, Some(Presented::Cookie(_)));
    if view.origin == Origin::Foreign || needs_origin && view.origin == Origin::Absent {
        return Err(Refused::Origin);
    }
    site.authority.authenticate(view.client, presented).await.map_err(Refused::Authority)
}

/// Scripts in a browser see a close code but no status, so a refusal reaches them that way (AUTH-3).
fn is_closed_instead(view: &View, refusal: &Refused) -> bool {
    let is_of_authority = match refusal {
        Refused::Origin | Refused::Authority(Refusal::Credentials) => true,
        Refused::Authority(Refusal::TooMany { .. } | Refusal::Unavailable) => false,
    };
    is_of_authority && view.origin != Origin::Absent
}

fn not_an_upgrade(error: &str) -> Response<Body> {
    let line = format!("expected a WebSocket handshake: {error}");
    let mut response = text(StatusCode::UPGRADE_REQUIRED, line);
    respond::set(&mut response, UPGRADE, HeaderValue::from_static("websocket"));
    respond::set(&mut response, CONNECTION, HeaderValue::from_static("Upgrade"));
    respond::set(&mut response, VERSION, HeaderValue::from_static("13"));
    response
}

/// The socket behind hyper, with what it had read beyond the request.
async fn upgraded(upgrade: OnUpgrade) -> Option<ClientSocket> {
    let parts = match upgrade.await {
        Ok(upgraded) => upgraded.downcast::<FuturesIo<TcpStream>>().ok()?,
        Err(error) => {
            tracing::debug!(%error, "the client left during the upgrade");
            return None;
        }
    };
    let (stream, read) = (parts.io.into_inner(), parts.read_buf.to_vec());
    let config = Some(socket_config());
    let stream = Metered::new(stream);
    Some(WebSocketStream::from_partially_read(stream, read, Role::Server, config).await)
}

async fn close_unauthorized(mut socket: ClientSocket) {
    let frame = CloseFrame { code: CloseCode::Policy, reason: "unauthorized".into() };
    let closing = async {
        if socket.close(Some(frame)).await.is_ok() {
            while let Some(Ok(_)) = socket.next().await {}
        }
    };
    let late = async {
        Timer::after(CLOSE_WAIT).await;
    };
    closing.or(late).await;
}
