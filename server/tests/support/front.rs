//! A server on a real socket whose sockets are served by an echo, so that the front can be tested alone.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use async_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use async_tungstenite::tungstenite::protocol::{CloseFrame, Message};
use futures_lite::{FutureExt, StreamExt};
use runwarden::assets::Assets;
use runwarden::auth::{LoginStore, Role};
use runwarden::config::{Settings, resolve};
use runwarden::http::{Accepted, SocketService};
use runwarden::shutdown::{Shutdown, Trigger};
use runwarden::startup;
use runwarden_protocol::ids::{PrincipalId, SessionId};
use runwarden_protocol::instant::Instant;
use runwarden_protocol::wire::frames::ServerState;
use runwarden_protocol::wire::structures::{LagTotal, ServerStatus};
use runwarden_runtime::ports::agent::BoxFuture;
use runwarden_runtime::ports::store::{Login, StoreFailure};
use runwarden_runtime::records::Recorded;

/// A running server. Dropping it ends it.
pub(crate) struct Front {
    pub(crate) address: SocketAddr,
    /// What standard output would say.
    pub(crate) announcement: String,
    pub(crate) logins: Arc<Logins>,
    clock_ms: Arc<AtomicU64>,
    trigger: Option<Trigger>,
    thread: Option<JoinHandle<()>>,
}

/// Logins in memory.
#[derive(Default)]
pub(crate) struct Logins(Mutex<BTreeMap<[u8; 32], Login>>);

struct Echo;

impl Front {
    /// Starts a server with these flags after `--listen` and `--state`.
    pub(crate) fn start(state: &Path, flags: &[&str]) -> Self {
        let settings = settings(state, flags);
        let state = startup::open_state(&settings).unwrap();
        let door = smol::block_on(startup::open_door(&settings, &state)).unwrap();
        let (address, announcement) = (door.bound, door.announcement());
        let clock_ms = Arc::new(AtomicU64::new(1_000_000));
        let (ticks, logins) = (clock_ms.clone(), Arc::new(Logins::default()));
        let clock = Arc::new(move || Instant::from_millis(ticks.load(Ordering::SeqCst)));
        let site = door.site(&settings, Assets::load(), logins.clone(), clock, Arc::new(Echo));
        let (trigger, shutdown) = Shutdown::manual();
        let thread = std::thread::spawn(move || {
            let executor = Arc::new(smol::Executor::new());
            let serving = runwarden::http::serve(door.listener, site, executor.clone());
            let _held = state;
            smol::block_on(executor.run(serving.or(async move { shutdown.requested().await })));
        });
        let (trigger, thread) = (Some(trigger), Some(thread));
        Self { address, announcement, logins, clock_ms, trigger, thread }
    }

    /// Lets time pass.
    pub(crate) fn pass_ms(&self, ms: u64) {
        self.clock_ms.fetch_add(ms, Ordering::SeqCst);
    }
}

impl Drop for Front {
    fn drop(&mut self) {
        drop(self.trigger.take());
        if let Some(thread) = self.thread.take() {
            thread.join().unwrap();
        }
    }
}

impl Logins {
    /// The stored logins.
    pub(crate) fn all(&self) -> Vec<Login> {
        self.0.lock().unwrap().values().cloned().collect()
    }
}

impl LoginStore for Logins {
    fn put(&self, login: Login) -> BoxFuture<'_, Result<(), StoreFailure>> {
        self.0.lock().unwrap().insert(login.token_hash, login);
        Box::pin(async { Ok(()) })
    }

    fn find(
        &self,
        token_hash: [u8; 32],
        now: Instant,
    ) -> BoxFuture<'_, Result<Option<Login>, StoreFailure>> {
        let found = self.0.lock().unwrap().get(&token_hash).cloned();
        Box::pin(async move { Ok(found.filter(|login| now < login.expires_at)) })
    }

    fn revoke(&self, token_hash: [u8; 32]) -> BoxFuture<'_, Result<(), StoreFailure>> {
        self.0.lock().unwrap().remove(&token_hash);
        Box::pin(async { Ok(()) })
    }
}

impl SocketService for Echo {
    fn serve(&self, accepted: Accepted) -> BoxFuture<'static, ()> {
        Box::pin(async move {
            let Accepted { principal, lease, mut socket } = accepted;
            let role = match principal.role {
                Role::Owner => "owner",
                Role::Viewer => "viewer",
            };
            socket.send(Message::text(role)).await.unwrap();
            let echo = async {
                while let Some(Ok(Message::Text(text))) = socket.next().await {
                    socket.send(Message::Text(text)).await.unwrap();
                }
                false
            };
            let is_revoked = echo.or(async {
                lease.revoked().await;
                true
            });
            if is_revoked.await {
                let frame = CloseFrame { code: CloseCode::Policy, reason: "unauthorized".into() };
                socket.close(Some(frame)).await.unwrap();
            }
        })
    }

    fn ready(&self) -> BoxFuture<'static, bool> {
        Box::pin(async { true })
    }

    fn status(&self, _asker: PrincipalId, _sees_all: bool) -> BoxFuture<'static, ServerStatus> {
        let (runs, connections, lag) = (Vec::new(), Vec::new(), LagTotal::default());
        let state = ServerState::Open;
        Box::pin(async move { ServerStatus { state, server_time: 0, runs, connections, lag } })
    }

    fn flight(
        &self,
        _session_id: SessionId,
        _principal: Option<PrincipalId>,
    ) -> BoxFuture<'static, Result<Recorded, StoreFailure>> {
        Box::pin(async { Ok(Recorded::Unknown) })
    }
}

fn settings(state: &Path, flags: &[&str]) -> Settings {
    let state = state.to_str().unwrap();
    let all = ["runwarden", "--listen", "127.0.0.1:0", "--state", state];
    let all = all.iter().chain(flags).map(Into::into);
    let runwarden::cli::Command::Serve(args) = runwarden::cli::parse(all).unwrap() else {
        panic!("not `serve`");
    };
    resolve(args, &|_| None).unwrap()
}
