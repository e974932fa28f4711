//! The port.

use std::sync::Arc;

use runwarden_protocol::ids::{MessageId, PrincipalId, RunId, Seq, SessionId, StoreId, TurnId};
use runwarden_protocol::instant::Instant;
use runwarden_protocol::session::context::{Speaker, message};
use runwarden_protocol::session::list::fold;
use runwarden_protocol::session::record::SessionHead;
use runwarden_protocol::session::rewrite::Target;
use runwarden_runtime::ports::agent::{ContextMessage, ContextRole};
use runwarden_runtime::ports::store::{
    Append, ChainTail, Commit, Committed, JournalPage, KeyRecord, KeyScope, ListErrors,
    ListSessions, Login, Persisted, ReadRows, RowPage, RunFacts, StoredError, StoredQueue,
    UnsettledRun,
};
use runwarden_runtime::ports::{Store, StoreFailure};

use super::super::executor::lock;
use super::data::{Data, StoredSession};
use super::{Faults, ModelStore};

impl Store for ModelStore {
    fn store_id(&self) -> StoreId {
        self.name
    }

    async fn probe(&self) -> Result<(), StoreFailure> {
        Ok(())
    }

    async fn free_bytes(&self) -> Result<u64, StoreFailure> {
        Ok(lock(&self.disk.shared).free_bytes)
    }

    async fn append(&self, append: Append) -> Result<Persisted, StoreFailure> {
        let fails = |shared: &mut super::Shared, now| shared.append_fails(now);
        self.write(false, fails, |data| data.append(append)).await
    }

    async fn commit(&self, commit: Commit) -> Result<Committed, StoreFailure> {
        let is_stable = !matches!(commit, Commit::StartWorker { .. });
        let planned: fn(&mut Faults) -> Option<&mut u32> = match commit {
            Commit::Settle(_) => |faults| Some(&mut faults.settlements_fail),
            Commit::Delete(_) => |faults| Some(&mut faults.deletions_fail),
            Commit::Admit(_) => |faults| Some(&mut faults.admissions_fail),
            _ => |_| None,
        };
        let fails = |shared: &mut super::Shared, _| shared.commit_fails(planned);
        let settled = match &commit {
            Commit::Settle(settlement) => Some(settlement.session_id),
            _ => None,
        };
        let wrong = lock(&self.disk.shared).wrong;
        let carry_out = |data: &mut Data| {
            let committed = data.carry_out(commit)?;
            if let Some(session_id) = settled {
                data.spoil_settlement(wrong, session_id);
            }
            Ok(committed)
        };
        self.write(is_stable, fails, carry_out).await
    }

    async fn session(&self, session_id: SessionId) -> Result<Option<SessionHead>, StoreFailure> {
        let head = |session: &StoredSession| session.head.clone();
        Ok(self.read(|data| data.sessions.get(&session_id).map(head)).await)
    }

    async fn sessions(&self, list: ListSessions) -> Result<Vec<SessionHead>, StoreFailure> {
        Ok(self.read(|data| data.list(&list)).await)
    }

    async fn chain_tail(
        &self,
        session_id: SessionId,
        ids_max: usize,
    ) -> Result<ChainTail, StoreFailure> {
        self.read(|data| {
            let session = data.known(session_id)?;
            let skipped = session.rows.len().saturating_sub(ids_max);
            let ids = session.rows.iter().skip(skipped).map(|row| row.message_id).collect();
            let length = session.rows.len() as u64;
            Ok(ChainTail { revision: session.head.revision, ids, length })
        })
        .await
    }

    async fn rows(&self, read: ReadRows) -> Result<RowPage, StoreFailure> {
        self.read(|data| {
            let session = data.known(read.session_id)?;
            let total = session.rows.len();
            let before = read.before.map_or(total, |at| usize::try_from(at).unwrap_or(total));
            let end = before.min(total);
            let start = end.saturating_sub(read.rows_max);
            let mut rows = session.rows[start..end].to_vec();
            for row in &mut rows {
                row.reason = data.runs.get(&row.run_id).and_then(|run| run.reason);
            }
            let head = session.head.clone();
            Ok(RowPage { head, rows, start: start as u64, total: total as u64 })
        })
        .await
    }

