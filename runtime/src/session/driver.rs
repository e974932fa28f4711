//! The task of one session: inputs in, outputs carried out.

use std::collections::{BTreeMap, VecDeque};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use async_channel::{Receiver, Sender};
use futures_lite::Stream;
use runwarden_protocol::flight::Taken;
use runwarden_protocol::ids::{AgentId, AskId, PayloadId, QuestionId, Revision, RunId, SessionId};
use runwarden_protocol::instant::{Duration, Instant};
use runwarden_protocol::journal::row::Reason;
use runwarden_protocol::machine::{Machine, Outbox, Reject};
use runwarden_protocol::run::changes::Change;
use runwarden_protocol::run::lineage::{Input, KnownRun, Lineage, Output};
use runwarden_protocol::session::record::{SessionHead, Usage};
use runwarden_protocol::session::rewrite::{Reduction, Target};
use runwarden_protocol::session::scene::Scene;
use runwarden_protocol::wire::structures::{ErrorData, Question, SessionItem};
use serde_json::Value;

use super::Message;
use super::changes::PendingChange;
use super::looking::{HeldStart, Look};
use super::recording::Recording;
use super::steers::AcceptedSteer;
use crate::connection::{Peer, ReplyTo};
use crate::dispatch::{PortAnswer, PortCall, Release, fact, port_call};
use crate::frames::SharedFrame;
use crate::hub::Hub;
use crate::ports::agent::{ContextMessage, HandedSteer, QuestionReply};
use crate::ports::store::{ChainTail, Committed, KeyUse, RunFacts};
use crate::ports::{Agent, Store, StoreFailure, World};
use crate::status::Quarantine;
use crate::worker::{Call, Progress};

/// A session without run and subscriber leaves memory after this time.
const UNLOAD_AFTER: Duration = Duration::from_secs(60);

/// Live frames of a run kept for clients that missed a few (delta_ring).
pub(super) const RING_FRAMES_MAX: usize = 256;

/// The driver of one session.
pub(super) struct Driver<W: World, S: Store> {
    pub(super) hub: Hub<W, S>,
    pub(super) session_id: SessionId,
    pub(super) machine: Lineage<W::Guards>,
    pub(super) head: SessionHead,
    pub(super) open_errors: u64,
    inbox: Pin<Box<Receiver<Message>>>,
    calls: Vec<PortFuture>,
    nexts: VecDeque<Next>,
    timer: Option<Timer>,
    pub(super) runs: BTreeMap<RunId, RunState>,
    pub(super) agents: BTreeMap<AgentId, Arc<dyn Agent>>,
    pub(super) payloads: BTreeMap<PayloadId, Arc<str>>,
    pub(super) questions: BTreeMap<QuestionId, OpenQuestion>,
    pub(super) asks: BTreeMap<AskId, Waiting>,
    pub(super) changes: BTreeMap<AskId, PendingChange>,
    pub(super) subscribers: BTreeMap<runwarden_protocol::ids::ConnectionId, Arc<Peer>>,
    /// Runs whose journals were found wanting.
    pub(super) quarantine: Quarantine,
    /// Since when the queue's head waits for a slot.
    pub(super) slot_wanted_since: Option<Instant>,
    pub(super) item_version: u64,
    /// The list entry as it was pushed last; an equal one is not pushed again (LIST-2).
    pub(super) shown_item: Option<SessionItem>,
    next_agent: u64,
    ending: Vec<Sender<()>>,
    recovering: Vec<Sender<()>>,
    /// Starts that wait for a look into the store.
    pub(super) held: Vec<HeldStart>,
    /// Whether the look was answered, and only recovery is waited for.
    pub(super) has_looked: bool,
    /// While the turn that was lost is being settled nothing is answered.
    pub(super) is_sweeping: bool,
    /// Runs that were settled when the session was loaded.
    pub(super) swept: Vec<RunId>,
    idle_since: Instant,
    recording: Recording<W::Guards>,
}

