//! Runs that are found without a row: at process start, when a session is loaded, and when a start meets one.

use runwarden_protocol::ids::{Revision, RunId};
use runwarden_protocol::journal::row::Outcome;
use runwarden_protocol::run::lineage::Input;
use runwarden_protocol::run::recovery::Found;
use runwarden_protocol::wire::actions::WhenBusy;

use super::deleting::refuse;
use super::driver::{Driver, Event, RunState, StartDetails};
use super::steers::AcceptedSteer;
use crate::connection::ReplyTo;
use crate::ports::store::{KeyRecord, UnsettledRun};
use crate::ports::{Store, StoreFailure, World};

/// A start that waits until it is known what lives of its session.
pub(super) struct HeldStart {
    pub(super) reply: ReplyTo,
    pub(super) start: StartDetails,
    pub(super) attachment_unknown: bool,
    pub(super) when_busy: WhenBusy,
    pub(super) remembered: Option<KeyRecord>,
}

/// What a look into the store found of a session.
pub(super) struct Look {
    unsettled: Vec<UnsettledRun>,
    /// Orphans of this process that are settled.
    settled: Vec<(RunId, Outcome)>,
    revision: Revision,
}

impl<W: World, S: Store> Driver<W, S> {
    /// A session that is loaded with a turn pending has lost its run: it is settled before anything is answered
    /// (RST-01).
    pub(super) async fn sweep_at_load(&mut self) {
        if self.head.pending.is_none() {
            return;
        }
        match self.hub.store().unsettled_of(self.session_id).await {
            Ok(unsettled) => {
                self.swept = unsettled.iter().map(|run| run.run_id).collect();
                unsettled.into_iter().for_each(|run| self.recover(run));
                self.is_sweeping = !self.machine.is_recovery_answered();
            }
            Err(failure) => {
                // Process start settles it, or a start that meets the pending turn.
                tracing::error!(session = %self.session_id, %failure, "unsettled runs were not read");
            }
        }
    }

    /// Process start finds runs before it loads their sessions, which may have settled them meanwhile.
    pub(super) fn recover_unless_swept(&mut self, run: UnsettledRun) {
        if !self.swept.contains(&run.run_id) {
            self.recover(run);
        }
    }

    /// Asks the store what lives before a start is decided (RST-01, REC-06).
    pub(super) fn look_before(&mut self, held: HeldStart) {
        let is_looking = !self.held.is_empty();
        self.held.push(held);
        if is_looking {
            return;
        }
        let (store, session_id) = (self.hub.store().clone(), self.session_id);
        let orphans: Vec<RunId> = self.machine.orphans().collect();
        self.call(async move {
            let look = async {
                let unsettled = store.unsettled_of(session_id).await?;
                let mut settled = Vec::new();
                for run_id in orphans {
                    let run = store.run(run_id).await?;
                    settled
                        .extend(run.and_then(|run| run.outcome).map(|outcome| (run_id, outcome)));
                }
                let head =
                    store.session(session_id).await?.ok_or(StoreFailure::Missing("session"))?;
                Ok(Look { unsettled, settled, revision: head.revision })
            };
            Event::Looked(look.await)
        });
    }

    /// What was found is swept or settled; then the starts that waited are decided.
    pub(super) fn looked(&mut self, look: Result<Look, StoreFailure>) {
        match look {
            Ok(Look { unsettled, settled, revision }) => {
                for (run_id, outcome) in settled {
                    self.feed(Input::SettledElsewhere { run_id, outcome, revision });
                }
                unsettled.into_iter().for_each(|run| self.recover(run));
                self.has_looked = true;
            }
            Err(failure) => {
                tracing::error!(session = %self.session_id, %failure, "it was not read what lives");
                self.decide_held(true);
            }
        }
    }

    /// The session was deleted meanwhile.
    pub(super) fn refuse_held(&mut self) {
        self.held.drain(..).for_each(|held| refuse(held.reply));
    }

    /// Decides the starts that waited for a look.
    pub(super) fn decide_held(&mut self, liveness_unreadable: bool) {
        self.has_looked = false;
        if self.machine.is_deleted() {
            return self.refuse_held();
        }
        for held in std::mem::take(&mut self.held) {
            self.start(held, liveness_unreadable);
        }
    }

    pub(super) fn recover(&mut self, run: UnsettledRun) {
        let UnsettledRun { head, run_id, turn_id, last_seq, settled, terminal, steers } = run;
        let active = head.pending.as_ref().map(|pending| pending.run_id);
        let pending = head.pending.filter(|pending| pending.run_id == run_id);
        let pending_started_at = pending.as_ref().map(|pending| pending.pending_started_at);
        let (agent, model) = match pending {
            Some(pending) => (pending.agent, pending.model),
            None => (head.agent, head.model),
        };
        let mut state = RunState::new(agent, model);
        let ids = steers.iter().map(|(steer_id, _)| *steer_id).collect();
        state.steers = steers.into_iter().map(AcceptedSteer::found).collect();
        self.runs.insert(run_id, state);
        let found = Found {
            run_id,
            turn_id,
            pending_started_at,
            last_seq,
            settled,
            terminal,
            superseded_by: active.filter(|active| *active != run_id),
            steers: ids,
        };
        if !self.try_feed(Input::Recover(found)) {
            self.runs.remove(&run_id);
        }
    }
}
