//! Changes of the session beside its runs: `update_session`, and usage learned after a terminal.

use std::sync::Arc;

use runwarden_protocol::ids::{AskId, Revision, RunId};
use runwarden_protocol::instant::Instant;
use runwarden_protocol::run::admission::StartRefusal;
use runwarden_protocol::run::changes::{self, ChangeKind};
use runwarden_protocol::run::lineage::{ChangeAnswer, Input};
use runwarden_protocol::session::project::int;
use runwarden_protocol::wire::Refusal;
use runwarden_protocol::wire::codes::Code;
use runwarden_protocol::wire::frames::{Frame, SessionUpdated};
use runwarden_protocol::wire::refusal::BlockingRun;

use super::Wanted;
use super::driver::{Driver, Event, Next, RunState};
use crate::connection::ReplyTo;
use crate::dispatch::PortAnswer;
use crate::ports::change::{Change, Choice, FieldsChange, SessionChange};
use crate::ports::store::{Commit, KeyEffect, KeyRecord, KeyUse};
use crate::ports::{AgentFactory, Store, World};

/// A change that waits for its commit.
pub(super) struct PendingChange {
    /// Who asked; nobody for what a run used.
    reply: Option<ReplyTo>,
    key: Option<KeyUse>,
    what: Change,
}

impl<W: World, S: Store> Driver<W, S> {
    pub(super) fn update(
        &mut self,
        reply: ReplyTo,
        wanted: Wanted,
        key: Option<KeyUse>,
        remembered: Option<KeyRecord>,
    ) {
        if let Some(known) = remembered {
            self.repeat_update(reply, key, known);
            return;
        }
        let Ok(fields) = self.fields_of(wanted) else {
            reply.refuse(|refusal| refusal, Code::BackendUnavailable);
            return;
        };
        if fields == FieldsChange::default() {
            // Nothing changes, so there is nothing to commit and no effect that a key could name.
            self.reply_updated(reply, self.machine.revision());
            return;
        }
        let kind = match fields.choice {
            Some(_) => ChangeKind::Agent,
            None => ChangeKind::Description,
        };
        let ask = self.await_change(reply, key, Change::Fields(fields));
        self.feed(Input::Change(changes::Change { ask, kind }));
    }

    /// Keeps a change until its commit is answered.
    pub(super) fn await_change(
        &mut self,
        reply: ReplyTo,
        key: Option<KeyUse>,
        what: Change,
    ) -> AskId {
        let ask = self.hub.ask_id();
        self.changes.insert(ask, PendingChange { reply: Some(reply), key, what });
        ask
    }

    /// A run that is over: what its agent told after the settlement was issued becomes a commit of its own.
    pub(super) fn keep_late_usage(&mut self, run_id: RunId, run: &RunState) {
        let is_known = run.settled_usage.is_none_or(|stored| stored == run.usage);
        if is_known || self.machine.is_deleted() {
            return;
        }
        let ask = self.hub.ask_id();
        let what = Change::Usage { run_id, usage: run.usage };
        self.changes.insert(ask, PendingChange { reply: None, key: None, what });
        self.next(Next::Change(changes::Change { ask, kind: ChangeKind::Usage }));
    }

    pub(super) fn commit_change(&mut self, ask: AskId, expected: Revision, at: Instant) {
        let Some(pending) = self.changes.get(&ask) else { return };
        let change = SessionChange {
            session_id: self.session_id,
            expected,
            at,
            key: pending.key.clone(),
            what: pending.what.clone(),
        };
        let (store, session_id) = (self.hub.store().clone(), self.session_id);
        self.call(async move {
            match store.commit(Commit::Change(change)).await {
                Ok(done) => {
                    Event::Committed(done.head, PortAnswer::Changed(ask, Some(done.revision)))
                }
                Err(failure) => {
                    tracing::error!(session = %session_id, %failure, "a change was not written");
                    Event::Answered(PortAnswer::Changed(ask, None))
                }
            }
        });
    }

