//! What each commit changes.

use runwarden_protocol::ids::{Revision, RunId, Seq, SessionId};
use runwarden_protocol::instant::Instant;
use runwarden_protocol::journal::row::{JournalRow, Outcome, Reason, RowEvent};
use runwarden_protocol::session::list::first_title;
use runwarden_protocol::session::record::{PendingTurn, SessionHead, Usage};
use runwarden_protocol::session::settle::{Answer, AnswerFold, Ending, rows};
use runwarden_protocol::session::usage;
use runwarden_protocol::wire::codes::Code;
use runwarden_runtime::ports::StoreFailure;
use runwarden_runtime::ports::change::{Change, Choice, FieldsChange, SessionChange};
use runwarden_runtime::ports::steer::SteerEnd;
use runwarden_runtime::ports::store::{
    Admission, Append, Commit, Committed, KeyEffect, KeyRecord, KeyScope, KeyUse, NewSession,
    Persisted, Settlement,
};

use super::data::{Data, StoredMessage, StoredRun, StoredSession, TurnStep};

impl Data {
    pub(super) fn carry_out(&mut self, commit: Commit) -> Result<Committed, StoreFailure> {
        match commit {
            Commit::CreateSession(new) => self.create(new),
            Commit::Admit(admission) => self.admit(admission),
            Commit::StartWorker { session_id, run_id, .. } => self.start_worker(session_id, run_id),
            Commit::Queue(change) => self.change_queue(change),
            Commit::Settle(settlement) => self.settle(settlement),
            Commit::Change(change) => self.change(change),
            Commit::Delete(deletion) => self.delete(deletion),
            Commit::Compensate { session_id, expected, run_id, requeue, at } => {
                self.compensate((session_id, expected), run_id, requeue, at)
            }
        }
    }

    pub(super) fn append(&mut self, append: Append) -> Result<Persisted, StoreFailure> {
        let run = self.open_run(append.session_id, append.run_id)?;
        let first_seq = run.last_seq().plus(1);
        for row in &append.rows {
            run.push(append.run_id, row.event, row.created_at, row.body.to_string());
        }
        let count = u32::try_from(append.rows.len()).expect("few rows are appended at once");
        Ok(Persisted { first_seq, count })
    }

    fn create(&mut self, new: NewSession) -> Result<Committed, StoreFailure> {
        let revision = Revision::new(1);
        let (agent, model) = (new.agent.clone(), new.model.clone());
        let effect = KeyEffect::Session { session_id: new.session_id, agent, model };
        self.remember(KeyScope::Principal(new.owner), new.key.as_ref(), effect, revision, new.at)?;
        let head = SessionHead {
            session_id: new.session_id,
            owner: new.owner,
            title: new.title,
            revision,
            transcript_generation: 0,
            transcript_generation_baseline: 0,
            truncation_watermark: Revision::ZERO,
            agent: new.agent,
            model: new.model,
            archived: false,
            shared: false,
            created_at: new.at,
            activity_at: new.at,
            message_count: 0,
            head_id: None,
            pending: None,
            usage: Usage::default(),
            queue_length: 0,
            queue_held: None,
        };
        let committed = committed(&head);
        let session = StoredSession {
            head,
            rows: Vec::new(),
            conversation: None,
            queue: Vec::new(),
            replaced: None,
        };
        self.sessions.insert(new.session_id, session);
        Ok(committed)
    }

    fn admit(&mut self, admission: Admission) -> Result<Committed, StoreFailure> {
        let (run_id, turn_id, at) = (admission.run_id, admission.turn_id, admission.at);
        let session = self.session_at(admission.session_id, admission.expected)?;
        if admission.is_head {
            session.take(turn_id)?;
        }
        let before = session.head.clone();
        let head = &mut session.head;
        if head.pending.is_some() {
            return Err(StoreFailure::Unavailable("a turn is pending already".to_owned()));
        }
        head.revision = head.revision.plus(1);
        head.activity_at = head.activity_at.max(at);
        if head.title.is_empty() {
            head.title = first_title(&admission.text);
        }
        head.pending = Some(PendingTurn {
            turn_id,
            run_id,
            text: admission.text.to_string(),
            pending_started_at: at,
            agent: admission.agent.clone(),
            model: admission.model.clone(),
        });
        if let Some(reduction) = admission.reduction {
            let rows = session.rows.clone();
            session.reduce(reduction)?;
            session.replaced = Some(Box::new((run_id, before, rows)));
        }
        let committed = committed(&session.head);
        let run = StoredRun {
            session_id: admission.session_id,
            turn_id,
            journal: Vec::new(),
            outcome: None,
            reason: None,
            usage: Usage::default(),
            error: None,
            turn: vec![TurnStep::Submitted],
            settlements: 0,
            by_recovery: false,
        };
        self.runs.insert(run_id, run);
        let (agent, model) = (admission.agent, admission.model);
        let effect = KeyEffect::Turn { turn_id, run_id, pending_started_at: at, agent, model };
        let scope = KeyScope::Session(admission.session_id);
        self.remember(scope, admission.key.as_ref(), effect, committed.revision, at)?;
        Ok(committed)
    }