type Timer = (Instant, Pin<Box<dyn Future<Output = ()> + Send>>);

type PortFuture = Pin<Box<dyn Future<Output = Event> + Send>>;

/// What the driver keeps of a run beside its machine.
pub(super) struct RunState {
    pub(super) start: Option<StartDetails>,
    pub(super) context: Option<Vec<ContextMessage>>,
    pub(super) scene: Scene,
    pub(super) ring: VecDeque<RingFrame>,
    /// When its last row was published.
    pub(super) last_event_at: Option<Instant>,
    pub(super) usage: Usage,
    /// What was stored with the settlement, once that was issued.
    pub(super) settled_usage: Option<Usage>,
    pub(super) error: Option<ErrorData>,
    pub(super) failure_detail: Option<String>,
    pub(super) agent: String,
    pub(super) model: Option<String>,
    pub(super) progress: Option<Pin<Box<Receiver<Progress>>>>,
    /// Takes the calls of the run's worker, as long as that has not exited.
    pub(super) worker: Option<Sender<Call>>,
    pub(super) kill: Option<Sender<()>>,
    /// Closed once the store answered that the worker began: no commit of the run goes before it (TRN-01).
    pub(super) began: Option<Receiver<()>>,
    pub(super) steers: Vec<AcceptedSteer>,
    /// An agent that waits for a steer.
    pub(super) steer_reader: Option<Sender<HandedSteer>>,
    /// While it is there the construction of an agent goes on.
    pub(super) construction: Option<Sender<()>>,
    /// The agent that is called now.
    pub(super) invoked: Option<Arc<dyn Agent>>,
    /// The handle that the agent told after its call (AGT-03).
    pub(super) conversation: Option<String>,
}

/// A live frame with the number of its row.
pub(super) struct RingFrame {
    pub(super) seq: u64,
    pub(super) frame: SharedFrame,
    pub(super) numbered: runwarden_protocol::wire::structures::NumberedFrame,
}

/// What a start needs when its turn is written.
pub(super) struct StartDetails {
    pub(super) text: Arc<str>,
    pub(super) key: Option<KeyUse>,
    /// Of a rewrite: the revision its client saw, and what goes at that revision.
    pub(super) rewrites: Option<(Revision, Reduction)>,
}

/// A question with what shows and answers it.
pub(super) struct OpenQuestion {
    pub(super) shown: Question,
    pub(super) reply: Sender<QuestionReply>,
    /// Whether its row is durable, so that it may be shown.
    pub(super) is_published: bool,
}

/// A caller whose reply depends on the machine.
pub(super) enum Waiting {
    /// `send_message`.
    Start {
        /// Who asked.
        reply: ReplyTo,
        /// What its key did before.
        remembered: Option<crate::ports::store::KeyRecord>,
        /// The run prepared for it.
        run_id: RunId,
    },
    /// The queue's head; nobody waits.
    Head {
        /// The run prepared for it.
        run_id: RunId,
    },
    /// `remove_queued` or `resume_queue`.
    Queue {
        /// Who asked.
        reply: ReplyTo,
        /// Its key.
        key: Option<KeyUse>,
        /// The words that were taken out.
        text: Option<Arc<str>>,
    },
    /// `delete_session`.
    Delete {
        /// Who asked.
        reply: ReplyTo,
        /// Its key.
        key: Option<KeyUse>,
    },
    /// `stop_run`.
    Stop(ReplyTo),
    /// `steer_run`, with its words.
    Steer(ReplyTo, Arc<str>),
    /// `answer_question`.
    Answer(ReplyTo, Value),
}

/// What is fed behind the outputs of the present step.
pub(super) enum Next {
    /// An answer that needs no waiting.
    Answer(PortAnswer),
    /// A change that nobody asked for.
    Change(Change),
}

