//! Agents that do what a script says, and a book of everything that was asked of them.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use async_channel::{Receiver, Sender};
use futures_lite::FutureExt;
use runwarden_protocol::ids::RunId;
use runwarden_protocol::instant::{Duration, Instant};
use runwarden_protocol::journal::row::ItemKind;
use runwarden_runtime::ports::agent::{
    BoxFuture, Construction, ContextMessage, FailureKind, QuestionDraft, QuestionReply,
};
use runwarden_runtime::ports::profile::{AgentCapabilities, AgentContext, AgentProfile};
use runwarden_runtime::ports::{
    self, Agent, AgentFactory, AgentFailure, EventSink, Invocation, Returned, Signal, World,
};
use serde_json::{Value, json};

use super::executor::lock;
use super::world::SimWorld;

/// What agents of a simulation do, and what was asked of them. Outlives the server's processes.
#[derive(Clone, Default)]
pub struct Agents {
    shared: Arc<Mutex<Shared>>,
}

#[derive(Default)]
struct Shared {
    constructions: VecDeque<Construct>,
    scripts: VecDeque<Script>,
    log: Vec<(Instant, AgentEvent)>,
    made: u32,
    has_own_context: bool,
}

/// How the next construction goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Construct {
    /// It succeeds after this time.
    After(Duration),
    /// It fails after this time.
    Fails(Duration),
    /// It never ends by itself.
    Hangs,
}

/// What one invocation does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Script {
    /// In this order.
    pub acts: Vec<Act>,
    /// How it takes a Stop.
    pub manner: Manner,
}

/// One thing an agent does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    /// It says a piece of its answer.
    Say(&'static str),
    /// It shows the value of a tool, with an output of so many bytes.
    Show(usize),
    /// It asks a question and waits for the answer.
    Ask,
    /// It waits for a steer.
    Hear,
    /// It works for a while without a word.
    Work(Duration),
    /// It never does anything again.
    Hang,
    /// Its process dies.
    Die,
    /// It gives up.
    Fail,
}

/// How an agent takes a Stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Manner {
    /// It returns this long after a signal at least as urgent.
    Yields {
        /// The mildest signal it hears.
        to: Signal,
        /// How long it takes.
        after: Duration,
    },
    /// It hears nothing: only dropping its call ends it.
    Deaf,
}

/// What was asked of an agent, or happened to it. Agents are numbered from 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AgentEvent {
    /// It was constructed.
    Constructed {
        /// The agent.
        agent: u32,
        /// The handle it was to go on from.
        resume: Option<String>,
    },
    /// It was called.
    Invoked {
        /// The agent.
        agent: u32,
        /// For this run.
        run_id: RunId,
        /// With this context.
        context: Vec<ContextMessage>,
    },
    /// It was pressed to end.
    Signalled {
        /// The agent.
        agent: u32,
        /// How.
        signal: Signal,
    },
    /// Its question was answered, or not.
    Answered {
        /// The agent.
        agent: u32,
        /// What it was told.
        answer: Option<Value>,
    },
    /// It read a steer.
    Heard {
        /// The agent.
        agent: u32,
        /// Of this run.
        run_id: RunId,
        /// What it was told.
        text: String,
    },
    /// A call is over.
    Returned {
        /// The agent.
        agent: u32,
        /// Of this run.
        run_id: RunId,
        /// Whether it was dropped instead of coming to its end.
        is_dropped: bool,
    },
    /// It was closed.
    Closed {
        /// The agent.
        agent: u32,
    },
}

impl Script {
    /// Says one thing and returns.
    pub fn says(text: &'static str) -> Self {
        Self { acts: vec![Act::Say(text)], manner: Manner::PROMPT }
    }

    /// Does these things; returns at once when interrupted.
    pub fn of(acts: &[Act]) -> Self {
        Self { acts: acts.to_vec(), manner: Manner::PROMPT }
    }

    /// The same acts, stopped in another manner.
    #[must_use]
    pub fn with(self, manner: Manner) -> Self {
        Self { manner, ..self }
    }
}

impl Manner {
    /// Returns at once when interrupted.
    pub const PROMPT: Self = Self::Yields { to: Signal::Interrupt, after: Duration::ZERO };
}

