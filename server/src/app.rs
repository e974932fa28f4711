//! The whole server: ports put together, served until it is asked to stop, drained and closed.

use std::process::ExitCode;
use std::sync::Arc;

use async_channel::Sender;
use futures_lite::future::or;
use runwarden_protocol::ids::{PrincipalId, SessionId};
use runwarden_protocol::instant::Duration;
use runwarden_protocol::run::lineage::RunLimits;
use runwarden_protocol::run::slots::SlotLimits;
use runwarden_protocol::run::store_kind::StoreKind;
use runwarden_protocol::wire::structures::ServerStatus;
use runwarden_runtime::DrainTimes;
use runwarden_runtime::connection;
use runwarden_runtime::hub::{Hub, HubConfig, Principal};
use runwarden_runtime::ports::agent::{AgentFactory, BoxFuture};
use runwarden_runtime::ports::{Store, StoreFailure, World};
use runwarden_runtime::records::{RecordSink, Recorded};
use smol::Executor;

use crate::agents::{self, AgentConfigError, Agents};
use crate::assets::Assets;
use crate::auth::Role;
use crate::config::{Limits, Settings};
use crate::http::{self, Accepted, SocketService};
use crate::pruning::keep_pruning;
use crate::recording::{self, RecordFiles};
use crate::shutdown::on_signals;
use crate::startup::{self, Door, StartError};
use crate::state_dir::StateDir;
use crate::store::{self, OpenError, SqliteStore};
use crate::world::SmolWorld;

/// How long the parts of a stop may take (RST-12, shutdown_drain).
const DRAIN: DrainTimes = DrainTimes {
    runs: Duration::from_secs(5),
    settling: Duration::from_secs(10),
    connections: Duration::from_secs(4),
};

/// Threads that run tasks beside the main one.
const HELPER_THREADS_MAX: usize = 7;

/// Why the server did not start, or how it ended badly.
#[derive(Debug, thiserror::Error)]
pub enum AppError {
    /// Settings, state directory, log, token or address.
    #[error(transparent)]
    Start(#[from] StartError),
    /// The stores.
    #[error(transparent)]
    Store(#[from] OpenError),
    /// The agents.
    #[error(transparent)]
    Agents(#[from] AgentConfigError),
    /// Runs of the last process.
    #[error(
        "the store cannot say which runs are unsettled: {0}; look at the disk, then start again"
    )]
    Recovery(String),
    /// The recording.
    #[error("cannot write recordings into {path}: {error}; make room or start without --record")]
    Recording {
        /// The folder.
        path: String,
        /// What the system says.
        error: std::io::Error,
    },
    /// Signals.
    #[error("cannot listen for signals: {0}")]
    Signals(std::io::Error),
}

/// Runs the server with these settings until it is asked to stop. 0 after a drain.
pub fn run(settings: &Settings) -> ExitCode {
    run_with(settings, Vec::new())
}

/// [`run`] with agents that no configuration names, behind those it names.
pub fn run_with(settings: &Settings, more: Vec<Arc<dyn AgentFactory>>) -> ExitCode {
    match try_run(settings, more) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => startup::report(&error),
    }
}

fn try_run(settings: &Settings, more: Vec<Arc<dyn AgentFactory>>) -> Result<(), AppError> {
    let state = startup::open_state(settings)?;
    let store = store::open(&state)?;
    let executor = Arc::new(Executor::new());
    let world = SmolWorld::new(executor.clone(), store.greatest_time());
    let agents = configured_agents(settings, &world)?;
    let agents = more.into_iter().fold(agents, Agents::with);
    let (stop_helpers, helpers_stopped) = async_channel::bounded::<()>(1);
    let helpers = start_helpers(&executor, &helpers_stopped);
    let serving = serve(settings, &state, store.clone(), &executor, world, &agents);
    let result = smol::block_on(executor.run(serving));
    stop_helpers.close();
    for helper in helpers {
        // A helper only ends when it is told to.
        let _ = helper.join();
    }
    // Nothing runs tasks any more, so that none can be started after this.
    agents.end_processes();
    drop(executor);
    if let Err(failure) = store.close() {
        tracing::error!(%failure, "the store was not closed cleanly");
    }
    result
}

fn configured_agents(settings: &Settings, world: &SmolWorld) -> Result<Agents, AppError> {
    let agents = agents::build(&settings.agents, world)?;
    Ok(match &settings.default_agent {
        Some(name) => agents.with_default(name)?,
        None => agents,
    })
}

fn start_helpers(
    executor: &Arc<Executor<'static>>,
    stopped: &async_channel::Receiver<()>,
) -> Vec<std::thread::JoinHandle<()>> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let helpers = cores.saturating_sub(1).min(HELPER_THREADS_MAX);
    let spawn = |number: usize| {
        let (executor, stopped) = (executor.clone(), stopped.clone());
        let run = move || {
            // The channel is closed when the server ends.
            let _ = smol::block_on(executor.run(stopped.recv()));
        };
        std::thread::Builder::new().name(format!("tasks-{number}")).spawn(run)
    };
    (0..helpers).filter_map(|number| spawn(number).ok()).collect()
}

