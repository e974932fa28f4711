//! What the answer to an action needs of the core, without its type parameters.

use std::sync::{Arc, Mutex};

use runwarden_protocol::errors::Stamp;
use runwarden_protocol::ids::{PayloadId, PrincipalId};
use runwarden_protocol::instant::Instant;
use runwarden_protocol::wire::structures::ErrorData;

use super::registry::Registry;
use crate::hub::Hub;
use crate::ports::agent::BoxFuture;
use crate::ports::{Store, StoreFailure, World};

/// The core, as far as replies need it.
pub(super) trait Backend: Send + Sync {
    /// Time now.
    fn now(&self) -> Instant;

    /// A fresh id for a body.
    fn payload_id(&self) -> PayloadId;

    /// Fresh ids and the time of one failure.
    fn stamp(&self) -> Stamp;

    /// The request registry of a principal.
    fn registry(&self, principal: PrincipalId) -> Arc<Mutex<Registry>>;

    /// Records an error (ERR-5).
    fn record_error<'a>(
        &'a self,
        principal: PrincipalId,
        error: &'a ErrorData,
    ) -> BoxFuture<'a, Result<(), StoreFailure>>;

    /// Runs `task` until it ends.
    fn spawn(&self, task: BoxFuture<'static, ()>);
}

impl<W: World, S: Store> Backend for Hub<W, S> {
    fn now(&self) -> Instant {
        Hub::now(self)
    }

    fn payload_id(&self) -> PayloadId {
        Hub::payload_id(self)
    }

    fn stamp(&self) -> Stamp {
        Hub::stamp(self)
    }

    fn registry(&self, principal: PrincipalId) -> Arc<Mutex<Registry>> {
        Hub::registry(self, principal)
    }

    fn record_error<'a>(
        &'a self,
        principal: PrincipalId,
        error: &'a ErrorData,
    ) -> BoxFuture<'a, Result<(), StoreFailure>> {
        Box::pin(Hub::record_error(self, principal, error))
    }

    fn spawn(&self, task: BoxFuture<'static, ()>) {
        self.world().spawn(task);
    }
}
