//! Listening, and one task per connection.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use futures_lite::FutureExt;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use smol::lock::{Semaphore, SemaphoreGuardArc};
use smol::net::{TcpListener, TcpStream};
use smol::{Executor, Timer};
use smol_hyper::rt::{FuturesIo, SmolTimer};

use super::Site;
use super::edge::Peer;
use super::router::{self, Slot};

/// Connections held at once, upgraded ones included. Further ones wait in the backlog of the socket.
pub const CONNECTIONS_MAX: usize = 16_384;

/// Open files to ask for: one per connection, and some for the store, logs and agents.
const OPEN_FILES: u64 = CONNECTIONS_MAX as u64 + 1_024;

/// How long a client may take for the head of a request, idle time before it included.
const HEADER_READ: Duration = Duration::from_secs(20);

/// How long a connection may stay without an upgrade; afterwards the answer under way gets [`LAST_ANSWER`].
const PLAIN_LIFETIME: Duration = Duration::from_secs(300);
const LAST_ANSWER: Duration = Duration::from_secs(30);

/// Largest head of a request.
const HEAD_BYTES_MAX: usize = 65_536;

/// Pause after a failed accept, doubled with each failure in a row.
const ACCEPT_PAUSE: Duration = Duration::from_millis(10);
const ACCEPT_PAUSE_MAX: Duration = Duration::from_secs(1);

/// Why the server cannot listen.
#[derive(Debug, thiserror::Error)]
pub enum BindError {
    /// Something else listens there.
    #[error(
        "{listen} is in use by another program: stop it, or choose another port with --listen \
         (port 0 picks a free one)"
    )]
    InUse {
        /// The address.
        listen: SocketAddr,
    },
    /// Any other reason.
    #[error("cannot listen on {listen}: {source}; choose another address with --listen")]
    Refused {
        /// The address.
        listen: SocketAddr,
        /// Why.
        source: io::Error,
    },
}

/// Listens, and says where: port 0 became a real one.
///
/// # Errors
/// [`BindError`] names the address and what to do.
pub async fn bind(listen: SocketAddr) -> Result<(TcpListener, SocketAddr), BindError> {
    let refused = |source: io::Error| match source.kind() {
        io::ErrorKind::AddrInUse => BindError::InUse { listen },
        _ => BindError::Refused { listen, source },
    };
    let listener = TcpListener::bind(listen).await.map_err(refused)?;
    let bound = listener.local_addr().map_err(refused)?;
    Ok((listener, bound))
}

/// Raises the limit of open files of this process as far as it is allowed and useful.
pub fn raise_open_files() {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let mut limits = getrlimit(Resource::Nofile);
    let wanted = limits.maximum.map_or(OPEN_FILES, |maximum| maximum.min(OPEN_FILES));
    if limits.current.is_some_and(|current| current < wanted) {
        limits.current = Some(wanted);
        if let Err(error) = setrlimit(Resource::Nofile, limits) {
            tracing::warn!(%error, "the limit of open files stays as it is");
        }
    }
}

/// Accepts connections until the future is dropped; the connections go on as tasks of `executor`.
pub async fn serve(listener: TcpListener, site: Arc<Site>, executor: Arc<Executor<'static>>) {
    let slots = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    let mut pause = ACCEPT_PAUSE;
    loop {
        let slot = slots.acquire_arc().await;
        match listener.accept().await {
            Ok((stream, address)) => {
                pause = ACCEPT_PAUSE;
                let task = connection(stream, address, slot, site.clone(), executor.clone());
                executor.spawn(task).detach();
            }
            Err(error) if is_of_the_peer(&error) => {}
            // Out of file descriptors or memory: nothing is gained by asking again at once.
            Err(error) => {
                tracing::warn!(%error, "cannot accept connections");
                Timer::after(pause).await;
                pause = (pause * 2).min(ACCEPT_PAUSE_MAX);
            }
        }
    }
}

fn is_of_the_peer(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset, Interrupted};
    matches!(error.kind(), ConnectionAborted | ConnectionReset | ConnectionRefused | Interrupted)
}

/// Serves requests until the connection ends or is upgraded.
async fn connection(
    stream: TcpStream,
    address: SocketAddr,
    slot: SemaphoreGuardArc,
    site: Arc<Site>,
    executor: Arc<Executor<'static>>,
) {
    let Ok(local) = stream.local_addr() else { return };
    // Frames are batched by the sender; a delayed one would only be late.
    let _ = stream.set_nodelay(true);
    let peer = Peer { address: address.ip(), local };
    let slot = Slot::new(slot);
    let service = service_fn(|request| {
        router::answer(site.clone(), peer, request, slot.clone(), executor.clone())
    });
    let mut builder = http1::Builder::new();
    builder.timer(SmolTimer::new()).header_read_timeout(HEADER_READ).max_buf_size(HEAD_BYTES_MAX);
    let io = FuturesIo::new(stream);
    let mut serving = std::pin::pin!(builder.serve_connection(io, service).with_upgrades());
    let served = async { Some((&mut serving).await) };
    let result = served.or(after(PLAIN_LIFETIME)).await;
    let result = match result {
        Some(result) => Some(result),
        None => {
            serving.as_mut().graceful_shutdown();
            async { Some((&mut serving).await) }.or(after(LAST_ANSWER)).await
        }
    };
    if let Some(Err(error)) = result {
        tracing::debug!(%error, "connection ended");
    }
}

async fn after<T>(time: Duration) -> Option<T> {
    Timer::after(time).await;
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_in_use_is_named_with_the_way_out() {
        smol::block_on(async {
            let (_held, bound) = bind("127.0.0.1:0".parse().unwrap()).await.unwrap();
            assert_ne!(bound.port(), 0);
            let error = bind(bound).await.unwrap_err();
            let text = error.to_string();
            assert!(matches!(error, BindError::InUse { .. }), "{text}");
            assert!(text.contains(&bound.to_string()) && text.contains("--listen"), "{text}");
            let foreign = bind("192.0.2.1:1".parse().unwrap()).await.unwrap_err();
            assert!(foreign.to_string().contains("192.0.2.1:1"), "{foreign}");
        });
    }

    #[test]
    fn the_limit_of_open_files_is_raised_to_what_is_allowed() {
        use rustix::process::{Resource, getrlimit};
        raise_open_files();
        let limits = getrlimit(Resource::Nofile);
        let reachable = limits.maximum.map_or(OPEN_FILES, |maximum| maximum.min(OPEN_FILES));
        assert!(limits.current.is_none_or(|current| current >= reachable));
    }
}