/// What wakes the driver.
pub(super) enum Event {
    Due,
    Answered(PortAnswer),
    /// A commit was answered, with the session as it left it.
    Committed(Box<SessionHead>, PortAnswer),
    Constructed(RunId, Result<Arc<dyn Agent>, String>),
    Prepared(RunId, AgentId, Result<Vec<ContextMessage>, StoreFailure>),
    HeadAdmitted(RunId, Result<(Committed, Arc<str>), StoreFailure>),
    QueueWritten(Option<(AskId, Arc<str>)>, Result<Committed, StoreFailure>),
    Deleted(Instant, PortAnswer),
    HeadRead(Result<Option<SessionHead>, StoreFailure>),
    ErrorsCounted(Result<u64, StoreFailure>),
    TailRead(super::open::Opening, Result<(SessionHead, ChainTail, Vec<String>), StoreFailure>),
    TargetRead(super::rewriting::Rewriting, Result<Target, StoreFailure>),
    /// A run that is to be stopped and that the machine does not hold.
    RunRead {
        reply: ReplyTo,
        run_id: RunId,
        read: Result<Option<RunFacts>, StoreFailure>,
    },
    SettledRead(super::settled::Asked, Result<Option<super::settled::Settled>, StoreFailure>),
    Message(Message),
    Looked(Result<Look, StoreFailure>),
    Closed,
    Progress(RunId, Progress),
    Silent(RunId),
}

impl<W: World, S: Store> Driver<W, S> {
    pub(super) fn new(hub: Hub<W, S>, head: SessionHead, inbox: Receiver<Message>) -> Self {
        let session_id = head.session_id;
        let machine = Lineage::<W::Guards>::new(session_id, head.revision, hub.config().runs);
        let idle_since = hub.now();
        let recording = Recording::new(hub.config(), session_id);
        Self {
            hub,
            session_id,
            machine,
            head,
            open_errors: 0,
            inbox: Box::pin(inbox),
            calls: Vec::new(),
            nexts: VecDeque::new(),
            timer: None,
            runs: BTreeMap::new(),
            agents: BTreeMap::new(),
            payloads: BTreeMap::new(),
            questions: BTreeMap::new(),
            asks: BTreeMap::new(),
            changes: BTreeMap::new(),
            subscribers: BTreeMap::new(),
            quarantine: Quarantine::default(),
            slot_wanted_since: None,
            item_version: 0,
            shown_item: None,
            next_agent: 1,
            ending: Vec::new(),
            recovering: Vec::new(),
            held: Vec::new(),
            has_looked: false,
            is_sweeping: false,
            swept: Vec::new(),
            idle_since,
            recording,
        }
    }

    /// Runs until the session is unloaded.
    pub(super) async fn run(mut self) {
        if !self.find_queue().await {
            self.hub.give_up(self.session_id, &self.inbox);
            return;
        }
        self.count_errors();
        self.sweep_at_load().await;
        self.feed_nexts();
        loop {
            let event = std::future::poll_fn(|cx| self.poll_next(cx)).await;
            if matches!(event, Event::Closed) {
                break;
            }
            let event = if self.machine.is_deleted() { self.outlive(event) } else { Some(event) };
            if let Some(event) = event {
                self.handle(event);
            }
            self.feed_nexts();
            self.note_progress_of_waits();
            if self.machine.is_over() && self.calls.is_empty() {
                self.leave();
                break;
            }
            if self.is_unloadable() && self.hub.now() >= self.idle_since.plus(UNLOAD_AFTER) {
                self.give_up_agent();
                if self.hub.unload(self.session_id, &self.inbox) {
                    break;
                }
            }
        }
        self.recording.end();
        let flight = self.recording.flight(&self.machine);
        if let Some(flight) = flight.filter(|_| !self.machine.is_deleted()) {
            self.hub.keep_flight(self.session_id, flight);
        }
    }

    fn feed_nexts(&mut self) {
        while let Some(next) = self.nexts.pop_front() {
            self.feed_next(next);
        }
    }

