//! Calls of the store and of agents, and what comes back.

use std::sync::Arc;

use futures_lite::future::or;
use runwarden_protocol::errors::ErrorBuilder;
use runwarden_protocol::ids::{AgentId, PayloadRef, RunId};
use runwarden_protocol::journal::row::RowEvent;
use runwarden_protocol::journal::run_journal::RowRef;
use runwarden_protocol::json_bytes::json_text_bytes;
use runwarden_protocol::run::lineage::Input;
use runwarden_protocol::run::settlement::Failure;
use runwarden_protocol::run::stop::StopSignal;
use runwarden_protocol::run::worker::CallResult;
use runwarden_protocol::session::record::Usage;
use runwarden_protocol::session::scene::Scene;
use runwarden_protocol::wire::codes::Code;
use runwarden_protocol::wire::structures::{ErrorData, Scope};
use runwarden_protocol::{journal::row::Outcome, run::settlement::Verdict};
use serde_json::Value;

use super::driver::{Driver, Event, RunState};
use crate::dispatch::{PortAnswer, StoreCall, WorkerCall};
use crate::hub::stored_error;
use crate::ports::agent::{ContextMessage, ContextRole, FailureKind};
use crate::ports::change::Choice;
use crate::ports::store::{Admission, Append, Commit, Committed, NewRow, Settlement};
use crate::ports::{Agent, Construction, Invocation, Returned, Signal, Store, StoreFailure, World};
use crate::worker::{self, Progress};

/// Rows of an invocation that wait for the session.
const PROGRESS_WAITING_MAX: usize = 64;

/// Bytes of a value above which it is cut before it becomes a row.
pub(super) const VALUE_BYTES_MAX: usize = 32_768;

impl<W: World, S: Store> Driver<W, S> {
    pub(super) fn call_store(&mut self, run_id: RunId, call: StoreCall) {
        match call {
            StoreCall::Append { rows } => self.append(run_id, &rows),
            StoreCall::Admit { turn_id, expected, is_head: true, wakeups: _, at } => {
                self.admit_head(run_id, turn_id, expected, at);
            }
            StoreCall::Admit { turn_id, expected, is_head: false, wakeups: _, at } => {
                let Choice { agent, model } = self.choice_in_force();
                let Some(run) = self.runs.get_mut(&run_id) else { return };
                (run.agent, run.model) = (agent, model);
                let Some(start) = &run.start else { return };
                let admission = Admission {
                    session_id: self.session_id,
                    expected,
                    run_id,
                    turn_id,
                    text: start.text.clone(),
                    is_head: false,
                    at,
                    agent: run.agent.clone(),
                    model: run.model.clone(),
                    key: start.key.clone(),
                    reduction: start.rewrites.map(|(_, reduction)| reduction),
                };
                self.commit(run_id, Commit::Admit(admission));
            }
            StoreCall::Compensate { expected, requeue, wakeups: _, at } => {
                let session_id = self.session_id;
                let undo = Commit::Compensate { session_id, expected, run_id, requeue, at };
                self.commit(run_id, undo);
            }
            StoreCall::StartWorker { at } => self.start_worker(run_id, at),
            StoreCall::Settle {
                turn_id,
                expected,
                verdict,
                recovery,
                hold,
                steers,
                wakeups: _,
                at,
            } => {
                let error = self.error_of(run_id, &verdict);
                let usage = self.settle_usage(run_id);
                let settlement = Settlement {
                    session_id: self.session_id,
                    expected,
                    run_id,
                    turn_id,
                    outcome: verdict.outcome,
                    reason: verdict.reason,
                    marker: verdict.marker,
                    row_ids: [self.hub.message_id(), self.hub.message_id()],
                    error: error.as_ref().map(stored_error),
                    usage,
                    conversation: self.conversation_of(run_id),
                    at,
                    hold,
                    steers: self.steer_ends(run_id, &steers),
                    recovery,
                };
                self.commit(run_id, Commit::Settle(settlement));
            }
        }
    }

