//! Reductions of a transcript.

use runwarden_protocol::ids::{MessageId, SessionId};
use runwarden_protocol::journal::row::Outcome;
use runwarden_protocol::session::record::Role;
use runwarden_protocol::session::rewrite::{Reduction, Target, Turn};
use runwarden_runtime::ports::StoreFailure;

use super::data::{Data, StoredSession};

impl Data {
    pub(super) fn rewrite_target(
        &self,
        session_id: SessionId,
        named: Option<MessageId>,
    ) -> Result<Target, StoreFailure> {
        let session = self.sessions.get(&session_id).ok_or(StoreFailure::Missing("session"))?;
        let (head, rows) = (&session.head, &session.rows);
        let named = named.or(head.head_id);
        let at = rows.iter().position(|row| Some(row.message_id) == named);
        let turn = at.map(|at| {
            let (row, run_id) = (&rows[at], rows[at].run_id);
            let of_turn = || rows.iter().filter(|row| row.run_id == run_id);
            let first = rows.iter().position(|row| row.run_id == run_id).unwrap_or(at);
            let words = of_turn().find(|row| row.role == Role::User);
            Turn {
                first: first as u64,
                at: at as u64,
                role: row.role,
                words: words.and_then(|row| row.body.clone()),
                is_answered: of_turn().any(|row| row.role == Role::Assistant),
                outcome: self.runs[&run_id].outcome.unwrap_or(Outcome::Interrupted),
            }
        });
        Ok(Target { revision: head.revision, total: head.message_count, turn })
    }
}

impl StoredSession {
    /// Removes rows, and says so (SDB-03, SDB-04).
    pub(super) fn reduce(&mut self, reduction: Reduction) -> Result<(), StoreFailure> {
        let kept = usize::try_from(reduction.kept).unwrap_or(usize::MAX);
        if kept >= self.rows.len() {
            return Err(StoreFailure::Unavailable("every row would stay".to_owned()));
        }
        self.rows.truncate(kept);
        self.conversation = None;
        let head = &mut self.head;
        head.message_count = reduction.kept;
        head.head_id = self.rows.last().map(|row| row.message_id);
        head.transcript_generation += 1;
        head.transcript_generation_baseline = reduction.kept;
        head.truncation_watermark = head.revision;
        Ok(())
    }
}