    /// The next event, in a fixed order: deadline, answers of ports, messages, agents.
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Event> {
        if self.poll_timer(cx) {
            return Poll::Ready(Event::Due);
        }
        for i in 0..self.calls.len() {
            if let Poll::Ready(event) = self.calls[i].as_mut().poll(cx) {
                drop(self.calls.remove(i));
                return Poll::Ready(event);
            }
        }
        if self.is_sweeping {
            return Poll::Pending;
        }
        match self.inbox.as_mut().poll_next(cx) {
            Poll::Ready(Some(message)) => return Poll::Ready(Event::Message(message)),
            Poll::Ready(None) if !self.machine.is_deleted() => return Poll::Ready(Event::Closed),
            // Nobody can name a deleted session any more; its worker may still be on its way out.
            Poll::Ready(None) | Poll::Pending => {}
        }
        for (run_id, run) in &mut self.runs {
            let Some(progress) = run.progress.as_mut() else { continue };
            if !self.machine.takes_events(*run_id) {
                continue;
            }
            match progress.as_mut().poll_next(cx) {
                Poll::Ready(Some(progress)) => {
                    return Poll::Ready(Event::Progress(*run_id, progress));
                }
                Poll::Ready(None) => return Poll::Ready(Event::Silent(*run_id)),
                Poll::Pending => {}
            }
        }
        Poll::Pending
    }

    fn poll_timer(&mut self, cx: &mut Context<'_>) -> bool {
        let unload = self.is_unloadable().then(|| self.idle_since.plus(UNLOAD_AFTER));
        let due = self.machine.deadline().map(|(at, _)| at).into_iter().chain(unload).min();
        let Some(due) = due else {
            self.timer = None;
            return false;
        };
        // Deadlines move back far more often than they pass: a timer that fires early is set anew.
        loop {
            if self.timer.as_ref().is_none_or(|(at, _)| *at > due) {
                self.timer = Some((due, Box::pin(self.hub.world().sleep_until(due))));
            }
            let Some((at, sleep)) = &mut self.timer else { return false };
            if sleep.as_mut().poll(cx).is_pending() {
                return false;
            }
            let fired_at = *at;
            self.timer = None;
            if fired_at == due {
                return true;
            }
        }
    }

    fn handle(&mut self, event: Event) {
        match event {
            Event::Due => self.tick(),
            Event::Answered(answer) => self.feed(fact(answer)),
            Event::Committed(head, answer) => {
                self.head_learned(*head);
                self.feed(fact(answer));
            }
            Event::Constructed(run_id, made) => self.constructed(run_id, made),
            Event::Prepared(run_id, agent, read) => self.prepared(run_id, agent, read),
            Event::HeadAdmitted(run_id, admitted) => self.head_admitted(run_id, admitted),
            Event::QueueWritten(removed, written) => self.queue_written(removed, written),
            Event::Deleted(at, answer) => self.deletion_written(at, answer),
            Event::HeadRead(read) => self.head_read(read),
            Event::ErrorsCounted(read) => self.errors_counted(read),
            Event::TailRead(opening, read) => self.tail_read(opening, read),
            Event::TargetRead(rewriting, read) => self.target_read(rewriting, read),
            Event::RunRead { reply, run_id, read } => self.run_read(reply, run_id, read),
            Event::SettledRead(asked, read) => self.settled_read(asked, read),
            Event::Message(message) => self.take(message),
            Event::Progress(run_id, progress) => self.progressed(run_id, progress),
            Event::Silent(run_id) => self.went_silent(run_id),
            Event::Looked(look) => self.looked(look),
            Event::Closed => {}
        }
    }