impl Agents {
    /// What the next invocations do, in order; without a script an invocation answers `done`.
    pub fn will(&self, scripts: impl IntoIterator<Item = Script>) {
        lock(&self.shared).scripts.extend(scripts);
    }

    /// How the next constructions go, in order; others succeed at once.
    pub fn constructed(&self, constructions: impl IntoIterator<Item = Construct>) {
        lock(&self.shared).constructions.extend(constructions);
    }

    /// From now on agents keep their conversations themselves and find them again (AGT-03).
    pub fn keep_conversations(&self) {
        lock(&self.shared).has_own_context = true;
    }

    /// What was planned and not done is not done any more.
    pub fn forget_plans(&self) {
        let mut shared = lock(&self.shared);
        shared.scripts.clear();
        shared.constructions.clear();
    }

    /// Everything so far.
    pub fn log(&self) -> Vec<(Instant, AgentEvent)> {
        lock(&self.shared).log.clone()
    }

    /// Everything so far, without its times.
    pub fn events(&self) -> Vec<AgentEvent> {
        lock(&self.shared).log.iter().map(|(_, event)| event.clone()).collect()
    }

    /// How many agents exist: constructed and not closed.
    pub fn open(&self) -> usize {
        let shared = lock(&self.shared);
        let is = |wanted: fn(&AgentEvent) -> bool| {
            shared.log.iter().filter(|(_, event)| wanted(event)).count()
        };
        is(|event| matches!(event, AgentEvent::Constructed { .. }))
            .saturating_sub(is(|event| matches!(event, AgentEvent::Closed { .. })))
    }

    /// The factory of one process.
    pub fn factory(&self, world: SimWorld) -> Arc<dyn AgentFactory> {
        Arc::new(Factory { agents: self.clone(), world })
    }

    fn note(&self, now: Instant, event: AgentEvent) {
        lock(&self.shared).log.push((now, event));
    }
}

struct Factory {
    agents: Agents,
    world: SimWorld,
}

impl AgentFactory for Factory {
    fn name(&self) -> &str {
        "scripted"
    }

    fn profile(&self) -> AgentProfile {
        let profile = AgentProfile::new("scripted".to_owned(), "Scripted".to_owned());
        let resume = lock(&self.agents.shared).has_own_context;
        let context = if resume { AgentContext::Own } else { AgentContext::Transcript };
        let capabilities = AgentCapabilities { steer: true, attachments: false, resume };
        profile.declare(context, capabilities).expect("its own context is one it resumes")
    }

    fn construct(
        &self,
        construction: Construction,
    ) -> BoxFuture<'_, Result<Arc<dyn Agent>, AgentFailure>> {
        let (agents, world) = (self.agents.clone(), self.world.clone());
        Box::pin(async move {
            let how = lock(&agents.shared).constructions.pop_front();
            match how.unwrap_or(Construct::After(Duration::ZERO)) {
                Construct::After(time) => world.sleep(time).await,
                Construct::Hangs => std::future::pending().await,
                Construct::Fails(time) => {
                    world.sleep(time).await;
                    return Err(failure(FailureKind::Unreachable));
                }
            }
            let number = {
                let mut shared = lock(&agents.shared);
                shared.made += 1;
                shared.made
            };
            let resume = construction.resume;
            let has_own_context = lock(&agents.shared).has_own_context;
            let conversation = has_own_context
                .then(|| resume.clone().unwrap_or_else(|| format!("conversation-{number}")));
            agents.note(world.now(), AgentEvent::Constructed { agent: number, resume });
            let call = Mutex::default();
            let agent: Arc<dyn Agent> =
                Arc::new(Scripted { number, agents, world, conversation, call });
            Ok(agent)
        })
    }

    fn probe(&self) -> BoxFuture<'_, Result<AgentProfile, AgentFailure>> {
        Box::pin(std::future::ready(Ok(self.profile())))
    }
}

struct Scripted {
    number: u32,
    agents: Agents,
    world: SimWorld,
    /// The handle of the conversation it keeps itself.
    conversation: Option<String>,
    /// Where the signals of the running call go.
    call: Mutex<Option<Sender<Signal>>>,
}

