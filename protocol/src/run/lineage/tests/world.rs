//! A session in a test: feeds inputs, keeps what came out.

use crate::ids::{
    AgentId, AskId, MessageId, PayloadId, PayloadRef, Revision, RunId, Seq, SessionId,
};
use crate::ids::{ItemId, QuestionId};
use crate::instant::{Duration, Instant};
use crate::journal::row::{ItemKind, Outcome, RowEvent};
use crate::journal::run_journal::RowRef;
use crate::machine::{Machine, Outbox, Reject};
use crate::run::admission::{KeyFact, SlotFact, StartFacts};
use crate::run::guards::Rules;
use crate::run::lineage::{Input, KnownRun, Lineage, Output, RunLimits, Start};
use crate::run::recovery::Found;
use crate::run::worker::CallResult;
use crate::wire::actions::WhenBusy;

pub(super) const RUN: RunId = RunId::new(1);
pub(super) const AGENT: AgentId = AgentId::new(1);
pub(super) const QUESTION: QuestionId = QuestionId::new(1);
pub(super) const FINE: StartFacts = StartFacts {
    key: KeyFact::Unused,
    agent_available: true,
    attachment_unknown: false,
    storage_low: false,
    slot: SlotFact::Granted,
    when_busy: WhenBusy::Reject,
    is_head: false,
    is_wakeup: false,
    rewrites: None,
    liveness_unreadable: false,
};

pub(super) fn session() -> Lineage<Rules> {
    Lineage::new(SessionId::new(1), Revision::new(1), RunLimits::default())
}

pub(super) fn start(n: u64) -> Input {
    Input::Start(Start {
        ask: AskId::new(n),
        run_id: RunId::new(n),
        turn_id: MessageId::new(n),
        facts: FINE,
    })
}

pub(super) fn stop(n: u64, ask: u64) -> Input {
    Input::Stop { ask: AskId::new(ask), run_id: RunId::new(n), known: KnownRun::Never }
}

/// The run as recovery finds it, with so many rows.
pub(super) fn found(rows: u64) -> Found {
    Found {
        run_id: RUN,
        turn_id: MessageId::new(1),
        pending_started_at: Some(Instant::ZERO),
        last_seq: Seq::new(rows),
        settled: None,
        terminal: None,
        superseded_by: None,
        steers: Vec::new(),
    }
}

pub(super) fn text(payload: u64) -> RowRef {
    RowRef {
        event: RowEvent::Content { item_id: ItemId::new(1), item_kind: ItemKind::Text },
        payload: PayloadRef { id: PayloadId::new(payload), json_bytes: 10 },
        at: Instant::ZERO,
    }
}

pub(super) fn question_row(payload: u64) -> RowRef {
    RowRef { event: RowEvent::QuestionAsked { question_id: QUESTION }, ..text(payload) }
}

pub(super) fn committed(n: u64, revision: u64) -> Input {
    let terminal_seq = None;
    Input::Committed { run_id: RunId::new(n), revision: Revision::new(revision), terminal_seq }
}

pub(super) fn persisted(n: u64, first: u64, count: u32) -> Input {
    Input::Persisted { run_id: RunId::new(n), first_seq: Seq::new(first), count }
}

pub(super) fn returned(n: u64) -> Input {
    Input::Returned { run_id: RunId::new(n), result: CallResult::Completed }
}

/// A session with a clock.
pub(super) struct World {
    pub(super) session: Lineage<Rules>,
    pub(super) now: Instant,
    pub(super) log: Vec<Output>,
}

impl World {
    pub(super) fn new() -> Self {
        Self { session: session(), now: Instant::ZERO, log: Vec::new() }
    }

    /// Steps, keeps the outputs in the log and returns them.
    pub(super) fn feed(&mut self, input: Input) -> Vec<Output> {
        self.try_feed(input.clone()).unwrap_or_else(|reject| panic!("{input:?}: {reject:?}"))
    }

    pub(super) fn try_feed(&mut self, input: Input) -> Result<Vec<Output>, Reject> {
        let mut out = Outbox::new();
        self.session.step(self.now, input, &mut out)?;
        let outputs: Vec<_> = out.drain().collect();
        self.log.extend(outputs.iter().cloned());
        Ok(outputs)
    }

    pub(super) fn pass(&mut self, by: Duration) -> Vec<Output> {
        self.now = self.now.plus(by);
        let mut out = Outbox::new();
        self.session.tick(self.now, &mut out);
        let outputs: Vec<_> = out.drain().collect();
        self.log.extend(outputs.iter().cloned());
        outputs
    }

    /// Starts run `n` and brings it to its admitted invocation by agent `n`.
    pub(super) fn invoke(&mut self, n: u64) {
        self.launch(n);
        let run_id = RunId::new(n);
        let began = self.feed(Input::WorkerBegan { run_id });
        let agent = self.session.cached_agent().unwrap_or(AgentId::new(n));
        if began.contains(&Output::Construct { run_id }) {
            self.feed(Input::AgentConstructed { run_id, agent });
        }
        self.feed(Input::RegistrationAsked { run_id });
        let invoked = self.feed(Input::InvocationAsked { run_id, agent });
        assert!(invoked.contains(&Output::Invoke { run_id, agent }), "{invoked:?}");
    }

    /// Starts run `n` and answers its start.
    pub(super) fn launch(&mut self, n: u64) {
        self.feed(start(n));
        let revision = self.session.revision().get() + 1;
        self.feed(committed(n, revision));
        self.feed(Input::Launched { run_id: RunId::new(n) });
    }

    /// Answers the outstanding commit of run `n`.
    pub(super) fn commit(&mut self, n: u64) -> Vec<Output> {
        let revision = self.session.revision().get() + 1;
        self.feed(committed(n, revision))
    }

    pub(super) fn ended(&self) -> Vec<Outcome> {
        self.log
            .iter()
            .filter_map(|output| match output {
                Output::RunEnded { outcome, .. } => Some(*outcome),
                _ => None,
            })
            .collect()
    }
}
