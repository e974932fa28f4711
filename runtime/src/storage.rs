//! The space that is free for the store, looked at again and again (LIM-05, KEEP-6).

use runwarden_protocol::instant::Duration;
use runwarden_protocol::machine::{Machine, Outbox};
use runwarden_protocol::run::storage::{Input, Output};
use runwarden_protocol::wire::frames::ServerState;

use crate::connection::{Peer, push_status};
use crate::hub::Hub;
use crate::ports::{Store, World};

/// How often the free space is measured.
const MEASURED_EVERY: Duration = Duration::from_secs(2);

impl<W: World, S: Store> Hub<W, S> {
    /// Whether new runs are refused for want of space (LIM-05).
    pub fn is_storage_low(&self) -> bool {
        self.storage().is_low()
    }

    /// Measures the free space once. Space that cannot be measured changes nothing.
    pub async fn measure_storage(&self) {
        match self.store().free_bytes().await {
            Ok(free_bytes) => self.storage_measured(free_bytes),
            Err(failure) => tracing::warn!(%failure, "the free space was not measured"),
        }
    }

    /// Measures it every 2 s, for as long as the server runs.
    pub async fn watch_storage(self) {
        loop {
            self.world().sleep_until(self.now().plus(MEASURED_EVERY)).await;
            self.measure_storage().await;
        }
    }

    /// Tells a connection that came late that the space is low.
    pub(crate) fn tell_storage(&self, peer: &Peer) {
        // Under its lock, so that no later change is told before this one.
        let storage = self.storage();
        if storage.is_low() {
            push_status(self, peer, ServerState::StorageLow);
        }
    }

    fn storage_measured(&self, free_bytes: u64) {
        let mut storage = self.storage();
        let mut out = Outbox::new();
        storage
            .step(self.now(), Input::Measured { free_bytes }, &mut out)
            .expect("a measurement is never turned away");
        for output in out.drain() {
            let state = match output {
                Output::BecameLow => {
                    tracing::error!(free_bytes, "the disk is nearly full: new runs are refused");
                    ServerState::StorageLow
                }
                Output::Recovered => {
                    tracing::info!(free_bytes, "there is room again: new runs start");
                    ServerState::Open
                }
            };
            for peer in self.peers() {
                push_status(self, &peer, state);
            }
        }
    }
}
