//! A server of a simulation and what it stands on.

use std::future::Future;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use async_tungstenite::WebSocketStream;
use async_tungstenite::tungstenite::protocol::Role;
use runwarden_protocol::flight::RECORD_BYTES_DEFAULT;
use runwarden_protocol::ids::PrincipalId;
use runwarden_protocol::instant::{Duration, Instant};
use runwarden_protocol::invariants::Auditor;
use runwarden_protocol::record::{Digest, RESTARTED, Record, Recorder, SERVER};
use runwarden_protocol::run::cache::AGENT_CACHE_CAP;
use runwarden_protocol::run::guards::{Guards, Rules};
use runwarden_protocol::run::lineage::RunLimits;
use runwarden_protocol::run::slots::SlotLimits;
use runwarden_runtime::connection::{self, Metered};
use runwarden_runtime::hub::{Hub, HubConfig, Principal};
use runwarden_runtime::records::{RecordSink, Step};
use serde_json::json;

use super::agents::Agents;
use super::choices::{Actor, Choices};
use super::client::Client;
use super::duplex::{End, duplex};
use super::executor::{Executor, Host, Stuck, lock};
use super::store::{Disk, ModelStore};
use super::world::{SimWorld, Sleep};
use super::wrong::Wrong;
use crate::explore::Broken;
use crate::random::Random;

/// Who every client of a simulation is.
pub const OWNER: PrincipalId = PrincipalId::new(1);

/// How long a simulation may last by its own clock.
const LASTS_MAX: Duration = Duration::from_secs(4 * 3_600);

/// A server with its store, its agents and its clients, all on one executor.
pub struct Bed<G: Guards = Rules> {
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
    /// Free bytes below which new runs are refused, of the next server that starts; with 0 it does not look.
    pub disk_low_bytes: u64,
    host: Host,
    hub: Option<Hub<SimWorld<G>, ModelStore>>,
    clients: AtomicU32,
    wrong: Option<Wrong>,
    records: Option<Arc<Records>>,
}

/// What a bed is made from.
pub(super) struct Ground {
    /// Ids, jitter, and what a story draws itself.
    pub(super) seed: u64,
    /// Everything else.
    pub(super) choices: Choices,
    /// What the world does wrong.
    pub(super) wrong: Option<Wrong>,
    /// Takes the Records, if they are wanted.
    pub(super) records: Option<Arc<Records>>,
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

/// Keeps the Records of a simulation and judges each.
#[derive(Default)]
pub(super) struct Records {
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    recorder: Recorder,
    records: Vec<Record>,
    auditor: Auditor,
    broken: Option<Broken>,
    executor: Option<Executor>,
}

impl Records {
    /// The Records, their digest, and the first rule that one of them breaks.
    pub(super) fn take(&self) -> (Vec<Record>, Digest, Option<Broken>) {
        let kept = std::mem::take(&mut *lock(&self.kept));
        (kept.records, kept.recorder.digest(), kept.broken)
    }

    /// The simulation ends behind the first Record that breaks a rule.
    fn halts(&self, executor: &Executor) {
        lock(&self.kept).executor = Some(executor.clone());
    }
}

impl Kept {
    fn judge(&mut self, record: &Record) {
        let violations = self.auditor.check(record).expect("the machines write whole records");
        let Some(violation) = violations.into_iter().next().filter(|_| self.broken.is_none())
        else {
            return;
        };
        self.broken = Some(Broken { rule: violation.invariant, detail: violation.detail });
        if let Some(executor) = &self.executor {
            executor.halt();
        }
    }
}

impl RecordSink for Records {
    fn record(&self, step: Step) {
        let Step { now, machine, input, outputs, reject } = step;
        let mut kept = lock(&self.kept);
        let record = kept.recorder.record(now, &machine, &input, &outputs, reject.as_ref());
        let record = record.expect("inputs and outputs have a JSON form");
        kept.judge(&record);
        kept.records.push(record);
    }
}

impl Bed<Rules> {
    /// Runs one scenario under a seed, from an empty store and without a server.
    ///
    /// # Errors
    /// [`Stuck`] when the scenario waits for something that never comes.
    pub fn run<T, F>(seed: u64, scenario: impl FnOnce(Self) -> F) -> Result<T, Stuck>
    where
        T: Send + 'static,
        F: Future<Output = T> + Send + 'static,
    {
        Self::on(Ground::drawn(seed, None), scenario)
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
        let value = Self::on(Ground::drawn(seed, Some(Arc::clone(&records))), scenario)?;
        let (records, digest, broken) = records.take();
        assert!(broken.is_none(), "{broken:?}");
        Ok(Went { value, records, digest })
    }
}

impl<G: Guards> Bed<G> {
    /// Starts a server on the disk as it is, recovery included; the one before must be dead.
    pub async fn start(&mut self) {
        assert!(self.hub.is_none(), "one server at a time");
        self.host = Host(self.host.0 + 1);
        let world = SimWorld::new(self.executor.clone(), self.host);
        let ports = SimWorld::<Rules>::new(self.executor.clone(), self.host);
        let store = ModelStore::open(&self.disk, ports.clone());
        let config = HubConfig {
            runs: self.limits,
            slots: self.slots,
            agents_kept_max: self.agents_kept_max,
            disk_low_bytes: self.disk_low_bytes,
            server_build: "simulated".to_owned(),
            agents: vec![self.agents.factory(ports)],
            record_bytes_max: self.record_bytes_max,
            records: self.records.clone().map(|records| records as Arc<dyn RecordSink>),
        };
        let hub = Hub::new(world, store, config);
        hub.measure_storage().await;
        hub.recover().await.expect("the model store can be read");
        if self.disk_low_bytes > 0 {
            self.executor.spawn(self.host, "storage", hub.clone().watch_storage());
        }
        self.hub = Some(hub);
    }