    fn take(&mut self, message: Message) {
        match message {
            Message::Open { reply, generation, known } => self.open(reply, generation, known),
            Message::Close { reply } => self.close(reply),
            Message::PeerGone { connection } => {
                self.subscribers.remove(&connection);
                self.idle_since = self.hub.now();
            }
            Message::GetStream { reply, entity_id, generation, known_seq } => {
                self.get_stream(reply, entity_id, generation, known_seq);
            }
            Message::Send { reply, text, attachment_named, when_busy, key, remembered } => {
                let start = StartDetails { text: text.into(), key, rewrites: None };
                self.send(reply, start, attachment_named, when_busy, remembered);
            }
            Message::Rewrite { reply, wanted, key, remembered } => {
                self.rewrite(reply, wanted, key, remembered);
            }
            Message::RemoveQueued { reply, turn_id, key } => {
                self.remove_queued(reply, turn_id, key);
            }
            Message::Delete { reply, key } => self.delete(reply, key),
            Message::ResumeQueue { reply, key } => self.resume_queue(reply, key),
            Message::TriggerQueue => self.feed(Input::QueueTriggered),
            Message::SlotFreed => self.slot_freed(),
            Message::ServerStopping => self.feed(Input::ServerStopping),
            Message::Stop { reply, run_id } => self.stop(reply, run_id),
            Message::Steer { reply, run_id, text } => self.steer(reply, run_id, &text),
            Message::Update { reply, wanted, key, remembered } => {
                self.update(reply, wanted, key, remembered);
            }
            Message::Answer { reply, question_id, version, answer } => {
                self.answer(reply, question_id, version, answer);
            }
            Message::ListQuestions { reply } => self.list_questions(reply),
            Message::TakeFlight { reply } => {
                // Nobody may wait any more.
                let _ = reply.try_send(self.recording.flight(&self.machine));
            }
            Message::Report { reply } => {
                let _ = reply.try_send(self.report());
            }
            Message::ErrorsChanged => self.count_errors(),
            Message::Evict => self.give_up_agent(),
            Message::Recover { run, done } => {
                self.recovering.push(done);
                self.recover_unless_swept(*run);
            }
            Message::EndRuns { done } => {
                self.ending.push(done);
                let runs: Vec<_> = self.machine.stoppable_runs().collect();
                for run_id in runs {
                    self.feed(Input::EndByServer { run_id, reason: Reason::Shutdown });
                }
            }
        }
    }

    /// Feeds one input and carries out what comes out.
    pub(super) fn feed(&mut self, input: Input) {
        self.try_feed(input);
    }

    /// Feeds one input; `false` when the machine turned it away.
    pub(super) fn try_feed(&mut self, input: Input) -> bool {
        let result = self.step(Taken::Input(input));
        if let Err(reject) = &result {
            tracing::debug!(session = %self.session_id, ?reject, "input was turned away");
        }
        result.is_ok()
    }

    fn tick(&mut self) {
        // The timer also wakes a session that may be unloaded, which is no step of its machine.
        if self.machine.deadline().is_some_and(|(at, _)| at <= self.hub.now()) {
            // Time is never turned away.
            let _ = self.step(Taken::Tick);
        }
    }

    /// The one place where the machine takes a step.
    fn step(&mut self, taken: Taken<Input>) -> Result<(), Reject> {
        let now = self.hub.now();
        let mut out = Outbox::new();
        let recorded = self.recording.before(&self.machine, now, &taken);
        let result = match taken {
            Taken::Input(input) => self.machine.step(now, input, &mut out),
            Taken::Tick => {
                self.machine.tick(now, &mut out);
                Ok(())
            }
        };
        self.recording.after(now, recorded, out.as_slice(), result.err());
        self.carry_out(out);
        result
    }