impl Agent for Scripted {
    fn invoke(
        self: Arc<Self>,
        invocation: Invocation,
        sink: EventSink,
    ) -> BoxFuture<'static, Returned> {
        let (agent, run_id) = (self.number, invocation.run_id);
        let context = invocation.context;
        self.agents.note(self.world.now(), AgentEvent::Invoked { agent, run_id, context });
        let script = lock(&self.agents.shared).scripts.pop_front();
        let script = script.unwrap_or_else(|| Script::says("done"));
        let (pressed, signals) = async_channel::unbounded();
        *lock(&self.call) = Some(pressed);
        let call = Call { agent: self, run_id, is_dropped: true };
        Box::pin(async move {
            let returned = call.act(&script.acts, &sink).or(call.yields(script.manner, &signals));
            let returned = returned.await;
            call.end();
            returned
        })
    }

    fn signal(&self, signal: Signal) {
        let agent = self.number;
        self.agents.note(self.world.now(), AgentEvent::Signalled { agent, signal });
        if let Some(call) = lock(&self.call).as_ref() {
            // A call that is over needs none.
            let _ = call.try_send(signal);
        }
    }

    fn conversation(&self) -> Option<String> {
        self.conversation.clone()
    }

    fn close(&self) {
        self.agents.note(self.world.now(), AgentEvent::Closed { agent: self.number });
    }
}

/// One call of an agent; notes its end.
struct Call {
    agent: Arc<Scripted>,
    run_id: RunId,
    is_dropped: bool,
}

impl Call {
    async fn act(&self, acts: &[Act], sink: &EventSink) -> Returned {
        for act in acts {
            match *act {
                Act::Say(text) => {
                    let (item, kind) = (1, ItemKind::Text);
                    let event = ports::AgentEvent::Text { item, kind, text: text.to_owned() };
                    if sink.send(event).await.is_err() {
                        return Returned::Interrupted;
                    }
                }
                Act::Show(bytes) => {
                    let (item, kind) = (2, ItemKind::Tool);
                    let output = "x".repeat(bytes);
                    let value = json!({"name": "show", "status": "done", "output": output});
                    let event = ports::AgentEvent::Update { item, kind, value };
                    if sink.send(event).await.is_err() {
                        return Returned::Interrupted;
                    }
                }
                Act::Ask => {
                    let (reply, answer) = async_channel::bounded(1);
                    let event = ports::AgentEvent::Question { question: question(), reply };
                    if sink.send(event).await.is_err() {
                        return Returned::Interrupted;
                    }
                    let answer = match answer.recv().await {
                        Ok(QuestionReply::Answered(answer)) => Some(answer),
                        Ok(QuestionReply::Unanswered) | Err(_) => None,
                    };
                    let agent = self.agent.number;
                    let event = AgentEvent::Answered { agent, answer };
                    self.agent.agents.note(self.agent.world.now(), event);
                }
                Act::Hear => {
                    let Ok(text) = sink.next_steer().await else { return Returned::Interrupted };
                    let (agent, run_id) = (self.agent.number, self.run_id);
                    let event = AgentEvent::Heard { agent, run_id, text };
                    self.agent.agents.note(self.agent.world.now(), event);
                }
                Act::Work(time) => self.agent.world.sleep(time).await,
                Act::Hang => std::future::pending().await,
                Act::Die => return Returned::Failed(failure(FailureKind::Lost)),
                Act::Fail => return Returned::Failed(failure(FailureKind::Provider)),
            }
        }
        Returned::Completed
    }

    fn end(mut self) {
        self.is_dropped = false;
    }

    async fn yields(&self, manner: Manner, signals: &Receiver<Signal>) -> Returned {
        let Manner::Yields { to, after } = manner else { return std::future::pending().await };
        while let Ok(signal) = signals.recv().await {
            if signal >= to {
                self.agent.world.sleep(after).await;
                return Returned::Interrupted;
            }
        }
        std::future::pending().await
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        let event = AgentEvent::Returned {
            agent: self.agent.number,
            run_id: self.run_id,
            is_dropped: self.is_dropped,
        };
        self.agent.agents.note(self.agent.world.now(), event);
    }
}

fn question() -> QuestionDraft {
    QuestionDraft {
        approval: false,
        prompt: "Which one?".to_owned(),
        options: vec!["this".to_owned(), "that".to_owned()],
        multi: false,
        allow_custom: false,
    }
}

fn failure(kind: FailureKind) -> AgentFailure {
    AgentFailure { kind, detail: "as its script says".to_owned() }
}