    async fn context(&self, session_id: SessionId) -> Result<Vec<ContextMessage>, StoreFailure> {
        if lock(&self.disk.shared).context_fails() {
            return Err(StoreFailure::Unavailable("a fault of the simulation".to_owned()));
        }
        self.read(|data| Ok(context(data.known(session_id)?))).await
    }

    async fn conversation(
        &self,
        session_id: SessionId,
        agent: String,
    ) -> Result<Option<String>, StoreFailure> {
        self.read(|data| {
            let held = data.known(session_id)?.conversation.as_ref();
            Ok(held.filter(|(holder, _)| *holder == agent).map(|(_, handle)| handle.clone()))
        })
        .await
    }

    async fn rewrite_target(
        &self,
        session_id: SessionId,
        named: Option<MessageId>,
    ) -> Result<Target, StoreFailure> {
        self.read(|data| data.rewrite_target(session_id, named)).await
    }

    async fn journal(&self, run_id: RunId, after: Seq) -> Result<JournalPage, StoreFailure> {
        self.read(|data| {
            let run = data.runs.get(&run_id).ok_or(StoreFailure::Missing("run"))?;
            match run.sound(run_id, after) {
                (rows, None) => Ok(JournalPage { rows, more: false }),
                (rows, Some(_)) if !rows.is_empty() => Ok(JournalPage { rows, more: true }),
                (_, Some(unsound)) => {
                    Err(StoreFailure::Quarantined { run_id, reason: unsound.to_string() })
                }
            }
        })
        .await
    }

    async fn run(&self, run_id: RunId) -> Result<Option<RunFacts>, StoreFailure> {
        Ok(self.read(|data| data.runs.get(&run_id).map(super::StoredRun::facts)).await)
    }

    async fn queue(&self, session_id: SessionId) -> Result<StoredQueue, StoreFailure> {
        self.read(|data| data.queue(session_id)).await
    }

    async fn queued_text(
        &self,
        session_id: SessionId,
        turn_id: TurnId,
    ) -> Result<Option<Arc<str>>, StoreFailure> {
        Ok(self.read(|data| data.queued_text(session_id, turn_id)).await)
    }

    async fn waiting(&self) -> Result<Vec<SessionHead>, StoreFailure> {
        Ok(self.read(Data::waiting).await)
    }

    async fn key(
        &self,
        scope: KeyScope,
        key: String,
        _now: Instant,
    ) -> Result<Option<KeyRecord>, StoreFailure> {
        Ok(self.read(|data| data.keys.get(&(scope, key)).map(|(_, record)| record.clone())).await)
    }

    async fn unsettled(&self) -> Result<Vec<UnsettledRun>, StoreFailure> {
        if lock(&self.disk.shared).look_fails() {
            return Err(StoreFailure::Unavailable("a fault of the simulation".to_owned()));
        }
        Ok(self.read(Data::unsettled).await)
    }

    async fn record_error(
        &self,
        principal: PrincipalId,
        error: StoredError,
    ) -> Result<(), StoreFailure> {
        let write = |data: &mut Data| {
            data.errors.push((principal, error));
            Ok(())
        };
        self.write(true, |_, _| false, write).await
    }

    async fn errors(&self, list: ListErrors) -> Result<Vec<StoredError>, StoreFailure> {
        let fits = |error: &StoredError| {
            list.session_id.is_none_or(|session| error.session_id == Some(session))
        };
        let found = |data: &Data| {
            let mut errors: Vec<_> = data.open_errors(list.principal).filter(|e| fits(e)).collect();
            errors.reverse();
            errors.truncate(list.limit);
            errors.into_iter().cloned().collect()
        };
        Ok(self.read(found).await)
    }

    async fn count_errors(
        &self,
        principal: PrincipalId,
        session_id: Option<SessionId>,
    ) -> Result<u64, StoreFailure> {
        let count = |data: &Data| {
            let errors = data.open_errors(principal);
            let of_session = |error: &&StoredError| {
                session_id.is_none_or(|session| error.session_id == Some(session))
            };
            errors.filter(of_session).count() as u64
        };
        Ok(self.read(count).await)
    }

