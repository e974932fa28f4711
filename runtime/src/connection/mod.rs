//! The driver of one connection: messages in, frames out, and the answer to each action.
//!
//! - `driver`: one future that polls timer, writer and reader in a fixed order and feeds the connection
//!   machine; `metered` and `gate` tell it what moved.
//! - [`Peer`]: the connection as sessions see it; [`ReplyTo`]: the answer to one action; [`registry`]: what
//!   became of the requests of a principal.
//! - `actions`: one handler for each action; `pushes`: frames the connection itself makes.

mod actions;
mod backend;
mod closing;
mod driver;
mod gate;
mod metered;
mod peer;
mod pushes;
pub mod registry;
mod reply;
#[cfg(test)]
mod tests;

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;

use async_tungstenite::WebSocketStream;
use futures_io::{AsyncRead, AsyncWrite};
use runwarden_protocol::delivery::sender;
use runwarden_protocol::ids::ConnectionId;
use runwarden_protocol::wire::close::Close;

use crate::hub::{Hub, Principal};
use crate::ports::{Store, World};
use driver::Driver;
pub use metered::Metered;
pub use peer::Peer;
pub(crate) use pushes::status as push_status;
pub use reply::ReplyTo;

/// Serves one accepted socket to its end. The 65th connection of a principal is closed before any frame
/// (RATE-3). When `revoked` resolves, the connection is closed with 1008.
pub async fn serve<W: World, S: Store, T: AsyncRead + AsyncWrite + Unpin + Send>(
    hub: Hub<W, S>,
    principal: Principal,
    mut socket: WebSocketStream<Metered<T>>,
    revoked: impl Future<Output = ()> + Send,
) {
    let id = ConnectionId::new(hub.world().random());
    let peer = Arc::new(Peer::new(id, principal, hub.now()));
    let world = hub.world().clone();
    if !hub.attach(&peer) {
        return closing::close(&world, &mut socket, Some(Close::RateLimited)).await;
    }
    let attached = Attached { hub: hub.clone(), peer: peer.clone() };
    hub.tell_stop(&peer);
    let revoked = pin!(revoked);
    let mut driver = Driver::new(hub, peer, &mut socket, revoked);
    let reason = poll_fn(|cx| driver.poll(cx)).await;
    drop(driver);
    drop(attached);
    closing::close(&world, &mut socket, reason).await;
}

/// Takes a connection off the server however its driver ends (SND-26).
struct Attached<W: World, S: Store> {
    hub: Hub<W, S>,
    peer: Arc<Peer>,
}

impl<W: World, S: Store> Drop for Attached<W, S> {
    fn drop(&mut self) {
        self.peer.leaves();
        self.peer.outbound.feed(self.hub.now(), sender::Input::Stop);
        self.hub.detach(&self.peer);
    }
}
