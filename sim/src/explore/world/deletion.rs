//! The deletion of the session by a client.

use runwarden_protocol::ids::{AskId, Revision};
use runwarden_protocol::run::Phase;
use runwarden_protocol::run::deletion::DeletedRun;
use runwarden_protocol::run::guards::Guards;
use runwarden_protocol::run::lineage::{DeletionAnswer, Input};

use super::check::ensure;
use super::choices::Choice;
use super::runs::{Due, RunModel};
use super::store::{Call, CallKind, SESSION};
use super::take::Cause;
use super::{Broken, World};

/// Who waits for the one deletion.
const DELETE_ASK: AskId = AskId::new(40_000);

/// What its client knows of the deletion.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) enum Deletion {
    #[default]
    Never,
    Waiting,
    /// Answered, or lost with the server.
    Over,
}

impl<G: Guards> World<G> {
    pub(super) fn may_delete(&self) -> bool {
        self.conditions.deletes && self.deletion == Deletion::Never
    }

    /// What may happen to a session that is deleted: its worker unwinds, and nobody finds it.
    pub(super) fn deleted_choices(&self, choices: &mut Vec<Choice>) {
        if !self.lineage.is_deleted() {
            return;
        }
        self.progress(choices);
        if self.budget.clients > 0 {
            choices.push(Choice::Start);
        }
        for (run, model) in self.numbered() {
            if model.due != Due::Nothing && !model.has_appended_late {
                choices.push(Choice::AppendLate(run));
            }
        }
        if self.may_time_pass() && self.next_time().is_some() {
            choices.push(Choice::Fire);
        }
    }

    pub(super) fn delete(&mut self) -> Result<(), Broken> {
        self.deletion = Deletion::Waiting;
        self.feed(Cause::Nobody, Input::Delete { ask: DELETE_ASK })
    }

    pub(super) fn delete_called(
        &mut self,
        run: Option<DeletedRun>,
        expected: Revision,
    ) -> Result<(), Broken> {
        let run = run.map(|run| {
            let number = u8::try_from(run.run_id.number()).expect("runs are few");
            (number, run.verdict)
        });
        let pending = self.store.pending;
        ensure(pending == run.map(|(run, _)| run), "LIFE-01", || {
            format!("the session is deleted with {run:?}, and the turn of run {pending:?} is open")
        })?;
        let row = self.lineage.row();
        ensure(row.is_none_or(|row| row.phase == Phase::Cancelling), "LIFE-01", || {
            format!("the session of {row:?} is deleted, which was not stopped")
        })?;
        let is_appending = run.is_some_and(|(run, _)| self.store.is_appending(run));
        ensure(!is_appending, "STOP-22", || {
            format!("{run:?} ends with the session while an append is unanswered")
        })?;
        let is_append = |call: &Call| matches!(call.kind, CallKind::Append { .. });
        let other = self.store.calls.iter().find(|call| !is_append(call));
        ensure(other.is_none(), "SES-2", || {
            format!("the session is deleted beside {other:?}, which is unanswered")
        })?;
        self.store.calls.push(Call { run: SESSION, kind: CallKind::Delete { expected, run } });
        Ok(())
    }

    /// The run is shown to be over before its session is (LIFE-01).
    pub(super) fn deletion_answered(&mut self, answer: DeletionAnswer) -> Result<(), Broken> {
        self.deletion = Deletion::Over;
        let is_said = matches!(answer, DeletionAnswer::Deleted { .. });
        ensure(is_said == self.store.is_deleted, "LIFE-01", || {
            format!("a deletion is answered {answer:?}, and is stored: {}", self.store.is_deleted)
        })?;
        let is_open = |(run, model): &(u8, &RunModel)| {
            let stored = self.store.run(*run);
            let is_shown = model.ended.is_some() || model.is_forgotten;
            stored.is_admitted && !stored.is_undone && !is_shown
        };
        let open = self.numbered().find(is_open).map(|(run, _)| run);
        ensure(!is_said || open.is_none(), "LIFE-01", || {
            format!("the session is gone before the end of run {open:?} is shown")
        })
    }

    pub(super) fn is_deletion_awaited(&self) -> bool {
        self.deletion == Deletion::Waiting
    }

    pub(super) fn crash_deletion(&mut self) {
        if self.deletion == Deletion::Waiting {
            self.deletion = Deletion::Over;
        }
    }
}