    async fn errors_closed_by_deletion(
        &self,
        principal: PrincipalId,
        session_id: SessionId,
        at: Instant,
    ) -> Result<Vec<StoredError>, StoreFailure> {
        let closed = |data: &Data| data.closed_by_deletion(principal, session_id, at);
        Ok(self.read(closed).await)
    }

    async fn acknowledge_error(
        &self,
        principal: PrincipalId,
        error_id: String,
        now: Instant,
    ) -> Result<Option<StoredError>, StoreFailure> {
        let close = |data: &mut Data| {
            let is_it = |(owner, error): &&mut (PrincipalId, StoredError)| {
                *owner == principal && error.error_id == error_id
            };
            Ok(data.errors.iter_mut().find(is_it).map(|(_, error)| {
                error.closed_at.get_or_insert(now);
                error.clone()
            }))
        };
        self.write(true, |_, _| false, close).await
    }

    async fn put_login(&self, login: Login) -> Result<(), StoreFailure> {
        let write = |data: &mut Data| {
            data.logins.push(login);
            Ok(())
        };
        self.write(true, |_, _| false, write).await
    }

    async fn login(
        &self,
        token_hash: [u8; 32],
        now: Instant,
    ) -> Result<Option<Login>, StoreFailure> {
        let is_it = |login: &&Login| login.token_hash == token_hash && login.expires_at > now;
        Ok(self.read(|data| data.logins.iter().find(is_it).cloned()).await)
    }

    async fn revoke_login(&self, token_hash: [u8; 32]) -> Result<(), StoreFailure> {
        let write = |data: &mut Data| {
            data.logins.retain(|login| login.token_hash != token_hash);
            Ok(())
        };
        self.write(true, |_, _| false, write).await
    }
}

impl Data {
    fn known(&self, session_id: SessionId) -> Result<&StoredSession, StoreFailure> {
        self.sessions.get(&session_id).ok_or(StoreFailure::Missing("session"))
    }

    fn list(&self, list: &ListSessions) -> Vec<SessionHead> {
        let query = list.query.as_deref().map(fold);
        let heads = self.sessions.values().map(|session| &session.head);
        let mut found: Vec<_> = heads
            .filter(|head| head.owner == list.principal || head.shared)
            .filter(|head| head.archived == list.archived)
            .filter(|head| query.as_ref().is_none_or(|query| fold(&head.title).contains(query)))
            .filter(|head| {
                list.after.is_none_or(|after| (head.activity_at, head.session_id) < after)
            })
            .cloned()
            .collect();
        found.sort_by_key(|head| std::cmp::Reverse((head.activity_at, head.session_id)));
        found.truncate(list.limit);
        found
    }

    fn open_errors(&self, principal: PrincipalId) -> impl Iterator<Item = &StoredError> {
        let open = move |(owner, error): &&(PrincipalId, StoredError)| {
            *owner == principal && error.closed_at.is_none()
        };
        self.errors.iter().filter(open).map(|(_, error)| error)
    }

    fn unsettled(&self) -> Vec<UnsettledRun> {
        let open = self.runs.iter().filter(|(_, run)| run.outcome.is_none());
        let found = open.filter_map(|(run_id, run)| {
            Some(UnsettledRun {
                head: self.sessions.get(&run.session_id)?.head.clone(),
                run_id: *run_id,
                turn_id: run.turn_id,
                last_seq: run.last_seq(),
                settled: None,
                terminal: run.terminal(),
                steers: run.unsettled_steers(),
            })
        });
        found.collect()
    }
}

fn context(session: &StoredSession) -> Vec<ContextMessage> {
    let said = session.rows.iter().filter_map(|row| message(row.role, row.body.as_deref()));
    let messages = said.map(|(speaker, text)| {
        let role = match speaker {
            Speaker::User => ContextRole::User,
            Speaker::Assistant => ContextRole::Assistant,
        };
        ContextMessage { role, text: text.to_owned() }
    });
    messages.collect()
}
