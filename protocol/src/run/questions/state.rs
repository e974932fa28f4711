use std::marker::PhantomData;

use serde::{Deserialize, Serialize};

use crate::ids::{AskId, QuestionId};
use crate::instant::{Duration, Instant};
use crate::run::guards::{Guards, Rules};
use crate::wire::limits;
pub use crate::wire::structures::QuestionOutcome as Resolution;

/// Most open questions of one run (QUESTIONS_MAX, RATE-2).
pub const QUESTIONS_MAX: usize = limits::QUESTIONS_PER_RUN;

/// Time a question stays open (ASK_TIMEOUT, ASK-01).
pub const ASK_TIMEOUT: Duration = Duration::from_secs(120);

/// Version of a question as it is asked; a question does not change while it is open.
pub const QUESTION_VERSION: u64 = 1;

/// What happens to the questions of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Input {
    /// The agent asked.
    Asked {
        /// The question.
        question_id: QuestionId,
        /// Whether it asks for an approval.
        approval: bool,
    },
    /// A user answered; a "no" is an answer.
    Answered {
        /// Who waits for the reply.
        ask: AskId,
        /// The question.
        question_id: QuestionId,
        /// The version the user saw.
        version: u64,
    },
    /// The run stops or ends: [`Resolution::Cancelled`] at an accepted Stop (ASK-04),
    /// [`Resolution::Interrupted`] at settlement (ASK-05).
    ResolveAll {
        /// How what is open is resolved.
        outcome: Resolution,
    },
}

/// What the questions of a run ask for or announce.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Output {
    /// The question is open; show it.
    Opened {
        /// The question.
        question_id: QuestionId,
        /// Its version.
        version: u64,
        /// When it expires.
        expires_at: Instant,
    },
    /// One question too many, or asked after the end: tell the agent, show it to nobody (RATE-2).
    RefusedToAgent {
        /// The question.
        question_id: QuestionId,
    },
    /// The questions are closed; tell the agent and every subscriber.
    Resolved {
        /// The questions in the order they were asked.
        questions: Vec<QuestionId>,
        /// How.
        outcome: Resolution,
        /// Who waits for the reply, when a user answered.
        ask: Option<AskId>,
    },
    /// The question is not open in this version: reply `gone` (ASK-02).
    AnswerRefused {
        /// Who waits for the reply.
        ask: AskId,
        /// The question.
        question_id: QuestionId,
    },
}

/// A question that waits for its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct OpenQuestion {
    /// The question.
    pub question_id: QuestionId,
    /// Whether it asks for an approval.
    pub approval: bool,
    /// Its version.
    pub version: u64,
    /// From when on it counts as expired.
    pub expires_at: Instant,
}

/// The open questions of one run. Weight: its open questions.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(bound = "")]
pub struct Questions<G: Guards = Rules> {
    pub(super) phase: Phase,
    pub(super) timeout: Duration,
    /// In the order they were asked.
    pub(super) open: Vec<OpenQuestion>,
    #[serde(skip)]
    pub(super) guards: PhantomData<G>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Phase {
    Asking,
    Closed,
}

impl<G: Guards> Default for Questions<G> {
    fn default() -> Self {
        Self::new()
    }
}

impl Questions {
    /// Most bytes [`crate::machine::Machine::weight`] can state.
    pub const WEIGHT_MAX: usize = QUESTIONS_MAX * size_of::<OpenQuestion>();
}

impl<G: Guards> Questions<G> {
    /// No question; each will stay open for [`ASK_TIMEOUT`].
    pub const fn new() -> Self {
        Self::with_timeout(ASK_TIMEOUT)
    }

    /// No question; each will stay open for `timeout`.
    pub const fn with_timeout(timeout: Duration) -> Self {
        Self { phase: Phase::Asking, timeout, open: Vec::new(), guards: PhantomData }
    }

    /// The open questions in the order they were asked.
    pub fn open(&self) -> impl Iterator<Item = &OpenQuestion> {
        self.open.iter()
    }

    /// Whether one more question would be refused to its agent (RATE-2).
    pub fn is_full(&self) -> bool {
        self.open.len() >= QUESTIONS_MAX
    }

    /// Whether a question is open, so that the silence of the agent does not count (LIM-02).
    pub fn is_waiting(&self) -> bool {
        !self.open.is_empty()
    }
}