    fn append(&mut self, run_id: RunId, rows: &[RowRef]) {
        let store = self.hub.store().clone();
        let new_row = |row: &RowRef| NewRow {
            event: row.event,
            created_at: row.at,
            body: self.payloads.get(&row.payload.id).cloned().unwrap_or_else(|| Arc::from("")),
        };
        let append = Append {
            run_id,
            session_id: self.session_id,
            rows: rows.iter().map(new_row).collect(),
        };
        self.call(async move {
            let answer = store.append(append).await;
            if let Err(failure) = &answer {
                tracing::error!(%run_id, %failure, "rows of a run were not written");
            }
            let numbers = answer.ok().map(|persisted| (persisted.first_seq, persisted.count));
            Event::Answered(PortAnswer::Appended(run_id, numbers))
        });
    }

    fn commit(&mut self, run_id: RunId, commit: Commit) {
        let (store, session_id) = (self.hub.store().clone(), self.session_id);
        let began = self.runs.get_mut(&run_id).and_then(|run| run.began.take());
        self.call(async move {
            if let Some(began) = began {
                // Nothing is sent through it: this ends when the other end is dropped.
                let _ = began.recv().await;
            }
            match store.commit(commit).await {
                Ok(Committed { revision, terminal_seq, head }) => {
                    let fixed = Some((revision, terminal_seq));
                    Event::Committed(head, PortAnswer::Committed(run_id, fixed))
                }
                Err(failure) => {
                    tracing::error!(%run_id, %failure, "a commit of a run was not written");
                    if let StoreFailure::Ended { outcome } = failure
                        && let Ok(Some(head)) = store.session(session_id).await
                    {
                        let revision = head.revision;
                        let answer = PortAnswer::SettledElsewhere(run_id, outcome, revision);
                        return Event::Answered(answer);
                    }
                    Event::Answered(PortAnswer::Committed(run_id, None))
                }
            }
        });
    }

    /// What is stored of a run's usage with its settlement; what is learned later differs from it.
    fn settle_usage(&mut self, run_id: RunId) -> Usage {
        let Some(run) = self.runs.get_mut(&run_id) else { return Usage::UNKNOWN };
        run.settled_usage = Some(run.usage);
        run.usage
    }

    fn start_worker(&mut self, run_id: RunId, at: runwarden_protocol::instant::Instant) {
        let (store, session_id) = (self.hub.store().clone(), self.session_id);
        let (noted, began) = async_channel::bounded::<()>(1);
        if let Some(run) = self.runs.get_mut(&run_id) {
            run.began = Some(began);
        }
        self.hub.world().spawn(async move {
            let started = store.commit(Commit::StartWorker { session_id, run_id, at }).await;
            if let Err(failure) = started {
                tracing::warn!(%run_id, %failure, "the start of a worker was not noted");
            }
            drop(noted);
        });
    }

    fn conversation_of(&self, run_id: RunId) -> Option<String> {
        self.runs.get(&run_id).and_then(|run| run.conversation.clone())
    }

    /// The error of a failed run, made once (ENV-3, ERR-26).
    fn error_of(&mut self, run_id: RunId, verdict: &Verdict) -> Option<ErrorData> {
        let failure = verdict.failure.filter(|_| verdict.outcome == Outcome::Failed)?;
        let stamp = self.hub.stamp();
        let session = self.session_id.to_string();
        let run = self.runs.get_mut(&run_id)?;
        if run.error.is_none() {
            let error = ErrorBuilder::new(Code::TurnFailed, Scope::Session)
                .session(Some(&session))
                .operation(Some(&run_id.to_string()))
                .retryable(failure.retryable)
                .build(stamp)
                .expect("ids of the server are safe and the code is registered");
            let detail = run.failure_detail.as_deref().unwrap_or("ended by the server");
            tracing::error!(
                correlation_id = error.correlation_id(), %run_id, reason = ?verdict.reason, detail,
                "a run failed"
            );
            run.error = Some(error);
        }
        run.error.clone()
    }

