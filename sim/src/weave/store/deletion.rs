//! The deletion of a session.

use runwarden_protocol::ids::{PrincipalId, SessionId};
use runwarden_protocol::instant::Instant;
use runwarden_runtime::ports::StoreFailure;
use runwarden_runtime::ports::store::{Committed, Deletion, KeyEffect, KeyScope, StoredError};

use super::commits::committed;
use super::data::Data;

impl Data {
    pub(super) fn delete(&mut self, deletion: Deletion) -> Result<Committed, StoreFailure> {
        let Deletion { session_id, owner, expected, run, key, at, .. } = deletion;
        let head = &mut self.session_at(session_id, expected)?.head;
        head.revision = head.revision.plus(1);
        let mut committed = committed(head);
        if let Some(ended) = run {
            let run = self.open_run(session_id, ended.run_id)?;
            let last = run.last_seq();
            (run.outcome, run.reason) = (Some(ended.verdict.outcome), ended.verdict.reason);
            committed.terminal_seq = Some(last.plus(u64::from(ended.steers) + 1));
        }
        for (run_id, run) in self.runs.extract_if(.., |_, run| run.session_id == session_id) {
            let outcome = run.outcome.ok_or(StoreFailure::Missing("outcome of a run"))?;
            self.tombstones.insert(run_id, (outcome, run.reason));
        }
        self.sessions.remove(&session_id);
        self.keys.retain(|(scope, _), _| *scope != KeyScope::Session(session_id));
        for (_, error) in &mut self.errors {
            if error.session_id == Some(session_id) {
                error.closed_at.get_or_insert(at);
            }
        }
        let scope = KeyScope::Principal(owner);
        let effect = KeyEffect::Deleted { session_id };
        self.remember(scope, key.as_ref(), effect, committed.revision, at)?;
        Ok(committed)
    }

    pub(super) fn closed_by_deletion(
        &self,
        principal: PrincipalId,
        session_id: SessionId,
        at: Instant,
    ) -> Vec<StoredError> {
        let is_closed = |(owner, error): &&(PrincipalId, StoredError)| {
            let is_of = *owner == principal && error.session_id == Some(session_id);
            is_of && error.closed_at == Some(at)
        };
        self.errors.iter().filter(is_closed).map(|(_, error)| error.clone()).collect()
    }
}
