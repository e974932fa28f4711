//! `hello` and its `welcome` (2.3).

use runwarden_protocol::delivery::connection::Features;
use runwarden_protocol::wire::frames::{Frame, Welcome};
use runwarden_protocol::wire::limits::{SCHEMA_VERSION, welcome_limits};

use super::super::driver::{DELTA, FRAGMENTS};
use super::super::registry::Accepted;
use super::super::reply::ReplyTo;
use crate::hub::Hub;
use crate::ports::{Store, World};

/// Names of the configured limits beside those of family RATE.
const RUNS_MAX: &str = "runs_max";
const RUNS_PER_PRINCIPAL_MAX: &str = "runs_per_principal_max";

/// Answers `welcome`.
pub(in crate::connection) fn welcome<W: World, S: Store>(
    hub: &Hub<W, S>,
    reply: ReplyTo,
    protocol: i64,
    features: Features,
) {
    let (Accepted::Execute(reply) | Accepted::Full(reply)) = reply.accept_only() else { return };
    let slots = hub.config().slots;
    let mut limits = welcome_limits();
    limits.insert(RUNS_MAX.to_owned(), i64::from(slots.server_runs_max));
    limits.insert(RUNS_PER_PRINCIPAL_MAX.to_owned(), i64::from(slots.principal_runs_max));
    let welcome = Welcome {
        request_id: reply.request_id(),
        connection_id: reply.peer().id.to_string(),
        protocol,
        schema_version: SCHEMA_VERSION,
        features: feature_names(features),
        store_id: hub.store().store_id().to_string(),
        server_build: hub.config().server_build.clone(),
        limits,
    };
    let peer = reply.peer().clone();
    reply.done(Frame::Welcome(welcome));
    hub.tell_storage(&peer);
}

fn feature_names(features: Features) -> Vec<String> {
    let named = [(features.fragments, FRAGMENTS), (features.delta, DELTA)];
    named.into_iter().filter(|(has, _)| *has).map(|(_, name)| name.to_owned()).collect()
}