    /// A new connection to the server that has said `hello`.
    pub async fn connect(&self) -> Client {
        Client::hello(self.attach(OWNER, false).await, self.executor.clone()).await
    }

    /// A new connection of another principal.
    pub async fn connect_as(&self, principal: PrincipalId) -> Client {
        Client::hello(self.attach(principal, false).await, self.executor.clone()).await
    }

    /// A new connection of a principal that may only read.
    pub async fn connect_to_read(&self, principal: PrincipalId) -> Client {
        Client::hello(self.attach(principal, true).await, self.executor.clone()).await
    }

    /// A new connection that has said nothing.
    pub async fn connect_silently(&self) -> Client {
        Client::new(self.attach(OWNER, false).await, self.executor.clone())
    }

    async fn attach(&self, id: PrincipalId, read_only: bool) -> WebSocketStream<End> {
        let hub = self.hub().clone();
        let number = self.clients.fetch_add(1, Ordering::Relaxed) + 1;
        let client = Actor::numbered("client", number);
        let (near, far) = duplex(self.executor.choices(), client);
        self.executor.spawn(self.host, "connection", async move {
            let socket =
                WebSocketStream::from_raw_socket(Metered::new(far), Role::Server, None).await;
            let principal = Principal { id, read_only };
            connection::serve(hub, principal, socket, std::future::pending()).await;
        });
        WebSocketStream::from_raw_socket(near, Role::Client, None).await
    }

    /// The server's core.
    pub fn hub(&self) -> &Hub<SimWorld<G>, ModelStore> {
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
        if let Some(records) = &self.records {
            let (machine, input) = (SERVER.to_owned(), json!({ "kind": RESTARTED }));
            records.record(Step {
                now: self.now(),
                machine,
                input,
                outputs: Vec::new(),
                reject: None,
            });
        }
    }

    /// Ends the server as an operator does: its runs are ended, and the store is closed.
    pub async fn shut_down(&mut self) {
        let hub = self.hub().clone();
        hub.stop_accepting();
        hub.end_runs().await;
        drop(hub);
        self.kill();
        self.disk.close();
    }

    /// The world of a further process, which shares the disk.
    pub fn process(&mut self) -> (Host, SimWorld) {
        self.host = Host(self.host.0 + 1);
        (self.host, SimWorld::new(self.executor.clone(), self.host))
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

    /// Waits up to `millis_max` milliseconds: it is decided how long.
    pub async fn wait(&self, who: Actor, until: &'static str, millis_max: u32) {
        let millis = self.choices().number(who, "wait", until, millis_max + 1);
        self.sleep(Duration::from_millis(millis.into())).await;
    }

    /// What decides.
    pub fn choices(&self) -> &Choices {
        self.executor.choices()
    }

    /// What the world of a faulty variant does wrong.
    pub const fn wrong(&self) -> Option<Wrong> {
        self.wrong
    }

    /// Runs `scenario` on a bed.
    pub(super) fn on<T, F>(ground: Ground, scenario: impl FnOnce(Self) -> F) -> Result<T, Stuck>
    where
        T: Send + 'static,
        F: Future<Output = T> + Send + 'static,
    {
        let Ground { seed, choices, wrong, records } = ground;
        let executor = Executor::new(seed, choices);
        if let Some(records) = &records {
            records.halts(&executor);
        }
        let bed = Self {
            executor: executor.clone(),
            disk: Disk::new(executor.stream(), executor.choices().clone(), wrong),
            agents: Agents::default(),
            limits: RunLimits::default(),
            slots: SlotLimits::default(),
            agents_kept_max: AGENT_CACHE_CAP,
            record_bytes_max: RECORD_BYTES_DEFAULT,
            disk_low_bytes: 0,
            host: Host(0),
            hub: None,
            clients: AtomicU32::new(0),
            wrong,
            records,
        };
        let horizon = executor.now().plus(LASTS_MAX);
        executor.run(scenario(bed), horizon)
    }
}

impl Ground {
    /// Everything is drawn from the seed.
    pub(super) fn drawn(seed: u64, records: Option<Arc<Records>>) -> Self {
        let mut seeds = Random::new(seed);
        let choices = Choices::drawn(seeds.next());
        Self { seed: seeds.next(), choices, wrong: None, records }
    }
}
