//! HTTP/1.1 around the core: the page, login and logout, health, and the upgrade to WebSocket.

mod accept;
mod cookie;
pub mod edge;
mod endpoints;
pub mod negotiation;
mod page;
mod record;
mod respond;
mod router;
mod status;
mod upgrade;

use std::sync::Arc;

use async_tungstenite::WebSocketStream;
use runwarden_protocol::ids::{PrincipalId, SessionId};
use runwarden_protocol::wire::structures::ServerStatus;
use runwarden_runtime::connection::Metered;
use runwarden_runtime::ports::StoreFailure;
use runwarden_runtime::ports::agent::BoxFuture;
use runwarden_runtime::records::Recorded;
use smol::net::TcpStream;

use crate::assets::Assets;
use crate::auth::{Authority, Lease, Principal};
pub use accept::{BindError, CONNECTIONS_MAX, bind, raise_open_files, serve};
use edge::Edge;
pub use upgrade::{ACTION_BYTES_MAX, READ_BUFFER_BYTES, WRITE_BUFFER_BYTES_MAX, socket_config};

/// The socket of an accepted client.
pub type ClientSocket = WebSocketStream<Metered<TcpStream>>;

/// An upgraded socket, accepted for a principal, before any frame.
#[derive(Debug)]
pub struct Accepted {
    /// Whom the connection acts for (AUTH-1).
    pub principal: Principal,
    /// Ends when its credentials are revoked; the connection is then to be closed with 1008 (AUTH-8).
    pub lease: Lease,
    /// The socket, configured by [`socket_config`].
    pub socket: ClientSocket,
}

/// What serves upgraded sockets.
pub trait SocketService: Send + Sync + 'static {
    /// Serves a socket to its end. The socket counts as open until this resolves.
    fn serve(&self, accepted: Accepted) -> BoxFuture<'static, ()>;

    /// Whether actions are accepted and the store can be written; the answer of `/readyz`.
    fn ready(&self) -> BoxFuture<'static, bool>;

    /// Runs and connections as `asker` may see them, of every session if `sees_all` (OBS-02).
    fn status(&self, asker: PrincipalId, sees_all: bool) -> BoxFuture<'static, ServerStatus>;

    /// What the flight recorder has of a session, of `principal` alone if that is given.
    fn flight(
        &self,
        session_id: SessionId,
        principal: Option<PrincipalId>,
    ) -> BoxFuture<'static, Result<Recorded, StoreFailure>>;
}

/// Everything a request is answered from.
pub struct Site {
    /// What counts as this server's address, and who may speak for others.
    pub edge: Edge,
    /// Who may do what.
    pub authority: Authority,
    /// The page.
    pub assets: Assets,
    /// What serves sockets.
    pub service: Arc<dyn SocketService>,
}
