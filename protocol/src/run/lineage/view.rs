use std::collections::VecDeque;
use std::marker::PhantomData;

use super::state::{Lineage, RunEntry, RunLimits, Stage};
use crate::ids::{AgentId, QuestionId, Revision, RunId, Seq, SessionId};
use crate::instant::Instant;
use crate::journal::row::Reason;
use crate::machine::{Machine, Reject, TimerKind};
use crate::run::Phase;
use crate::run::changes::Changes;
use crate::run::deletion::Deletion;
use crate::run::guards::{Gate, Guards};
use crate::run::ownership::Ownership;
use crate::run::pending::Pending;
use crate::run::predicates::{Blocked, RowView, may_attach, may_start, may_stop};
use crate::run::queue::Queue;
use crate::run::record::SessionRecord;
use crate::run::recovery::is_fresh;
use crate::run::rotation::Rotation;
use crate::run::settlement;
use crate::wire::structures::SessionStatus;

impl<G: Guards> Lineage<G> {
    /// A session found or made at `revision`, with no run.
    pub fn new(session_id: SessionId, revision: Revision, limits: RunLimits) -> Self {
        Self {
            session_id,
            limits,
            record: SessionRecord::at(revision),
            pending: Pending::None,
            ownership: Ownership::default(),
            cache: None,
            handle: None,
            changes: Changes::default(),
            runs: Vec::new(),
            queue: Queue::default(),
            wakeups: None,
            line: VecDeque::new(),
            trigger_due: false,
            put_off: false,
            stopping: false,
            deletion: Deletion::default(),
            rotation: Rotation::default(),
            guards: PhantomData,
        }
    }

    /// The session.
    pub fn session_id(&self) -> SessionId {
        self.session_id
    }

    /// The session's revision.
    pub fn revision(&self) -> Revision {
        self.record.revision()
    }

    /// The row of the session, if there is one, as the predicates read it.
    pub fn row(&self) -> Option<RowView> {
        self.row_entry().map(RunEntry::view)
    }

    /// May a turn start? (ADM-01)
    ///
    /// # Errors
    /// What blocks it.
    pub fn may_start(&self, now: Instant) -> Result<Option<RunId>, Blocked> {
        let fresh = self.fresh_pending(now);
        let is_unsettled = self.is_unsettled() || (fresh.is_none() && self.foreign().is_some());
        may_start::<G>(self.row(), fresh, is_unsettled, now, self.limits.unwind)
    }

    /// Whether the store is to be asked before the next start is decided: a turn or a channel is here without a row,
    /// and another process may have settled its run (RST-01, REC-06).
    pub fn must_look(&self, now: Instant) -> bool {
        self.orphans().next().is_some()
            || (self.fresh_pending(now).is_none() && self.foreign().is_some())
    }

