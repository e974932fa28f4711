//! The end of a socket: the close frame, and a short wait for the peer's answer (2.8).

use async_tungstenite::WebSocketStream;
use async_tungstenite::tungstenite::Message;
use async_tungstenite::tungstenite::protocol::CloseFrame;
use futures_io::{AsyncRead, AsyncWrite};
use futures_lite::future::or;
use futures_lite::{AsyncReadExt, StreamExt};
use futures_util::SinkExt;
use runwarden_protocol::instant::Duration;
use runwarden_protocol::wire::close::Close;

use super::metered::Metered;
use crate::ports::World;

/// How long a peer may take to answer a close.
const CLOSE_WAIT: Duration = Duration::from_millis(2_000);

/// Bytes of one read whose content does not matter any more.
const SCRAP_BYTES: usize = 4_096;

/// Closes a socket with a reason; without one the peer has closed already and gets its answer.
pub(super) async fn close<W: World, T: AsyncRead + AsyncWrite + Unpin>(
    world: &W,
    socket: &mut WebSocketStream<Metered<T>>,
    reason: Option<Close>,
) {
    let late = world.sleep_until(world.now().plus(CLOSE_WAIT));
    or(handshake(socket, reason), late).await;
}

async fn handshake<T: AsyncRead + AsyncWrite + Unpin>(
    socket: &mut WebSocketStream<Metered<T>>,
    reason: Option<Close>,
) {
    let sent = match reason {
        Some(reason) => {
            let frame = CloseFrame { code: reason.code().into(), reason: reason.reason().into() };
            socket.send(Message::Close(Some(frame))).await
        }
        None => socket.flush().await,
    };
    if sent.is_err() {
        return;
    }
    while let Some(Ok(_)) = socket.next().await {}
    if reason == Some(Close::MessageTooLarge) {
        // The rest of the message is on its way: unread, it would reset the connection before the
        // close frame is read.
        let mut scrap = [0; SCRAP_BYTES];
        while let Ok(1..) = socket.get_mut().read(&mut scrap).await {}
    }
}