    pub(super) fn change_answered(&mut self, ask: AskId, answer: ChangeAnswer) {
        let Some(PendingChange { reply, what, .. }) = self.changes.remove(&ask) else { return };
        if let (ChangeAnswer::Committed { revision }, Change::Fields(fields)) = (answer, what) {
            // Whatever starts next starts with these, before the head is read again.
            self.apply(fields, revision);
        }
        let Some(reply) = reply else {
            if !matches!(answer, ChangeAnswer::Committed { .. }) {
                tracing::warn!(session = %self.session_id, ?answer, "usage of a run is lost");
            }
            return;
        };
        match answer {
            ChangeAnswer::Committed { revision } => self.reply_updated(reply, revision),
            ChangeAnswer::Refused(refusal) => refuse_start(reply, refusal),
            ChangeAnswer::Failed => reply.fail(Code::StorageFailed, "a change was not written"),
        }
    }

    /// Agent and model in force now, the default of the agent where none is named (AGT-05).
    pub(super) fn choice_in_force(&self) -> Choice {
        let default = || {
            let factory = self.hub.agent(&self.head.agent)?;
            factory.profile().default_model
        };
        let model = self.head.model.clone().or_else(default);
        Choice { agent: self.head.agent.clone(), model }
    }

    fn fields_of(&self, wanted: Wanted) -> Result<FieldsChange, UnknownChoice> {
        let Wanted { title, archived, agent, model } = wanted;
        let choice = if agent.is_none() && model.is_none() {
            None
        } else {
            let name = agent.as_deref().unwrap_or(&self.head.agent);
            let factory = self.hub.agent(name).ok_or(UnknownChoice)?;
            let kept = self.head.model.clone().filter(|_| name == self.head.agent);
            Some(choose(factory, model.or(kept))?)
        };
        Ok(FieldsChange { title, archived, choice })
    }

    fn apply(&mut self, fields: FieldsChange, revision: Revision) {
        let FieldsChange { title, archived, choice } = fields;
        if let Some(title) = title {
            self.head.title = title;
        }
        if let Some(archived) = archived {
            self.head.archived = archived;
        }
        if let Some(Choice { agent, model }) = choice {
            (self.head.agent, self.head.model) = (agent, model);
        }
        self.head.revision = revision;
    }

    /// As REQ-10, REQ-15 says: equal fields get the first reply again, others are refused.
    pub(super) fn repeat_update(&self, reply: ReplyTo, key: Option<KeyUse>, known: KeyRecord) {
        if key.is_none_or(|key| key.fingerprint != known.fingerprint) {
            return reply.refuse(|refusal| refusal, Code::IdempotencyConflict);
        }
        match known.effect {
            KeyEffect::Change => self.reply_updated(reply, known.revision),
            KeyEffect::Turn { .. }
            | KeyEffect::Queued { .. }
            | KeyEffect::Removed { .. }
            | KeyEffect::Resumed { .. }
            | KeyEffect::Deleted { .. }
            | KeyEffect::Session { .. } => {
                reply.fail(Code::HandlerError, "a session's key names another effect");
            }
        }
    }

    pub(super) fn reply_updated(&self, reply: ReplyTo, revision: Revision) {
        let updated = SessionUpdated {
            request_id: reply.request_id(),
            session_id: self.session_id.to_string(),
            session_revision: int(revision.get()),
        };
        reply.done(Frame::SessionUpdated(updated));
    }
}

/// The agent does not offer the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct UnknownChoice;

/// An agent with one of its models, or with its default.
///
/// # Errors
/// [`UnknownChoice`] when the agent does not offer the model.
pub(crate) fn choose(
    factory: &Arc<dyn AgentFactory>,
    model: Option<String>,
) -> Result<Choice, UnknownChoice> {
    let profile = factory.profile();
    let is_offered = |model: &String| {
        profile.models.contains(model) || profile.default_model.as_ref() == Some(model)
    };
    if !model.as_ref().is_none_or(is_offered) {
        return Err(UnknownChoice);
    }
    Ok(Choice { agent: factory.name().to_owned(), model })
}

/// Refuses with the run in the way, where one is known (ACT-23).
pub(super) fn refuse_start(reply: ReplyTo, refusal: StartRefusal) {
    let refine = |refused| {
        let blocked_by = refusal.run_id.map(|run_id| BlockingRun {
            run_id: Some(run_id.to_string()),
            phase: refusal.phase,
            attachable: refusal.attachable,
        });
        let retry_after_ms = refusal.retry_after_ms.map(i64::from);
        Refusal { blocked_by, retry_after_ms, ..refused }
    };
    reply.refuse(refine, refusal.code);
}