    /// Runs without a row whose settlement could not be stored by this process.
    pub fn orphans(&self) -> impl Iterator<Item = RunId> + '_ {
        let is_orphan = |entry: &&RunEntry<G>| {
            let gave_up = matches!(entry.settlement.state(), settlement::State::GaveUp { .. });
            gave_up && entry.row.phase().is_none()
        };
        self.runs.iter().filter(is_orphan).map(|entry| entry.run_id)
    }

    /// The run of a pending turn that is left to the process that accepted it (ADM-05).
    fn fresh_pending(&self, now: Instant) -> Option<RunId> {
        let (run_id, started_at) = self.foreign()?;
        let is_fresh = is_fresh(self.limits.store, Some(started_at), now);
        G::spares_fresh(is_fresh).then_some(run_id)
    }

    /// The run of a pending turn that this process knows no more of.
    fn foreign(&self) -> Option<(RunId, Instant)> {
        if !self.limits.store.is_shared() {
            return None;
        }
        match self.pending {
            Pending::Turn { run_id, pending_started_at, .. } if !self.holds(run_id) => {
                Some((run_id, pending_started_at))
            }
            Pending::Turn { .. } | Pending::None => None,
        }
    }

    /// May a renderer attach to the run? (ADM-01)
    pub fn may_attach(&self, run_id: RunId) -> bool {
        may_attach::<G>(self.row().filter(|row| row.run_id == run_id))
    }

    /// Is there something to stop? (ADM-01)
    pub fn may_stop(&self, run_id: RunId) -> bool {
        may_stop(self.row().filter(|row| row.run_id == run_id))
    }

    /// What the session item says (delivery 2.7).
    pub fn status(&self, now: Instant) -> SessionStatus {
        if self.is_unsettled() {
            return SessionStatus::Unsettled;
        }
        let window = G::shown_window(self.limits.unwind);
        let may_start = may_start::<G>(self.row(), self.fresh_pending(now), false, now, window);
        match (self.row_entry(), may_start) {
            (None, Err(_)) => SessionStatus::Running,
            (None, Ok(_)) | (Some(_), Ok(_)) => SessionStatus::Idle,
            (Some(entry), Err(_)) if !self.may_attach(entry.run_id) => SessionStatus::Stopping,
            (Some(entry), Err(_)) if entry.questions.open().next().is_some() => {
                SessionStatus::Waiting
            }
            (Some(_), Err(_)) => SessionStatus::Running,
        }
    }

    /// Whether the machine holds anything of the run; else the store is to be asked.
    pub fn holds(&self, run_id: RunId) -> bool {
        self.index(run_id).is_ok()
    }

    /// Whether the run's journal takes more rows now; while it does not, its agent waits.
    pub fn accepts_rows(&self, run_id: RunId) -> bool {
        self.index(run_id).is_ok_and(|i| self.runs[i].journal.accepts_rows())
    }

    /// Whether the agent of a run is read now: its rows are taken, or discarded after a Stop.
    pub fn takes_events(&self, run_id: RunId) -> bool {
        self.index(run_id).map_or(true, |i| {
            let entry = &self.runs[i];
            entry.token_set || entry.journal.accepts_rows()
        })
    }

    /// Whether no settlement by recovery waits for its first answer.
    pub fn is_recovery_answered(&self) -> bool {
        self.record.is_idle()
    }

    /// The number of the last durable row of a run.
    pub fn last_seq(&self, run_id: RunId) -> Option<Seq> {
        self.index(run_id).ok().map(|i| self.runs[i].journal.last_seq())
    }

    /// Whether a row of the run is missing in its journal (JRN-06).
    pub fn is_degraded(&self, run_id: RunId) -> bool {
        self.index(run_id).is_ok_and(|i| self.runs[i].journal.is_degraded())
    }

    /// The open questions with their versions and expiry times.
    pub fn open_questions(&self) -> Vec<(RunId, QuestionId, u64, Instant)> {
        let mut open = Vec::new();
        for entry in &self.runs {
            for question in entry.questions.open() {
                open.push((
                    entry.run_id,
                    question.question_id,
                    question.version,
                    question.expires_at,
                ));
            }
        }
        open
    }

    /// Runs that have a row and no settlement, to be ended when the server stops (RST-12).
    pub fn stoppable_runs(&self) -> impl Iterator<Item = RunId> + '_ {
        self.runs
            .iter()
            .map(RunEntry::view_if_row)
            .filter(|row| may_stop(*row))
            .flatten()
            .map(|r| r.run_id)
    }

    /// The run that owns the session's writeback (OWN-01).
    pub fn owner(&self) -> Option<RunId> {
        self.ownership.owner()
    }

    /// The agent kept for later turns.
    pub fn cached_agent(&self) -> Option<AgentId> {
        self.cache
    }

    pub(super) fn index(&self, run_id: RunId) -> Result<usize, Reject> {
        self.runs
            .iter()
            .position(|entry| entry.run_id == run_id)
            .ok_or(Reject::Local("no_such_run"))
    }

    /// A worker does nothing before its launch was answered (ADM-12).
    pub(super) fn must_be_launched(&self, i: usize) -> Result<(), Reject> {
        match self.runs[i].stage {
            Stage::Launched => Ok(()),
            Stage::Admitting { .. } | Stage::Launching { .. } | Stage::Compensating { .. } => {
                Err(Reject::Local("not_launched"))
            }
        }
    }

    pub(super) fn row_entry(&self) -> Option<&RunEntry<G>> {
        self.runs.iter().find(|entry| entry.row.phase().is_some())
    }

    /// Whether recovery or a cancelled settlement could not commit, or has not yet (RST-11).
    pub(super) fn is_unsettled(&self) -> bool {
        self.runs.iter().any(RunEntry::is_unsettled)
    }

    /// Whether no row and no outstanding recovery stands in the way of a start.
    pub(super) fn is_free(&self) -> bool {
        self.row_entry().is_none() && !self.is_unsettled()
    }

    pub(super) fn gate(&self, i: usize) -> Gate {
        let entry = &self.runs[i];
        Gate {
            token_unset: !entry.token_set,
            live: entry.live,
            owner: self.ownership.seen_by(entry.run_id),
        }
    }

    pub(super) fn limit_reached(&self, i: usize, now: Instant) -> Option<Reason> {
        let entry = &self.runs[i];
        let due = |limit: Option<(Instant, TimerKind)>| limit.is_some_and(|(at, _)| now >= at);
        if due(self.run_max_deadline(entry)) {
            Some(Reason::RunMax)
        } else if due(self.silence_deadline(entry)) {
            Some(Reason::AgentSilent)
        } else {
            None
        }
    }

    pub(super) fn deadline_of(&self, entry: &RunEntry<G>) -> Option<(Instant, TimerKind)> {
        let reclaim = entry.row.phase().and(entry.reclaim.deadline());
        let retry = entry.retry_at.map(|at| (at, TimerKind::UnsettledRetry));
        [
            entry.stop.deadline(),
            entry.remote.and_then(|remote| remote.deadline()),
            entry.questions.deadline(),
            entry.journal.deadline(),
            reclaim,
            retry,
            self.run_max_deadline(entry),
            self.silence_deadline(entry),
        ]
        .into_iter()
        .flatten()
        .min()
    }

    fn run_max_deadline(&self, entry: &RunEntry<G>) -> Option<(Instant, TimerKind)> {
        let max = self.limits.run_max.filter(|_| entry.may_be_ended())?;
        Some((entry.started_at.plus(max), TimerKind::RunMax))
    }

    fn silence_deadline(&self, entry: &RunEntry<G>) -> Option<(Instant, TimerKind)> {
        let invoked = entry.worker.invoked().is_some() && entry.questions.open().next().is_none();
        (entry.may_be_ended() && invoked).then(|| {
            (entry.last_output_at.plus(self.limits.agent_silence_max), TimerKind::AgentSilence)
        })
    }
}

impl<G: Guards> RunEntry<G> {
    /// Whether the server may end the run now: it has a row and nobody claimed its outcome.
    pub(super) fn may_be_ended(&self) -> bool {
        self.row.phase().is_some()
            && self.stage == Stage::Launched
            && !self.stop.is_accepted()
            && !self.settlement.is_claimed()
    }

    pub(super) fn view(&self) -> RowView {
        RowView {
            run_id: self.run_id,
            phase: self.row.phase().unwrap_or(Phase::Finalizing),
            anchor: G::reclaim_anchor(self.row.since(), self.started_at),
            live: self.live,
            settled: self.settlement.outcome().is_some(),
        }
    }

    fn view_if_row(&self) -> Option<RowView> {
        self.row.phase().map(|_| self.view())
    }

    pub(super) fn is_unsettled(&self) -> bool {
        let gave_up = matches!(self.settlement.state(), settlement::State::GaveUp { .. });
        let rowless = self.row.phase().is_none();
        gave_up || self.retry_at.is_some() || (rowless && self.settlement.outcome().is_none())
    }
}