    pub(super) fn call_worker(&mut self, run_id: RunId, call: WorkerCall) {
        match call {
            WorkerCall::Launch => self.launch(run_id),
            WorkerCall::Construct => self.construct(run_id),
            WorkerCall::AbandonConstruction => {
                if let Some(run) = self.runs.get_mut(&run_id) {
                    run.construction = None;
                }
            }
            WorkerCall::HandSteer(steer_id) => self.hand_steer(run_id, steer_id),
            WorkerCall::AskRegistration => self.answer_next(PortAnswer::RegistrationAsked(run_id)),
            WorkerCall::Prepare(agent) => self.prepare(run_id, agent),
            WorkerCall::Invoke(agent) => self.invoke(run_id, agent),
            WorkerCall::Signal(agent, signal) => self.signal(run_id, agent, signal),
            // No agent of the product runs on a remote backend.
            WorkerCall::StopRemote => {}
            WorkerCall::Exit => {
                if let Some(run) = self.runs.get_mut(&run_id) {
                    run.progress = None;
                    run.kill = None;
                    run.worker = None;
                }
                self.answer_next(PortAnswer::Exited(run_id));
            }
        }
    }

    /// Makes the worker. It exists before its start is acknowledged, and does nothing before that (ADM-12).
    fn launch(&mut self, run_id: RunId) {
        let (calls, taken) = async_channel::bounded(1);
        match self.hub.world().launch(worker::serve(taken)) {
            Ok(()) => {
                if let Some(run) = self.runs.get_mut(&run_id) {
                    run.worker = Some(calls);
                }
                self.answer_next(PortAnswer::Launched(run_id, true));
                self.call(async move { Event::Answered(PortAnswer::Began(run_id)) });
            }
            Err(refused) => {
                tracing::error!(%run_id, %refused, "a worker was not launched");
                self.answer_next(PortAnswer::Launched(run_id, false));
            }
        }
    }

    fn construct(&mut self, run_id: RunId) {
        let Some(run) = self.runs.get_mut(&run_id) else { return };
        let (agent, model) = (run.agent.clone(), run.model.clone());
        let Some(factory) = self.hub.agent(&run.agent).cloned() else {
            self.answer_next(PortAnswer::Constructed(run_id, None));
            return;
        };
        let (goes_on, abandoned) = async_channel::bounded(1);
        run.construction = Some(goes_on);
        let (store, session_id) = (self.hub.store().clone(), self.session_id);
        self.call(async move {
            let made = async {
                // Without it the agent is told the conversation, which is right too.
                let resume = store.conversation(session_id, agent).await.unwrap_or_else(|failure| {
                    tracing::warn!(%run_id, %failure, "the handle of a conversation was not read");
                    None
                });
                let construction = Construction { model, resume };
                factory.construct(construction).await.map_err(|failure| failure.to_string())
            };
            let given_up = async {
                // Nothing is ever sent: it ends when the other side is dropped.
                let _: Result<(), _> = abandoned.recv().await;
                Err("its run was stopped".to_owned())
            };
            Event::Constructed(run_id, or(made, given_up).await)
        });
    }

    pub(super) fn constructed(&mut self, run_id: RunId, made: Result<Arc<dyn Agent>, String>) {
        let agent = match made {
            Ok(agent) => {
                let id = self.fresh_agent_id();
                self.agents.insert(id, agent);
                Some(id)
            }
            Err(detail) => {
                if let Some(run) = self.runs.get_mut(&run_id) {
                    run.failure_detail = Some(detail);
                }
                None
            }
        };
        self.answer_next(PortAnswer::Constructed(run_id, agent));
    }

    fn prepare(&mut self, run_id: RunId, agent: AgentId) {
        let (store, session_id) = (self.hub.store().clone(), self.session_id);
        self.call(async move { Event::Prepared(run_id, agent, store.context(session_id).await) });
    }

    pub(super) fn prepared(
        &mut self,
        run_id: RunId,
        agent: AgentId,
        read: Result<Vec<ContextMessage>, StoreFailure>,
    ) {
        let Some(run) = self.runs.get_mut(&run_id) else { return };
        match read {
            Ok(mut context) => {
                if let Some(start) = &run.start {
                    let text = start.text.to_string();
                    context.push(ContextMessage { role: ContextRole::User, text });
                }
                run.context = Some(context);
                self.answer_next(PortAnswer::Prepared(run_id, agent));
            }
            Err(failure) => {
                run.failure_detail = Some(failure.to_string());
                self.answer_next(PortAnswer::Exited(run_id));
            }
        }
    }