    fn carry_out(&mut self, mut out: Outbox<Output>) {
        for output in out.drain() {
            tracing::trace!(session = %self.session_id, layers = output.layer_names(), ?output);
            match port_call(output) {
                PortCall::Store(run_id, call) => self.call_store(run_id, call),
                PortCall::Change { ask, expected, at } => self.commit_change(ask, expected, at),
                PortCall::Delete { ask, run, expected, at } => {
                    self.commit_deletion(ask, run, expected, at);
                }
                // No store of this release keeps continuations: the run goes on where it is.
                PortCall::Rotate { .. } => self.next(Next::Answer(PortAnswer::Rotated(None))),
                PortCall::Queue(call) => self.call_queue(call),
                PortCall::Wakeups(call) => self.call_wakeups(call),
                PortCall::Worker(run_id, call) => self.call_worker(run_id, call),
                PortCall::CloseAgent(agent) => {
                    if let Some(agent) = self.agents.remove(&agent) {
                        agent.close();
                    }
                }
                PortCall::TellCache(notice) => self.hub.tell_cache(self.session_id, notice),
                PortCall::Release(Release::Payloads(payloads)) => {
                    for payload in payloads {
                        self.payloads.remove(&payload);
                    }
                }
                PortCall::Release(Release::Slot(run_id)) => self.hub.release_slot(run_id),
                PortCall::Release(Release::Run(run_id)) => {
                    if let Some(run) = self.runs.remove(&run_id) {
                        self.keep_late_usage(run_id, &run);
                    }
                    self.idle_since = self.hub.now();
                }
                PortCall::Announce(announcement) => self.announce(announcement),
            }
        }
    }

    /// Queues an answer that needs no waiting, behind the outputs of this step.
    pub(super) fn answer_next(&mut self, answer: PortAnswer) {
        self.next(Next::Answer(answer));
    }

    /// Queues what is fed behind the outputs of this step.
    pub(super) fn next(&mut self, next: Next) {
        self.nexts.push_back(next);
    }

    fn feed_next(&mut self, next: Next) {
        match next {
            Next::Answer(PortAnswer::Produced(run_id, row)) => {
                self.produced(PortAnswer::Produced(run_id, row), row);
            }
            Next::Answer(answer) => self.feed(fact(answer)),
            Next::Change(change) => self.feed(Input::Change(change)),
        }
    }

    /// Starts a call of a port; its first poll is the next one, in the order of the calls.
    pub(super) fn call(&mut self, call: impl Future<Output = Event> + Send + 'static) {
        self.calls.push(Box::pin(call));
    }

    pub(super) fn fresh_agent_id(&mut self) -> AgentId {
        let id = AgentId::new(self.next_agent);
        self.next_agent += 1;
        id
    }

    pub(super) fn known_run(facts: Option<&RunFacts>, session_id: SessionId) -> KnownRun {
        match facts.filter(|facts| facts.session_id == session_id).and_then(|facts| facts.outcome) {
            Some(outcome) => KnownRun::Ended { outcome },
            None => KnownRun::Never,
        }
    }

    pub(super) fn idle_since_now(&mut self) {
        self.idle_since = self.hub.now();
    }

    /// Takes no more messages; those that came in before.
    pub(super) fn close_inbox(&mut self) -> Vec<Message> {
        self.inbox.close();
        std::iter::from_fn(|| self.inbox.try_recv().ok()).collect()
    }

    fn is_unloadable(&self) -> bool {
        !self.machine.is_deleted()
            && self.subscribers.is_empty()
            && self.calls.is_empty()
            && self.asks.is_empty()
            && self.held.is_empty()
            && self.machine.is_at_rest()
    }

    fn give_up_agent(&mut self) {
        self.feed(Input::Evict);
    }

    /// Releases those who wait until no run is left, or until recovery was tried once.
    fn note_progress_of_waits(&mut self) {
        if !self.ending.is_empty() && self.machine.stoppable_runs().next().is_none() {
            self.ending.clear();
        }
        if !self.recovering.is_empty() && self.machine.is_recovery_answered() {
            self.recovering.clear();
        }
        if self.has_looked && self.machine.is_recovery_answered() {
            self.decide_held(false);
        }
        self.is_sweeping &= !self.machine.is_recovery_answered();
    }
}
