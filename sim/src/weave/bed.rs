//! A server of a simulation and what it stands on.

use std::future::Future;
use std::sync::{Arc, Mutex};

use async_tungstenite::WebSocketStream;
use async_tungstenite::tungstenite::protocol::Role;
use runwarden_protocol::flight::RECORD_BYTES_DEFAULT;
use runwarden_protocol::ids::PrincipalId;
use runwarden_protocol::instant::{Duration, Instant};
use runwarden_protocol::record::{Digest, Record, Recorder};
use runwarden_protocol::run::cache::AGENT_CACHE_CAP;
use runwarden_protocol::run::lineage::RunLimits;
use runwarden_protocol::run::slots::SlotLimits;
use runwarden_runtime::connection::{self, Metered};
use runwarden_runtime::hub::{Hub, HubConfig, Principal};
use runwarden_runtime::records::{RecordSink, Step};

use super::agents::Agents;
use super::client::Client;
use super::duplex::{End, duplex};
use super::executor::{Executor, Host, Stuck, lock};
use super::store::{Disk, ModelStore};
use super::world::{SimWorld, Sleep};

/// Who every client of a simulation is.
pub const OWNER: PrincipalId = PrincipalId::new(1);

/// How long a simulation may last by its own clock.
const LASTS_MAX: Duration = Duration::from_secs(4 * 3_600);

/// A server with its store, its agents and its clients, all on one executor.
pub struct Bed {
    /// Runs everything.
    pub executor: Executor,
    /// What is stored.
    pub disk: Disk,
    /// What agents do.
    pub agents: Agents,
    /// Limits of the next server that starts.
    pub limits: RunLimits,
    /// Runs at once, of the next server that starts.
    pub slots: SlotLimits,
    /// Sessions that keep an agent, of the next server that starts.
    pub agents_kept_max: u32,
    /// Bytes of steps that the flight recorder keeps of a session, of the next server that starts.
    pub record_bytes_max: usize,
    host: Host,
    hub: Option<Hub<SimWorld, ModelStore>>,
    records: Option<Arc<Records>>,
}

/// How a simulation went.
#[derive(Debug)]
pub struct Went<T> {
    /// What the scenario returned.
    pub value: T,
    /// The Records of all session machines, in order.
    pub records: Vec<Record>,
    /// Their digest.
    pub digest: Digest,
}

#[derive(Default)]
struct Records {
    kept: Mutex<(Recorder, Vec<Record>)>,
}

impl RecordSink for Records {
    fn record(&self, step: Step) {
        let Step { now, machine, input, outputs, reject } = step;
        let mut kept = lock(&self.kept);
        let record = kept.0.record(now, &machine, &input, &outputs, reject.as_ref());
        kept.1.push(record.expect("inputs and outputs have a JSON form"));
    }
}

impl Bed {
    /// Runs one scenario under a seed, from an empty store and without a server.
    ///
    /// # Errors
    /// [`Stuck`] when the scenario waits for something that never comes.
    pub fn run<T, F>(seed: u64, scenario: impl FnOnce(Self) -> F) -> Result<T, Stuck>
    where
        T: Send + 'static,
        F: Future<Output = T> + Send + 'static,
    {
        Self::go(seed, None, scenario)
    }

    /// The same, and keeps the Records of all session machines, which takes longer.
    ///
    /// # Errors
    /// As [`Bed::run`].
    pub fn record<T, F>(seed: u64, scenario: impl FnOnce(Self) -> F) -> Result<Went<T>, Stuck>
    where
        T: Send + 'static,
        F: Future<Output = T> + Send + 'static,
    {
        let records = Arc::<Records>::default();
        let value = Self::go(seed, Some(Arc::clone(&records)), scenario)?;
        let (recorder, records) = std::mem::take(&mut *lock(&records.kept));
        Ok(Went { value, records, digest: recorder.digest() })
    }

    /// Starts a server on the disk as it is, recovery included; the one before must be dead.
    pub async fn start(&mut self) {
        assert!(self.hub.is_none(), "one server at a time");
        self.host = Host(self.host.0 + 1);
        let world = SimWorld::new(self.executor.clone(), self.host);
        let store = ModelStore::open(&self.disk, world.clone());
        let config = HubConfig {
            runs: self.limits,
            slots: self.slots,
            agents_kept_max: self.agents_kept_max,
            server_build: "simulated".to_owned(),
            agents: vec![self.agents.factory(world.clone())],
            record_bytes_max: self.record_bytes_max,
            records: self.records.clone().map(|records| records as Arc<dyn RecordSink>),
        };
        let hub = Hub::new(world, store, config);
        hub.recover().await.expect("the model store can be read");
        self.hub = Some(hub);
    }

    /// A new connection to the server that has said `hello`.
    pub async fn connect(&self) -> Client {
        Client::hello(self.attach(OWNER).await, self.executor.clone()).await
    }

    /// A new connection of another principal.
    pub async fn connect_as(&self, principal: PrincipalId) -> Client {
        Client::hello(self.attach(principal).await, self.executor.clone()).await
    }

    /// A new connection that has said nothing.
    pub async fn connect_silently(&self) -> Client {
        Client::new(self.attach(OWNER).await, self.executor.clone())
    }

    async fn attach(&self, id: PrincipalId) -> WebSocketStream<End> {
        let hub = self.hub().clone();
        let (near, far) = duplex(self.executor.stream());
        self.executor.spawn(self.host, async move {
            let socket =
                WebSocketStream::from_raw_socket(Metered::new(far), Role::Server, None).await;
            let principal = Principal { id, read_only: false };
            connection::serve(hub, principal, socket, std::future::pending()).await;
        });
        WebSocketStream::from_raw_socket(near, Role::Client, None).await
    }

    /// The server's core.
    pub fn hub(&self) -> &Hub<SimWorld, ModelStore> {
        self.hub.as_ref().expect("a server runs")
    }

    /// Whether a server runs.
    pub fn is_running(&self) -> bool {
        self.hub.is_some()
    }

    /// Kills the server where it stands: every task of it ends, what was written stays.
    pub fn kill(&mut self) {
        self.executor.kill(self.host);
        self.hub = None;
    }

    /// Kills the server by a loss of power: what was not stable is gone too.
    pub fn lose_power(&mut self) {
        self.kill();
        self.disk.lose_power();
    }

    /// The time.
    pub fn now(&self) -> Instant {
        self.executor.now()
    }

    /// Resolves after this time.
    pub fn sleep(&self, time: Duration) -> Sleep {
        Sleep::until(self.executor.clone(), self.now().plus(time))
    }

    fn go<T, F>(
        seed: u64,
        records: Option<Arc<Records>>,
        scenario: impl FnOnce(Self) -> F,
    ) -> Result<T, Stuck>
    where
        T: Send + 'static,
        F: Future<Output = T> + Send + 'static,
    {
        let executor = Executor::new(seed);
        let bed = Self {
            executor: executor.clone(),
            disk: Disk::new(executor.stream()),
            agents: Agents::default(),
            limits: RunLimits::default(),
            slots: SlotLimits::default(),
            agents_kept_max: AGENT_CACHE_CAP,
            record_bytes_max: RECORD_BYTES_DEFAULT,
            host: Host(0),
            hub: None,
            records,
        };
        let horizon = executor.now().plus(LASTS_MAX);
        executor.run(scenario(bed), horizon)
    }
}
