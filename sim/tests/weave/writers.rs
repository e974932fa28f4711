//! Several processes that share one store.

use std::sync::{Arc, Mutex};

use runwarden_protocol::ids::{ItemId, RunId, SessionId};
use runwarden_protocol::instant::{Duration, Instant};
use runwarden_protocol::journal::lease::{JOURNAL_LEASE, JOURNAL_LEASE_RENEW};
use runwarden_protocol::journal::row::{ItemKind, RowEvent};
use runwarden_runtime::ports::store::{Append, NewRow};
use runwarden_runtime::ports::{Store, World};
use runwarden_sim::weave::{Act, ModelStore, Random, Script, SimWorld};

use crate::support::{each_seed, run, run_id, session, session_id, stored};

/// What a writer knows of one append that was answered.
#[derive(Clone, Copy)]
struct Answered {
    epoch: u64,
    asked_at: Instant,
    renewed_at: Instant,
    is_stored: bool,
}

struct Writer {
    store: ModelStore,
    world: SimWorld,
    random: Random,
    session: SessionId,
    run: RunId,
    log: Arc<Mutex<Vec<Answered>>>,
}

impl Writer {
    /// Waits for the lease, writes under it, and now and then stands still for so long that it is lost.
    async fn work(mut self) {
        loop {
            if !self.store.take_lease().await {
                self.world.sleep(Duration::from_secs(1)).await;
                continue;
            }
            let mut renewed_at = self.world.now();
            loop {
                let stalls = self.random.chance(50);
                let pause = if stalls { 25_000 } else { 0 } + self.random.below(4_000);
                self.world.sleep(Duration::from_millis(pause as u64)).await;
                if !stalls && self.world.now().age_of(renewed_at) >= JOURNAL_LEASE_RENEW {
                    if !self.store.renew_lease().await {
                        break;
                    }
                    renewed_at = self.world.now();
                }
                if !self.append(renewed_at).await {
                    break;
                }
            }
        }
    }

    async fn append(&self, renewed_at: Instant) -> bool {
        let (epoch, asked_at) = (self.store.epoch().number(), self.world.now());
        let event = RowEvent::Content { item_id: ItemId::new(1), item_kind: ItemKind::Text };
        let body = epoch.to_string().into();
        let rows = vec![NewRow { event, created_at: asked_at, body }];
        let append = Append { run_id: self.run, session_id: self.session, rows };
        let is_stored = self.store.append(append).await.is_ok();
        let answered = Answered { epoch, asked_at, renewed_at, is_stored };
        self.log.lock().expect("no writer panics").push(answered);
        is_stored
    }
}

/// JRN-14 [sim]: of several processes that share a store one writes at a time, whatever stands still for how long: an append
/// under a lease that was lost, or taken over by a later epoch, fails.
#[test]
fn a_shared_journal_has_one_writer() {
    let stale = Arc::<Mutex<usize>>::default();
    let counted = stale.clone();
    each_seed(100, move |mut bed| {
        let stale = counted.clone();
        async move {
            let (mut client, session) = session(&mut bed).await;
            bed.agents.will([Script::of(&[Act::Hang])]);
            let run = run(&mut client, &session, "one").await;
            bed.kill();
            bed.disk.share();
            let log = Arc::<Mutex<Vec<Answered>>>::default();
            for _ in 0..3 {
                let (host, world) = bed.process();
                let writer = Writer {
                    store: ModelStore::join(&bed.disk, world.clone()),
                    world,
                    random: bed.executor.stream(),
                    session: session_id(&session),
                    run: run_id(&run),
                    log: log.clone(),
                };
                bed.executor.spawn(host, "writer", writer.work());
            }
            bed.sleep(Duration::from_secs(600)).await;
            let data = bed.disk.data();
            let epochs: Vec<u64> = stored(&data, &run)
                .journal
                .iter()
                .map(|row| row.body.parse().expect("an epoch"))
                .collect();
            assert!(epochs.is_sorted(), "an older writer wrote after a later one: {epochs:?}");
            assert!(epochs.last() > epochs.first(), "the lease went from hand to hand: {epochs:?}");
            for answered in log.lock().expect("no writer panics").iter() {
                let age = answered.asked_at.age_of(answered.renewed_at);
                assert!(!answered.is_stored || age < JOURNAL_LEASE, "{age:?} after its renewal");
                let newest = epochs.iter().max().copied().unwrap_or_default();
                if !answered.is_stored && answered.epoch < newest {
                    *stale.lock().expect("no scenario panics") += 1;
                }
            }
        }
    });
    assert!(*stale.lock().expect("it is over") > 50, "appends under lost leases were tried");
}

/// JRN-14 [sim]: a process that starts on a store of its own takes it over; the one before it, if it lives still, writes
/// nothing any more.
#[test]
fn an_exclusive_store_is_written_by_the_process_that_started_last() {
    each_seed(50, async |mut bed| {
        let (mut client, session) = session(&mut bed).await;
        let pause = Act::Work(Duration::from_millis(50));
        bed.agents.will([Script::of(&[Act::Say("a"), pause, Act::Say("b"), pause, Act::Hang])]);
        let run = run(&mut client, &session, "one").await;
        let millis = bed.executor.stream().below(100) as u64;
        bed.sleep(Duration::from_millis(millis)).await;
        // The server before is not dead, it only believes so.
        let (_, world) = bed.process();
        let _other = ModelStore::open(&bed.disk, world);
        let before = bed.disk.data();
        let _ = client.stop(&session, &run).await;
        bed.sleep(Duration::from_secs(60)).await;
        assert_eq!(bed.disk.data(), before, "an older epoch changes nothing");
    });
}