async fn serve(
    settings: &Settings,
    state: &StateDir,
    store: SqliteStore,
    executor: &Arc<Executor<'static>>,
    world: SmolWorld,
    agents: &Agents,
) -> Result<(), AppError> {
    let (shutdown, watch) = on_signals().map_err(AppError::Signals)?;
    executor.spawn(watch).detach();
    let door = startup::open_door(settings, state).await?;
    let assets = Assets::load();
    let records = recording(settings, state)?;
    let config = HubConfig {
        runs: run_limits(&settings.limits),
        slots: slot_limits(&settings.limits),
        agents_kept_max: settings.limits.agents_kept_max,
        disk_low_bytes: settings.limits.disk_low_bytes,
        server_build: assets.build().to_owned(),
        agents: default_first(agents),
        record_bytes_max: settings.limits.record_bytes_max,
        records,
    };
    let hub = Hub::new(world.clone(), store.clone(), config);
    // Before a queue that waits is tried.
    hub.measure_storage().await;
    executor.spawn(hub.clone().watch_storage()).detach();
    let recovered = hub.recover().await.map_err(|error| AppError::Recovery(error.to_string()))?;
    tracing::info!(recovered, bound = %door.bound, "serving");
    state.note_address(door.bound).map_err(StartError::State)?;
    let listener = door.listener.clone();
    let retention = Duration::from_millis(settings.limits.journal_retention_ms);
    executor.spawn(keep_pruning(store, world, retention)).detach();
    let site = site(door, settings, assets, &hub);
    let (accepting, stop_accepting) = async_channel::bounded::<()>(1);
    let accept = http::serve(listener, site, executor.clone());
    executor
        .spawn(or(accept, async move {
            let _ = stop_accepting.recv().await;
        }))
        .detach();
    shutdown.requested().await;
    drain(&hub, accepting).await;
    Ok(())
}

fn site(
    door: Door,
    settings: &Settings,
    assets: Assets,
    hub: &Hub<SmolWorld, SqliteStore>,
) -> Arc<http::Site> {
    let clock = {
        let world = hub.world().clone();
        Arc::new(move || world.now())
    };
    let service = Arc::new(Service { hub: hub.clone() });
    door.announce();
    door.site(settings, assets, Arc::new(hub.store().clone()), clock, service)
}

/// Runs get their time and are then ended and announced, connections send what they hold (RST-12).
async fn drain(hub: &Hub<SmolWorld, SqliteStore>, accepting: Sender<()>) {
    if !hub.drain(DRAIN).await {
        tracing::error!("runs could not be settled in time; the next start settles them");
    }
    drop(accepting);
    tracing::info!("drained");
}

fn recording(
    settings: &Settings,
    state: &StateDir,
) -> Result<Option<Arc<dyn RecordSink>>, AppError> {
    if !settings.record {
        return Ok(None);
    }
    let path = state.logs().join(recording::FOLDER);
    let files = RecordFiles::create(&path)
        .map_err(|error| AppError::Recording { path: path.display().to_string(), error })?;
    Ok(Some(Arc::new(files)))
}

fn default_first(agents: &Agents) -> Vec<Arc<dyn AgentFactory>> {
    let default = agents.default_agent().clone();
    let name = default.name().to_owned();
    let others = agents.iter().filter(|agent| agent.name() != name).cloned();
    std::iter::once(default.clone()).chain(others).collect()
}

fn run_limits(limits: &Limits) -> RunLimits {
    RunLimits {
        agent_silence_max: Duration::from_millis(limits.agent_silence_ms_max),
        run_max: limits.run_ms_max.map(Duration::from_millis),
        unwind: Duration::from_millis(limits.unwind_ms),
        ask_timeout: Duration::from_millis(limits.ask_timeout_ms),
        store: StoreKind::Exclusive,
    }
}

const fn slot_limits(limits: &Limits) -> SlotLimits {
    SlotLimits {
        server_runs_max: limits.runs_max,
        principal_runs_max: limits.runs_per_principal_max,
    }
}

struct Service {
    hub: Hub<SmolWorld, SqliteStore>,
}

impl SocketService for Service {
    fn serve(&self, accepted: Accepted) -> BoxFuture<'static, ()> {
        let hub = self.hub.clone();
        let Accepted { principal, lease, socket } = accepted;
        let principal = Principal { id: principal.id, read_only: principal.role == Role::Viewer };
        Box::pin(async move {
            connection::serve(hub, principal, socket, async move { lease.revoked().await }).await;
        })
    }

    fn ready(&self) -> BoxFuture<'static, bool> {
        let hub = self.hub.clone();
        Box::pin(async move { !hub.is_stopping() && hub.store().probe().await.is_ok() })
    }

    fn status(&self, asker: PrincipalId, sees_all: bool) -> BoxFuture<'static, ServerStatus> {
        let hub = self.hub.clone();
        Box::pin(async move { hub.status(asker, sees_all).await })
    }

    fn flight(
        &self,
        session_id: SessionId,
        principal: Option<PrincipalId>,
    ) -> BoxFuture<'static, Result<Recorded, StoreFailure>> {
        let hub = self.hub.clone();
        Box::pin(async move { hub.flight(session_id, principal).await })
    }
}
