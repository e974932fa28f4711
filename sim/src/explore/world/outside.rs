//! What happens behind the session's machine: slow recovery, another process, requests that change the record.

use runwarden_protocol::ids::{AskId, MessageId, Revision, RunId, Seq};
use runwarden_protocol::instant::{Duration, Instant};
use runwarden_protocol::run::changes::{Change, ChangeKind};
use runwarden_protocol::run::guards::Guards;
use runwarden_protocol::run::lineage::{ChangeAnswer, Input};
use runwarden_protocol::run::recovery::Found;

use super::check::ensure;
use super::choices::Choice;
use super::conditions::Fault;
use super::runs::Due;
use super::store::{Call, CallKind, SESSION};
use super::take::{Cause, id};
use super::{Broken, World};

/// Another process leaves a pending turn of less than this age alone (RST-03).
const GRACE: Duration = Duration::from_secs(30);

/// Who waits for the one change of the record.
const CHANGE_ASK: AskId = AskId::new(20_000);

/// Parties that see the store and not the machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Outside {
    /// The run that recovery judged dead and has not come back to.
    pub(super) judged: Option<u8>,
    /// The process stalls, and its lease is lost.
    is_lease_lost: bool,
    /// When the pending turn was accepted, where another process asks.
    pending_since: Option<Instant>,
    change: Asked,
}

/// A change of the record that a client asks for, once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
enum Asked {
    #[default]
    Never,
    /// With the revision that the request had loaded.
    Waiting {
        loaded: Revision,
        kind: ChangeKind,
    },
    Over,
}

impl Outside {
    /// Whether somebody still acts by himself.
    pub(super) fn is_busy(&self) -> bool {
        self.judged.is_some() || self.is_lease_lost
    }

    pub(super) fn is_stalled(&self) -> bool {
        self.is_lease_lost
    }
}

impl<G: Guards> World<G> {
    pub(super) fn outside_choices(&self, choices: &mut Vec<Choice>) {
        if self.outside.judged.is_some() {
            choices.push(Choice::Recover);
        }
        if self.may_be_taken_over() {
            choices.push(Choice::TakeOver);
        }
        if self.conditions.changes && self.outside.change == Asked::Never {
            choices.push(Choice::ChangeTitle);
            choices.push(Choice::ChangeAgent);
        }
        for (run, model) in self.numbered().filter(|(_, model)| model.is_ghost) {
            if !model.has_saved_late {
                choices.push(Choice::SaveLate(run));
            }
            if !model.has_appended_late {
                choices.push(Choice::AppendLate(run));
            }
        }
    }

    pub(super) fn may_lose_lease(&self) -> bool {
        let is_due = |run: u8| {
            let model = &self.runs[usize::from(run) - 1];
            model.is_invoked() && model.stopped_at.is_none()
        };
        self.conditions.shared
            && self.store.pending.is_some_and(is_due)
            && self.store.calls.is_empty()
    }

    /// The process stalls until its lease is lost (JRN-14).
    pub(super) fn lose_lease(&mut self) {
        self.budget.drops -= 1;
        self.outside.is_lease_lost = true;
    }

    /// The next time at which another process could judge the pending turn otherwise.
    pub(super) fn next_judgement(&self) -> Option<Instant> {
        let since = self.outside.pending_since.filter(|_| self.store.pending.is_some())?;
        let over = since.plus(GRACE);
        let last = Instant::from_micros(over.as_micros() - 1_000);
        [last, over].into_iter().find(|at| *at > self.now)
    }

    /// A turn was accepted.
    pub(super) fn note_pending(&mut self) {
        if self.conditions.shared {
            self.outside.pending_since = Some(self.now);
        }
    }

    /// Another process settles the pending turn and goes on with the session; the workers of this one are
    /// left behind.
    pub(super) fn take_over(&mut self) -> Result<(), Broken> {
        let Some(run) = self.store.pending else { return Ok(()) };
        let is_launching = self.runs[usize::from(run) - 1].due == Due::Launch;
        let rule = if is_launching { "RST-03" } else { "RST-01" };
        ensure(self.outside.is_lease_lost, rule, || {
            format!("another process takes run {run} for dead, which is alive")
        })?;
        for model in &mut self.runs {
            model.is_ghost |= model.is_invoked();
        }
        self.outside.is_lease_lost = false;
        self.restart()
    }