    fn invoke(&mut self, run_id: RunId, agent: AgentId) {
        let Some(run) = self.runs.get_mut(&run_id) else { return };
        let Some(agent) = self.agents.get(&agent).cloned() else { return };
        let (progress_in, progress) = async_channel::bounded(PROGRESS_WAITING_MAX);
        let (kill, killed) = async_channel::bounded(1);
        run.progress = Some(Box::pin(progress));
        run.kill = Some(kill);
        run.invoked = Some(agent.clone());
        let context = run.context.take().unwrap_or_default();
        let invocation = Invocation { run_id, context, model: run.model.clone() };
        let world = self.hub.world().clone();
        let call = Box::pin(worker::invoke(world, agent, invocation, killed, progress_in));
        let is_taken = run.worker.as_ref().is_some_and(|worker| worker.try_send(call).is_ok());
        if !is_taken {
            // Without its task the worker is lost (REC-10).
            self.answer_next(PortAnswer::Exited(run_id));
        }
    }

    fn signal(&mut self, run_id: RunId, agent: AgentId, signal: StopSignal) {
        let Some(agent) = self.agents.get(&agent) else { return };
        match signal {
            StopSignal::Interrupt => agent.signal(Signal::Interrupt),
            StopSignal::Terminate => agent.signal(Signal::Terminate),
            StopSignal::Kill => {
                agent.signal(Signal::Kill);
                if let Some(kill) = self.runs.get(&run_id).and_then(|run| run.kill.as_ref()) {
                    // A full channel holds a kill already.
                    let _ = kill.try_send(());
                }
            }
        }
    }

    pub(super) fn progressed(&mut self, run_id: RunId, progress: Progress) {
        match progress {
            Progress::Text { item_id, item_kind, text } => {
                let json_bytes = json_text_bytes(&text);
                let row = self.row(RowEvent::Content { item_id, item_kind }, text, json_bytes);
                self.produced(PortAnswer::Produced(run_id, row), row);
            }
            Progress::Update { item_id, item_kind, mut value } => {
                clip_value(&mut value, VALUE_BYTES_MAX);
                let body = value.to_string();
                let json_bytes = body.len();
                let row = self.row(RowEvent::Content { item_id, item_kind }, body, json_bytes);
                self.produced(PortAnswer::Produced(run_id, row), row);
            }
            Progress::SteerWanted(reply) => self.steer_wanted(run_id, reply),
            Progress::SteerRead(steer_id) => self.steer_read(run_id, steer_id),
            Progress::Question { question, reply } => self.asked(run_id, question, reply),
            Progress::Usage(usage) => {
                if let Some(run) = self.runs.get_mut(&run_id) {
                    run.usage = run.usage.learned(usage);
                }
            }
            Progress::Returned(returned) => self.returned(run_id, returned),
        }
    }

    /// The invocation's task is gone without having returned: its worker is lost.
    pub(super) fn went_silent(&mut self, run_id: RunId) {
        if let Some(run) = self.runs.get_mut(&run_id) {
            run.progress = None;
            run.failure_detail.get_or_insert_with(|| "the invocation vanished".to_owned());
        }
        self.answer_next(PortAnswer::Exited(run_id));
    }

