//! The live content of a run that has ended, read from its journal (`get_stream`).

use runwarden_protocol::ids::{RunId, Seq, SessionId};
use runwarden_protocol::journal::row::RowEvent;
use runwarden_protocol::session::project::int;
use runwarden_protocol::session::scene::Scene;
use runwarden_protocol::wire::codes::Code;
use runwarden_protocol::wire::frames::StreamState;
use runwarden_protocol::wire::structures::{
    EntityStatus, ReplayState, RunOutcome, Steer, SteerState,
};

use super::driver::{Driver, Event};
use super::open::items_of;
use super::steers::state_of;
use crate::connection::ReplyTo;
use crate::ports::store::JournalFate;
use crate::ports::{Store, StoreFailure, World};
use crate::status::replay_of;

/// A `get_stream` that waits for the store.
pub(super) struct Asked {
    reply: ReplyTo,
    run_id: RunId,
    generation: Option<i64>,
    known_seq: Option<i64>,
}

impl Asked {
    pub(super) fn into_reply(self) -> ReplyTo {
        self.reply
    }
}

/// A settled run as its journal shows it.
pub(super) struct Settled {
    outcome: RunOutcome,
    last_seq: Seq,
    scene: Scene,
    steers: Vec<Steer>,
    /// Why its journal cannot be trusted.
    quarantine: Option<String>,
}

impl<W: World, S: Store> Driver<W, S> {
    pub(super) fn read_settled(
        &mut self,
        reply: ReplyTo,
        run_id: RunId,
        generation: Option<i64>,
        known_seq: Option<i64>,
    ) {
        let asked = Asked { reply, run_id, generation, known_seq };
        let (store, session_id) = (self.hub.store().clone(), self.session_id);
        self.call(async move { Event::SettledRead(asked, read(&store, session_id, run_id).await) });
    }

    /// A client that knows the last row is sent none again (ATT-07), any other one all items (SES-41).
    pub(super) fn settled_read(
        &mut self,
        asked: Asked,
        read: Result<Option<Settled>, StoreFailure>,
    ) {
        let Asked { reply, run_id, generation, known_seq } = asked;
        let settled = match read {
            Ok(Some(settled)) => settled,
            Ok(None) => {
                reply.refuse(|refusal| refusal, Code::CursorUnavailable);
                return;
            }
            Err(failure) => {
                reply.fail(Code::StorageFailed, &failure.to_string());
                return;
            }
        };
        if let Some(reason) = &settled.quarantine {
            self.quarantine.note(run_id, reason.clone());
        }
        let last_seq = int(settled.last_seq.get());
        let is_cut = settled.scene.items_dropped() > 0;
        let replay = replay_of(is_cut, settled.quarantine.as_deref());
        let is_complete = replay.state == ReplayState::Complete;
        let known = known_seq.filter(|known| is_complete && *known == last_seq);
        let state = StreamState {
            request_id: reply.request_id(),
            generation,
            session_id: self.session_id.to_string(),
            entity_id: run_id.to_string(),
            status: entity_status(settled.outcome),
            phase: None,
            replay,
            stream_seq: last_seq,
            session_revision: int(self.machine.revision().get()),
            from_seq: known,
            items: known.is_none().then(|| items_of(&settled.scene, run_id)),
            deltas: known.map(|_| Vec::new()),
            steers: settled.steers,
        };
        self.reply_stream(reply, run_id, state);
    }
}

/// The run and its content; `None` when this session has no settled run of that id, or its journal was pruned. A journal that cannot
/// be trusted shows what came before the fault, and says so (ATT-11).
async fn read<S: Store>(
    store: &S,
    session_id: SessionId,
    run_id: RunId,
) -> Result<Option<Settled>, StoreFailure> {
    let facts = store.run(run_id).await?.filter(|facts| facts.session_id == session_id);
    let Some(facts) = facts else { return Ok(None) };
    let Some(outcome) = facts.outcome else { return Ok(None) };
    if facts.journal == JournalFate::Pruned {
        return Ok(None);
    }
    let mut scene = Scene::new();
    let mut steers = Vec::new();
    let mut quarantine = None;
    loop {
        match store.journal(run_id, scene.last_seq()).await {
            Ok(page) => {
                for row in &page.rows {
                    scene.apply(row.seq, row.event, &row.body);
                    note_steer(&mut steers, row.event);
                }
                if !page.more {
                    break;
                }
            }
            Err(StoreFailure::Quarantined { reason, .. }) => {
                tracing::warn!(run = %run_id, reason, "the journal is quarantined");
                quarantine = Some(reason);
                break;
            }
            // It was pruned between two reads.
            Err(StoreFailure::Missing(_)) => return Ok(None),
            Err(failure) => return Err(failure),
        }
    }
    Ok(Some(Settled { outcome, last_seq: facts.last_seq, scene, steers, quarantine }))
}

/// The steers of a run as its rows tell them.
fn note_steer(steers: &mut Vec<Steer>, event: RowEvent) {
    match event {
        RowEvent::SteerAccepted { steer_id } => {
            let outcome = SteerState::Accepted;
            steers.push(Steer { steer_id: steer_id.to_string(), outcome });
        }
        RowEvent::SteerSettled { steer_id, fate } => {
            let steer_id = steer_id.to_string();
            if let Some(steer) = steers.iter_mut().find(|steer| steer.steer_id == steer_id) {
                steer.outcome = state_of(fate);
            }
        }
        RowEvent::Content { .. }
        | RowEvent::QuestionAsked { .. }
        | RowEvent::QuestionResolved { .. }
        | RowEvent::Terminal { .. } => {}
    }
}

const fn entity_status(outcome: RunOutcome) -> EntityStatus {
    match outcome {
        RunOutcome::Completed => EntityStatus::Completed,
        RunOutcome::Cancelled => EntityStatus::Cancelled,
        RunOutcome::Failed => EntityStatus::Failed,
        RunOutcome::Interrupted => EntityStatus::Interrupted,
        RunOutcome::Superseded => EntityStatus::Superseded,
    }
}
