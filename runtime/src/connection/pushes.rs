//! Frames the connection itself makes: heartbeats, the state of the server, and what its queue owes.

use std::sync::Arc;

use runwarden_protocol::delivery::frame::{EntityId, FrameKey};
use runwarden_protocol::delivery::sender::Owed;
use runwarden_protocol::ids::{PrincipalId, RunId, SessionId};
use runwarden_protocol::session::project::{self, int};
use runwarden_protocol::session::record::SessionHead;
use runwarden_protocol::wire::frames::{
    Frame, Heartbeat, RecoveryCause, RecoveryRequired, ReloadRequired, RunStatus, ServerState,
    SessionItemFrame, Status, SyncReason, SyncRequired,
};

use super::peer::Peer;
use crate::frames::SharedFrame;
use crate::hub::Hub;
use crate::ports::{Store, StoreFailure, World};

/// Offers a `heartbeat` (SND-30).
pub(super) fn heartbeat<W: World, S: Store>(hub: &Hub<W, S>, peer: &Peer) {
    let server_time = int(hub.now().as_millis());
    offer(hub, peer, FrameKey::Heartbeat, &Frame::Heartbeat(Heartbeat { server_time }));
}

/// Offers a `pong`.
pub(super) fn pong<W: World, S: Store>(hub: &Hub<W, S>, peer: &Peer) {
    offer(hub, peer, FrameKey::Pong, &Frame::Pong {});
}

/// Offers `status` with state stopping (ACT-10).
pub(super) fn stopping<W: World, S: Store>(hub: &Hub<W, S>, peer: &Peer) {
    status(hub, peer, ServerState::Stopping);
}

/// Offers `status` (KEEP-6).
pub(crate) fn status<W: World, S: Store>(hub: &Hub<W, S>, peer: &Peer, state: ServerState) {
    offer(hub, peer, FrameKey::Status, &Frame::Status(Status { state }));
}

/// Offers `reload_required` (2.3).
pub(super) fn reload<W: World, S: Store>(hub: &Hub<W, S>, peer: &Peer) {
    let server_build = hub.config().server_build.clone();
    let frame = Frame::ReloadRequired(ReloadRequired { server_build });
    offer(hub, peer, FrameKey::ReloadRequired, &frame);
}

/// Builds and offers what the queue owes (SND-10, SND-13).
pub(super) fn pay<W: World, S: Store>(hub: &Hub<W, S>, peer: &Arc<Peer>, owed: Owed) {
    match owed {
        Owed::SyncRequired { session, entity, reason } => sync(hub, peer, session, entity, reason),
        Owed::Newest { key } => newest(hub, peer, key),
    }
}

/// The `session_item` of a session for its owner.
pub(super) fn session_item<W: World, S: Store>(
    hub: &Hub<W, S>,
    head: &SessionHead,
    reader: PrincipalId,
    open_errors: u64,
) -> SharedFrame {
    let live = hub.live(head.session_id);
    let frame = Frame::SessionItem(Box::new(SessionItemFrame {
        session_id: head.session_id.to_string(),
        removed: false,
        item: Some(project::session_item(head, live, reader, open_errors)),
    }));
    let key = FrameKey::SessionItem { session: head.session_id };
    SharedFrame::whole(hub.payload_id(), key, &frame)
}

fn sync<W: World, S: Store>(
    hub: &Hub<W, S>,
    peer: &Peer,
    session: SessionId,
    entity: Option<EntityId>,
    reason: SyncReason,
) {
    let entity_id = entity.map(|entity| match entity {
        EntityId::Run(run) => run.to_string(),
        EntityId::Job(job) => job.to_string(),
    });
    let frame = SyncRequired { session_id: session.to_string(), entity_id, reason };
    let key = FrameKey::SyncRequired { session, entity };
    offer(hub, peer, key, &Frame::SyncRequired(frame));
}

/// The newest frame of a key. A frame of the session's own driver that got into the queue meanwhile is
/// never older, so this one has the lowest version.
fn newest<W: World, S: Store>(hub: &Hub<W, S>, peer: &Arc<Peer>, key: FrameKey) {
    match key {
        FrameKey::SessionItem { session } => {
            let (task, peer) = (hub.clone(), peer.clone());
            hub.world().spawn(async move {
                if let Err(failure) = newest_item(&task, &peer, session).await {
                    tracing::warn!(%session, %failure, "an owed list entry could not be read");
                }
            });
        }
        FrameKey::RunStatus { session, run } => run_status(hub, peer, session, run),
        FrameKey::ReloadRequired => reload(hub, peer),
        FrameKey::RecoveryRequired => {
            let lost = RecoveryRequired { request_id: None, reason: RecoveryCause::EventLoss };
            offer(hub, peer, key, &Frame::RecoveryRequired(lost));
        }
        FrameKey::Terminal { .. }
        | FrameKey::Pong
        | FrameKey::Heartbeat
        | FrameKey::Status
        | FrameKey::SyncRequired { .. }
        | FrameKey::StreamText { .. }
        | FrameKey::StreamNote { .. }
        | FrameKey::SteerSettled { .. }
        | FrameKey::SessionDelta { .. }
        | FrameKey::StreamUpdate { .. }
        | FrameKey::JobStatus { .. }
        | FrameKey::QuestionsList { .. }
        | FrameKey::JobsList { .. }
        | FrameKey::ManagedList { .. }
        | FrameKey::GraphSummary { .. } => {
            tracing::warn!(?key, "nothing pushes frames of this key, yet one is owed");
        }
    }
}

async fn newest_item<W: World, S: Store>(
    hub: &Hub<W, S>,
    peer: &Peer,
    session: SessionId,
) -> Result<(), StoreFailure> {
    let reader = peer.principal.id;
    let open_errors = hub.store().count_errors(reader, Some(session)).await?;
    loop {
        let seen = hub.deletions();
        let Some(head) = hub.store().session(session).await? else { return Ok(()) };
        // An entry behind the deletion of its session would bring it back to the list.
        if hub.deletions() == seen {
            let shared = session_item(hub, &head, reader, open_errors);
            peer.outbound.offer(hub.now(), &shared);
            return Ok(());
        }
    }
}

fn run_status<W: World, S: Store>(hub: &Hub<W, S>, peer: &Peer, session: SessionId, run: RunId) {
    let Some(live) = hub.live(session).run.filter(|live| live.run_id == run) else { return };
    let status = RunStatus {
        session_id: session.to_string(),
        run_id: run.to_string(),
        phase: live.phase,
        since: int(hub.now().as_millis()),
    };
    let key = FrameKey::RunStatus { session, run };
    offer(hub, peer, key, &Frame::RunStatus(status));
}

fn offer<W: World, S: Store>(hub: &Hub<W, S>, peer: &Peer, key: FrameKey, frame: &Frame) {
    let shared = SharedFrame::whole(hub.payload_id(), key, frame);
    peer.outbound.offer(hub.now(), &shared);
}