    fn returned(&mut self, run_id: RunId, returned: Returned) {
        let result = match returned {
            Returned::Completed => CallResult::Completed,
            Returned::Interrupted => CallResult::Interrupted,
            Returned::Failed(failure) => {
                if let Some(run) = self.runs.get_mut(&run_id) {
                    run.failure_detail = Some(failure.to_string());
                }
                let retryable = failure.kind.is_retryable();
                match failure.kind {
                    FailureKind::Lost => CallResult::Lost,
                    FailureKind::Unreachable
                    | FailureKind::RateLimited
                    | FailureKind::Unauthorized
                    | FailureKind::Provider
                    | FailureKind::Malformed
                    | FailureKind::Refused
                    | FailureKind::Internal => {
                        CallResult::Failed { failure: Failure { retryable } }
                    }
                }
            }
        };
        if let Some(run) = self.runs.get_mut(&run_id) {
            run.progress = None;
            run.steer_reader = None;
            let agent = run.invoked.take();
            // What a failed call left of the conversation is not known.
            run.conversation = match result {
                CallResult::Completed | CallResult::Interrupted => {
                    agent.and_then(|agent| agent.conversation())
                }
                CallResult::Failed { .. } | CallResult::Lost => None,
            };
        }
        self.answer_next(PortAnswer::Returned(run_id, result));
    }

    pub(super) fn row(&mut self, event: RowEvent, body: String, json_bytes: usize) -> RowRef {
        let id = self.hub.payload_id();
        self.payloads.insert(id, body.into());
        let json_bytes = u32::try_from(json_bytes).unwrap_or(u32::MAX);
        RowRef { event, payload: PayloadRef { id, json_bytes }, at: self.hub.now() }
    }

    /// Feeds a produced row at once, so that a row the machine turns away is released here.
    pub(super) fn produced(&mut self, answer: PortAnswer, row: RowRef) {
        let input: Input = crate::dispatch::fact(answer);
        if !self.try_feed(input) {
            self.payloads.remove(&row.payload.id);
        }
    }
}

impl RunState {
    pub(super) fn new(agent: String, model: Option<String>) -> Self {
        Self {
            start: None,
            context: None,
            scene: Scene::new(),
            ring: std::collections::VecDeque::new(),
            last_event_at: None,
            usage: Usage::UNKNOWN,
            settled_usage: None,
            error: None,
            failure_detail: None,
            agent,
            model,
            progress: None,
            worker: None,
            kill: None,
            began: None,
            steers: Vec::new(),
            steer_reader: None,
            construction: None,
            invoked: None,
            conversation: None,
        }
    }
}

/// Cuts the longest texts of a value until it fits, and says so in `truncated`.
pub(super) fn clip_value(value: &mut Value, bytes_max: usize) {
    let mut text_bytes_max = bytes_max / 2;
    while value.to_string().len() > bytes_max && text_bytes_max > 16 {
        clip_texts(value, text_bytes_max);
        if let Value::Object(fields) = value {
            fields.insert("truncated".to_owned(), Value::Bool(true));
        }
        text_bytes_max /= 2;
    }
    if value.to_string().len() > bytes_max {
        *value = serde_json::json!({"truncated": true});
    }
}

fn clip_texts(value: &mut Value, bytes_max: usize) {
    match value {
        Value::String(text) => {
            if text.len() > bytes_max {
                *text = clipped(text, bytes_max);
            }
        }
        Value::Array(values) => values.iter_mut().for_each(|value| clip_texts(value, bytes_max)),
        Value::Object(fields) => {
            fields.values_mut().for_each(|value| clip_texts(value, bytes_max));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

pub(super) fn clipped(text: &str, bytes_max: usize) -> String {
    if text.len() <= bytes_max {
        return text.to_owned();
    }
    let cut = text.floor_char_boundary(bytes_max.saturating_sub('…'.len_utf8()));
    format!("{}…", &text[..cut])
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn values_are_cut_only_above_the_bound_and_say_so() {
        for (extra, cut) in [(0, false), (1, true)] {
            let base = json!({"output": ""}).to_string().len();
            let mut value = json!({"output": "x".repeat(VALUE_BYTES_MAX - base + extra)});
            clip_value(&mut value, VALUE_BYTES_MAX);
            assert!(value.to_string().len() <= VALUE_BYTES_MAX);
            assert_eq!(value.get("truncated").is_some(), cut);
        }
        let mut wide = Value::Array(vec![json!(1); VALUE_BYTES_MAX]);
        clip_value(&mut wide, VALUE_BYTES_MAX);
        assert_eq!(wide, json!({"truncated": true}));
    }
}