    /// Recovery comes back to the run it judged dead, and compares (REC-09).
    pub(super) fn recover_late(&mut self) -> Result<(), Broken> {
        let Some(judged) = self.outside.judged.take() else { return Ok(()) };
        let is_compared = self.conditions.fault != Some(Fault::ClearedUncompared);
        let found = self.store.pending;
        ensure(is_compared || found.is_none_or(|found| found == judged), "REC-09", || {
            format!("recovery judged run {judged} dead and clears the turn of run {found:?}")
        })?;
        self.recover_if_pending(judged)
    }

    /// Nothing is served before a lost run is settled (RST-01).
    pub(super) fn recover_first(&mut self) -> Result<(), Broken> {
        self.outside.judged.map_or(Ok(()), |judged| self.recover_if_pending(judged))
    }

    pub(super) fn recover(&mut self, run: u8) -> Result<(), Broken> {
        let stored = self.store.run(run);
        self.feed(
            Cause::Nobody,
            Input::Recover(Found {
                run_id: RunId::new(u64::from(run)),
                turn_id: MessageId::new(u64::from(stored.entry.unwrap_or(run))),
                pending_started_at: Some(self.now),
                last_seq: Seq::new(u64::from(stored.rows)),
                settled: None,
                terminal: None,
                superseded_by: None,
                steers: self.unsettled_steers(run),
            }),
        )
    }

    pub(super) fn change(&mut self, kind: ChangeKind) -> Result<(), Broken> {
        self.outside.change = Asked::Waiting { loaded: self.store.revision, kind };
        self.feed(Cause::Nobody, Input::Change(Change { ask: CHANGE_ASK, kind }))
    }

    pub(super) fn change_called(&mut self, expected: Revision) -> Result<(), Broken> {
        let Asked::Waiting { loaded, kind } = self.outside.change else {
            let detail = "a change is committed that nobody asked for".to_owned();
            return Err(Broken { rule: "SES-2", detail });
        };
        let may_change = kind != ChangeKind::Agent || self.lineage.may_start(self.now).is_ok();
        ensure(may_change, "LIFE-03", || {
            "the agent is changed while no turn may start".to_owned()
        })?;
        let is_read_again = self.conditions.fault != Some(Fault::OldCopySaved);
        let loaded = if is_read_again { expected } else { loaded };
        self.store.calls.push(Call { run: SESSION, kind: CallKind::Change { expected, loaded } });
        Ok(())
    }

    pub(super) fn change_answered(&mut self, answer: ChangeAnswer) {
        match answer {
            ChangeAnswer::Committed { .. } | ChangeAnswer::Refused(_) | ChangeAnswer::Failed => {
                self.outside.change = Asked::Over;
            }
        }
    }

    pub(super) fn change_ask() -> AskId {
        CHANGE_ASK
    }

    pub(super) fn is_change_awaited(&self) -> bool {
        matches!(self.outside.change, Asked::Waiting { .. })
    }

    pub(super) fn crash_outside(&mut self) {
        self.outside.judged = None;
        self.outside.is_lease_lost = false;
        if self.is_change_awaited() {
            self.outside.change = Asked::Over;
        }
    }

    pub(super) fn append_late(&mut self, run: u8) {
        self.run(run).has_appended_late = true;
        self.store.calls.push(Call { run, kind: CallKind::AppendLate });
    }

    fn recover_if_pending(&mut self, judged: u8) -> Result<(), Broken> {
        let is_pending = self.store.pending == Some(judged);
        if is_pending && !self.lineage.holds(id(judged)) { self.recover(judged) } else { Ok(()) }
    }

    /// Another process sees neither lease nor a young turn (RST-03, JRN-14).
    fn may_be_taken_over(&self) -> bool {
        let Some(run) = self.store.pending.filter(|_| self.store.calls.is_empty()) else {
            return false;
        };
        let Some(since) = self.outside.pending_since else { return false };
        let fault = self.conditions.fault;
        let is_young = self.now.age_of(since) < GRACE && fault != Some(Fault::GraceIgnored);
        let is_launched = self.runs[usize::from(run) - 1].due != Due::Launch;
        let is_leased = is_launched
            && !self.outside.is_lease_lost
            && self.lineage.holds(id(run))
            && fault != Some(Fault::LeaseIgnored);
        let is_recovered = self.lineage.row().is_none();
        !is_young && !is_leased && !is_recovered
    }
}