    fn start_worker(
        &mut self,
        session_id: SessionId,
        run_id: RunId,
    ) -> Result<Committed, StoreFailure> {
        self.open_run(session_id, run_id)?.turn.push(TurnStep::WorkerStarted);
        let session = self.sessions.get(&session_id).ok_or(StoreFailure::Missing("session"))?;
        Ok(committed(&session.head))
    }

    fn settle(&mut self, settlement: Settlement) -> Result<Committed, StoreFailure> {
        let Settlement { session_id, run_id, outcome, at, .. } = settlement;
        let answer = answer_of(&self.open_run(session_id, run_id)?.sound(run_id, Seq::ZERO).0)?;
        let session = self.session_at(session_id, settlement.expected)?;
        if outcome != Outcome::Superseded {
            session.take_ending(&settlement, answer)?;
        }
        let (mut committed, owner) = (committed(&session.head), session.head.owner);
        let run = self.open_run(session_id, run_id)?;
        run.settle_steers(run_id, &settlement.steers, at);
        committed.terminal_seq = Some(run.close(run_id, outcome, settlement.reason, at)?);
        run.usage = settlement.usage;
        run.by_recovery = settlement.recovery;
        run.error = settlement.error.as_ref().map(|error| error.data.clone());
        self.errors.extend(settlement.error.map(|error| (owner, error)));
        Ok(committed)
    }

    fn change(&mut self, change: SessionChange) -> Result<Committed, StoreFailure> {
        let SessionChange { session_id, expected, at, key, what } = change;
        let known = match &what {
            Change::Usage { run_id, .. } => self.runs.get(run_id).map(|run| run.usage),
            Change::Fields(_) | Change::Reduction(_) => None,
        };
        let session = self.session_at(session_id, expected)?;
        session.head.revision = session.head.revision.plus(1);
        if let Change::Reduction(reduction) = &what {
            session.reduce(*reduction)?;
        }
        let StoredSession { head, rows, .. } = session;
        let mut learned = None;
        match what {
            Change::Reduction(_) => {}
            Change::Fields(FieldsChange { title, archived, choice }) => {
                head.title = title.unwrap_or_else(|| head.title.clone());
                head.archived = archived.unwrap_or(head.archived);
                if let Some(Choice { agent, model }) = choice {
                    (head.agent, head.model) = (agent, model);
                }
            }
            Change::Usage { run_id, usage: told } => {
                let before = known.ok_or(StoreFailure::Missing("run"))?;
                let after = before.learned(told);
                let is_newest = rows.last().is_some_and(|row| row.run_id == run_id);
                head.usage = usage::replace(head.usage, before, after, is_newest);
                for row in rows.iter_mut().filter(|row| row.run_id == run_id) {
                    row.usage = row.usage.map(|_| after);
                }
                learned = Some((run_id, after));
            }
        }
        let committed = committed(head);
        if let Some((run_id, after)) = learned {
            let run = self.runs.get_mut(&run_id).ok_or(StoreFailure::Missing("run"))?;
            run.usage = after;
        }
        let scope = KeyScope::Session(session_id);
        self.remember(scope, key.as_ref(), KeyEffect::Change, committed.revision, at)?;
        Ok(committed)
    }

    fn compensate(
        &mut self,
        (session_id, expected): (SessionId, Revision),
        run_id: RunId,
        requeue: Option<Code>,
        at: Instant,
    ) -> Result<Committed, StoreFailure> {
        let session = self.session_at(session_id, expected)?;
        session.head.revision = session.head.revision.plus(1);
        let pending = session.head.pending.take_if(|pending| pending.run_id == run_id);
        if let Some(replaced) = session.replaced.take_if(|replaced| replaced.0 == run_id) {
            let (_, before, rows) = *replaced;
            let head = &mut session.head;
            (head.message_count, head.head_id) = (before.message_count, before.head_id);
            head.transcript_generation = before.transcript_generation;
            head.transcript_generation_baseline = before.transcript_generation_baseline;
            head.truncation_watermark = before.truncation_watermark;
            session.rows = rows;
        }
        if let (Some(pending), Some(_)) = (pending, requeue) {
            let (turn_id, created_at) = (pending.turn_id, pending.pending_started_at);
            let message = StoredMessage { turn_id, text: pending.text.into(), created_at };
            session.queue.insert(0, message);
            session.hold(requeue);
        }
        let head = &session.head;
        let mut committed = committed(head);
        let run = self.open_run(session_id, run_id)?;
        committed.terminal_seq = Some(run.close(run_id, Outcome::Failed, None, at)?);
        self.keys.retain(|_, (_, record)| match record.effect {
            KeyEffect::Turn { run_id: used_by, .. } => used_by != run_id,
            KeyEffect::Queued { .. }
            | KeyEffect::Removed { .. }
            | KeyEffect::Resumed { .. }
            | KeyEffect::Session { .. }
            | KeyEffect::Deleted { .. }
            | KeyEffect::Change => true,
        });
        Ok(committed)
    }

