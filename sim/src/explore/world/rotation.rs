//! The rotation of the session to a continuation, by the agent of a run, once.

use runwarden_protocol::ids::{Revision, SessionId, TurnId};
use runwarden_protocol::run::guards::Guards;
use runwarden_protocol::run::lineage::Input;
use runwarden_protocol::wire::codes::Code;

use super::check::ensure;
use super::choices::Choice;
use super::runs::Due;
use super::store::{Call, CallKind, SESSION};
use super::take::{Cause, id};
use super::{Broken, World};

/// The continuation.
const CONTINUATION: SessionId = SessionId::new(2);

/// Where the one rotation stands, as its agent sees it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) enum Rotation {
    #[default]
    Never,
    Waiting(u8),
    /// Made, refused, or lost with the server.
    Over,
}

impl<G: Guards> World<G> {
    pub(super) fn rotation_choices(&self, choices: &mut Vec<Choice>) {
        if !self.conditions.rotates || self.rotation != Rotation::Never {
            return;
        }
        for (run, model) in self.numbered() {
            if matches!(model.due, Due::Call { .. }) {
                choices.push(Choice::Rotate(run));
            }
        }
    }

    pub(super) fn rotate(&mut self, run: u8) -> Result<(), Broken> {
        self.rotation = Rotation::Waiting(run);
        let asked = Input::RotationAsked { run_id: id(run), continuation: CONTINUATION };
        self.feed(Cause::Nobody, asked)
    }

    pub(super) fn rotation_called(&mut self, run: u8, expected: Revision) -> Result<(), Broken> {
        let model = &self.runs[usize::from(run) - 1];
        ensure(model.stopped_at.is_none() && model.is_invoked(), "STOP-05", || {
            format!("run {run} is rotated, and its agent may issue nothing any more")
        })?;
        let is_append = |call: &Call| matches!(call.kind, CallKind::Append { .. });
        let other = self.store.calls.iter().find(|call| !is_append(call));
        ensure(other.is_none(), "SES-2", || format!("a rotation is committed beside {other:?}"))?;
        self.store.calls.push(Call { run: SESSION, kind: CallKind::Rotate { expected } });
        Ok(())
    }

    /// Everything that names the session has moved in this step (OWN-06, STR-19).
    pub(super) fn rotated(&mut self, run: u8) -> Result<(), Broken> {
        self.rotation = Rotation::Over;
        ensure(self.store.is_rotated && self.store.pending == Some(run), "OWN-06", || {
            format!("run {run} is told of a continuation that is not stored")
        })?;
        ensure(self.lineage.owner() == Some(id(run)), "OWN-06", || {
            format!(
                "run {run} goes on in the continuation, whose owner is {:?}",
                self.lineage.owner()
            )
        })?;
        self.queue_moved();
        let stored = self.store.queue.iter().map(|entry| TurnId::new(u64::from(*entry)));
        let queue = self.lineage.queue();
        ensure(stored.eq(queue.entries().iter().copied()), "STR-19", || {
            format!("{:?} waited for the parent, {queue:?} for the continuation", self.store.queue)
        })?;
        let is_held = queue.held() == Some(Code::SessionRotated);
        ensure(is_held || self.store.queue.is_empty(), "STR-19", || {
            format!("what waited for the parent starts in the continuation: {queue:?}")
        })
    }

    pub(super) fn rotation_refused(&mut self, run: u8) {
        if self.rotation == Rotation::Waiting(run) {
            self.rotation = Rotation::Over;
        }
    }

    pub(super) fn is_rotation_awaited(&self) -> bool {
        matches!(self.rotation, Rotation::Waiting(_))
    }

    pub(super) fn crash_rotation(&mut self) {
        if self.is_rotation_awaited() {
            self.rotation = Rotation::Over;
        }
    }
}