    pub(super) fn remember(
        &mut self,
        scope: KeyScope,
        used: Option<&KeyUse>,
        effect: KeyEffect,
        revision: Revision,
        at: Instant,
    ) -> Result<(), StoreFailure> {
        let Some(KeyUse { key, fingerprint }) = used else { return Ok(()) };
        let record = KeyRecord { fingerprint: *fingerprint, effect, revision };
        match self.keys.insert((scope, key.clone()), (at, record)) {
            Some(_) => Err(StoreFailure::Conflict { current: revision }),
            None => Ok(()),
        }
    }
}

impl StoredSession {
    /// What a settlement changes of the session: its rows, its pending turn, its usage (OWN-10).
    fn take_ending(
        &mut self,
        settlement: &Settlement,
        answer: Option<Answer>,
    ) -> Result<(), StoreFailure> {
        let Settlement { run_id, turn_id, outcome, at, .. } = *settlement;
        let is_owner = match &self.head.pending {
            Some(pending) => pending.run_id == run_id,
            None => outcome != Outcome::Completed,
        };
        if !is_owner {
            return Err(StoreFailure::Missing("active run"));
        }
        if settlement.hold.is_some() {
            self.hold(settlement.hold);
        }
        self.replaced.take_if(|replaced| replaced.0 == run_id);
        let Self { head, rows: stored, conversation, .. } = self;
        head.revision = head.revision.plus(1);
        let pending = head.pending.take();
        if answer.is_some() {
            head.activity_at = head.activity_at.max(at);
        }
        let added = rows(Ending {
            run_id,
            turn_id,
            outcome,
            marker: settlement.marker,
            pending: pending.as_ref(),
            user_row_stored: stored.iter().any(|row| row.message_id == turn_id),
            answer,
            row_ids: settlement.row_ids,
            head_id: head.head_id,
            usage: settlement.usage,
            at,
            revision: head.revision,
        });
        if let Some(pending) = &pending {
            let handle = settlement.conversation.clone();
            let told = handle.map(|handle| (pending.agent.clone(), handle));
            *conversation =
                told.or(conversation.take().filter(|(agent, _)| *agent == pending.agent));
        }
        head.message_count += added.len() as u64;
        head.head_id = added.last().map(|row| row.message_id).or(head.head_id);
        head.usage = usage::add(head.usage, settlement.usage);
        stored.extend(added);
        Ok(())
    }
}

impl StoredRun {
    fn push(&mut self, run_id: RunId, event: RowEvent, created_at: Instant, body: String) {
        let (session_id, seq) = (self.session_id, self.last_seq().plus(1));
        self.journal.push(JournalRow { run_id, session_id, seq, created_at, event, body });
    }

    fn settle_steers(&mut self, run_id: RunId, steers: &[SteerEnd], at: Instant) {
        for (event, body) in steers.iter().map(SteerEnd::row) {
            self.push(run_id, event, at, body);
        }
    }

    /// Closes both journals; a terminal that stands is the outcome, and none is added (JRN-08, JRN-10).
    fn close(
        &mut self,
        run_id: RunId,
        outcome: Outcome,
        reason: Option<Reason>,
        at: Instant,
    ) -> Result<Seq, StoreFailure> {
        let standing = self.journal.iter().find(|row| row.event.is_terminal());
        let seq = match standing.map(|row| (row.seq, row.event)) {
            Some((seq, RowEvent::Terminal { outcome: stands })) if stands == outcome => seq,
            Some(_) => {
                let outcome = self.terminal().unwrap_or(outcome);
                return Err(StoreFailure::Ended { outcome });
            }
            None => {
                let body = serde_json::json!({ "reason": reason.map(Reason::as_str) }).to_string();
                self.push(run_id, RowEvent::Terminal { outcome }, at, body);
                self.last_seq()
            }
        };
        (self.outcome, self.reason) = (Some(outcome), reason);
        self.turn.push(TurnStep::Ended(outcome));
        self.settlements += 1;
        Ok(seq)
    }
}

fn answer_of(journal: &[JournalRow]) -> Result<Option<Answer>, StoreFailure> {
    let mut fold = AnswerFold::new();
    for row in journal {
        fold.push(row).map_err(|error| StoreFailure::Unavailable(error.to_string()))?;
    }
    Ok(fold.finish())
}

pub(super) fn committed(head: &SessionHead) -> Committed {
    Committed { revision: head.revision, terminal_seq: None, head: Box::new(head.clone()) }
}
