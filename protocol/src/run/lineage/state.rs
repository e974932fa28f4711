use std::marker::PhantomData;

use serde::{Deserialize, Serialize};

use crate::ids::{AgentId, AskId, PayloadId, QuestionId, Revision, RunId, Seq, SessionId, TurnId};
use crate::instant::{Duration, Instant};
use crate::journal::row::{Outcome, Reason};
use crate::journal::run_journal::{RowRef, RunJournal};
use crate::journal::turn_journal::TurnJournal;
use crate::run::Phase;
use crate::run::admission::{StartFacts, StartRefusal};
use crate::run::cache::Notice;
use crate::run::changes::{Change, Changes};
use crate::run::guards::{Guards, Rules};
use crate::run::limits::{AGENT_SILENCE_MAX, UNWIND};
use crate::run::ownership::Ownership;
use crate::run::pending::Pending;
use crate::run::questions::{ASK_TIMEOUT, Questions, Resolution};
use crate::run::reclaim::Reclaim;
use crate::run::record::SessionRecord;
use crate::run::row::Row;
use crate::run::settlement::{Failure, Settlement, Verdict};
use crate::run::stop::{Answer, Stop, StopSignal};
use crate::run::worker::{CallResult, Worker};

/// One session with its runs.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(bound = "")]
pub struct Lineage<G: Guards = Rules> {
    pub(super) session_id: SessionId,
    pub(super) limits: RunLimits,
    pub(super) record: SessionRecord,
    pub(super) pending: Pending,
    pub(super) ownership: Ownership,
    /// The reusable-cache entry (L14).
    pub(super) cache: Option<AgentId>,
    /// The lifecycle handle (L14).
    pub(super) handle: Option<AgentId>,
    /// Changes of the session beside its runs.
    pub(super) changes: Changes<G>,
    pub(super) runs: Vec<RunEntry<G>>,
    #[serde(skip)]
    pub(super) guards: PhantomData<G>,
}

/// Configured limits of runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct RunLimits {
    /// A run whose agent produced nothing for this long is ended (LIM-02).
    pub agent_silence_max: Duration,
    /// A run older than this is ended (LIM-01); default none.
    pub run_max: Option<Duration>,
    /// A stopped row without channel is reclaimable at this age (REC-01, REC-03).
    pub unwind: Duration,
    /// How long a question stays open (ASK-01).
    pub ask_timeout: Duration,
}

impl Default for RunLimits {
    fn default() -> Self {
        Self {
            agent_silence_max: AGENT_SILENCE_MAX,
            run_max: None,
            unwind: UNWIND,
            ask_timeout: ASK_TIMEOUT,
        }
    }
}

/// Everything of one run.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(bound = "")]
pub(super) struct RunEntry<G: Guards> {
    pub(super) run_id: RunId,
    pub(super) turn_id: TurnId,
    pub(super) started_at: Instant,
    pub(super) last_output_at: Instant,
    pub(super) stage: Stage,
    /// The run's channel in STREAMS is open.
    pub(super) live: bool,
    /// The retained cancel token (REG-02). Nothing ever unsets it.
    pub(super) token_set: bool,
    pub(super) row: Row,
    pub(super) worker: Worker<G>,
    pub(super) stop: Stop<G>,
    pub(super) settlement: Settlement,
    pub(super) reclaim: Reclaim<G>,
    pub(super) journal: RunJournal,
    pub(super) turn: TurnJournal,
    pub(super) questions: Questions<G>,
    /// Whether the agent of the call has produced anything, so that no other may begin again (table 5.2).
    pub(super) has_output: bool,
    /// How the worker wants the run to end, until its outcome is claimed.
    pub(super) wanted: Option<Verdict>,
    /// How the server ends the run, in place of `cancelled` (STOP-21).
    pub(super) ending: Option<Verdict>,
    /// When a settlement that gave up is tried again (RST-11).
    pub(super) retry_at: Option<Instant>,
    /// Whether the run holds a slot (LIM-03).
    pub(super) slot: bool,
}

/// How far the start of a run has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Stage {
    /// Pending turn, key and `submitted` are being written.
    Admitting { ask: AskId },
    /// The worker is being launched.
    Launching { ask: AskId },
    /// A failed start is being compensated (REC-08).
    Compensating { ask: AskId },
    /// The start was answered.
    Launched,
}

/// A start asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Start {
    /// Who waits for the answer.
    pub ask: AskId,
    /// A fresh run id.
    pub run_id: RunId,
    /// A fresh turn id.
    pub turn_id: TurnId,
    /// What else is known about it.
    pub facts: StartFacts,
}

/// What the store knows of a run that the machine does not hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KnownRun {
    /// The session never had it.
    Never,
    /// It ended before.
    Ended {
        /// How.
        outcome: Outcome,
    },
}

/// Commands and facts of a session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Input {
    /// Start a turn.
    Start(Start),
    /// Stop a run (STOP-01).
    Stop {
        /// Who waits for the answer.
        ask: AskId,
        /// The run.
        run_id: RunId,
        /// What the store knows of it, if the machine does not hold it.
        known: KnownRun,
    },
    /// Answer a question (ASK-01).
    Answer {
        /// Who waits for the reply.
        ask: AskId,
        /// The question.
        question_id: QuestionId,
        /// The version that was answered.
        version: u64,
    },
    /// Change the session (LIFE-03, USE-02).
    Change(Change),
    /// The commit of a change was answered: committed.
    ChangeCommitted {
        /// The change.
        ask: AskId,
        /// The session's revision after it.
        revision: Revision,
    },
    /// The commit of a change was answered: nothing was written.
    ChangeFailed {
        /// The change.
        ask: AskId,
    },
    /// End a run, because the server stops (RST-12).
    EndByServer {
        /// The run.
        run_id: RunId,
        /// Why.
        reason: Reason,
    },
    /// Give up the cached agent, unless the session has a row (REG-13).
    Evict,
    /// Settle a run that was found without settlement at process start (RST-01).
    Recover {
        /// The run.
        run_id: RunId,
        /// Its turn.
        turn_id: TurnId,
        /// When it was accepted.
        pending_started_at: Instant,
        /// The last row of its journal.
        last_seq: Seq,
        /// The semantic terminal in its journal, if any.
        terminal: Option<Outcome>,
    },
    /// A commit for the run was answered.
    Committed {
        /// The run.
        run_id: RunId,
        /// The session's revision after it.
        revision: Revision,
        /// The number of the terminal row it added, if any.
        terminal_seq: Option<Seq>,
    },
    /// A commit for the run failed; nothing was written.
    CommitFailed {
        /// The run.
        run_id: RunId,
    },
    /// A batch of rows was written.
    Persisted {
        /// The run.
        run_id: RunId,
        /// Number of its first row.
        first_seq: Seq,
        /// How many rows.
        count: u32,
    },
    /// A batch of rows failed; none was written.
    AppendFailed {
        /// The run.
        run_id: RunId,
    },
    /// The run's worker exists.
    Launched {
        /// The run.
        run_id: RunId,
    },
    /// The run's worker could not be made.
    LaunchFailed {
        /// The run.
        run_id: RunId,
    },
    /// The worker's first step (REG-01).
    WorkerBegan {
        /// The run.
        run_id: RunId,
    },
    /// The worker constructed an agent.
    AgentConstructed {
        /// The run.
        run_id: RunId,
        /// The agent.
        agent: AgentId,
    },
    /// The worker could not construct an agent.
    ConstructionFailed {
        /// The run.
        run_id: RunId,
    },
    /// The worker asks to register its agent (REG-03).
    RegistrationAsked {
        /// The run.
        run_id: RunId,
    },
    /// The worker has prepared the prompt and asks to invoke (REG-05).
    InvocationAsked {
        /// The run.
        run_id: RunId,
        /// The agent.
        agent: AgentId,
    },
    /// The agent produced a row.
    Produced {
        /// The run.
        run_id: RunId,
        /// The row.
        row: RowRef,
    },
    /// The agent asks a question; the row records it.
    QuestionAsked {
        /// The run.
        run_id: RunId,
        /// A fresh question id.
        question_id: QuestionId,
        /// Whether it asks for a permission.
        approval: bool,
        /// The row.
        row: RowRef,
    },
    /// The invocation returned.
    Returned {
        /// The run.
        run_id: RunId,
        /// How.
        result: CallResult,
    },
    /// The worker has exited, or was lost.
    WorkerExited {
        /// The run.
        run_id: RunId,
    },
}

/// The answer to a start that was not refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "answer")]
pub enum StartAnswer {
    /// The turn was accepted and its worker launched.
    Started {
        /// The run.
        run_id: RunId,
        /// The turn.
        turn_id: TurnId,
        /// When.
        pending_started_at: Instant,
        /// The revision that accepted it.
        revision: Revision,
    },
    /// The idempotency key had an effect: its first outcome is the answer (ADM-13).
    Repeated,
    /// Refused.
    Refused(StartRefusal),
}

/// The answer to a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "answer")]
pub enum ChangeAnswer {
    /// Committed.
    Committed {
        /// The revision it made.
        revision: Revision,
    },
    /// Refused; nothing changed.
    Refused(StartRefusal),
    /// The store did not take it; nothing changed.
    Failed,
}

/// Effects and events of a session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Output {
    /// Write pending turn, active run, key and `submitted` (L3, L7).
    Admit {
        /// The run.
        run_id: RunId,
        /// The turn.
        turn_id: TurnId,
        /// The revision it is computed from.
        expected: Revision,
        /// When.
        at: Instant,
    },
    /// Clear pending turn and active run, free the key, close both journals `failed` (REC-08).
    Compensate {
        /// The run.
        run_id: RunId,
        /// The revision it is computed from.
        expected: Revision,
        /// When.
        at: Instant,
    },
    /// Settle the run (OWN-10).
    Settle {
        /// The run.
        run_id: RunId,
        /// The turn.
        turn_id: TurnId,
        /// The revision it is computed from.
        expected: Revision,
        /// How it ends.
        verdict: Verdict,
        /// Whether recovery settles.
        recovery: bool,
        /// When.
        at: Instant,
    },
    /// Commit a change of the session.
    Change {
        /// The change.
        ask: AskId,
        /// The revision it is computed from.
        expected: Revision,
        /// When.
        at: Instant,
    },
    /// Write the turn journal's `worker_started` (TRN-01).
    StartWorker {
        /// The run.
        run_id: RunId,
        /// When.
        at: Instant,
    },
    /// Append rows to the run's journal (L6).
    Append {
        /// The run.
        run_id: RunId,
        /// The rows, in order.
        rows: Vec<RowRef>,
    },
    /// Launch the run's worker.
    Launch {
        /// The run.
        run_id: RunId,
    },
    /// Construct an agent.
    Construct {
        /// The run.
        run_id: RunId,
    },
    /// Wait no longer for the agent that is being constructed: its run was stopped (STOP-20).
    AbandonConstruction {
        /// The run.
        run_id: RunId,
    },
    /// Let the worker ask for the registration of its agent.
    AskRegistration {
        /// The run.
        run_id: RunId,
    },
    /// Prepare the prompt, then let the worker ask for the invocation.
    Prepare {
        /// The run.
        run_id: RunId,
        /// The agent.
        agent: AgentId,
    },
    /// Call the agent.
    Invoke {
        /// The run.
        run_id: RunId,
        /// The agent.
        agent: AgentId,
    },
    /// Press the agent to end (REG-11, REG-15).
    Signal {
        /// The run.
        run_id: RunId,
        /// The agent.
        agent: AgentId,
        /// How.
        signal: StopSignal,
    },
    /// Close an agent that was published (L14).
    Close {
        /// The agent.
        agent: AgentId,
    },
    /// Clean up a candidate that was never published (REG-09).
    CleanUp {
        /// The agent.
        agent: AgentId,
    },
    /// Tell the machine of the agent cache what became of this session's entry (REG-13).
    TellCache {
        /// What.
        notice: Notice,
    },
    /// Let the worker exit.
    ExitWorker {
        /// The run.
        run_id: RunId,
    },
    /// Release bodies that will not be stored.
    Discard {
        /// The bodies.
        payloads: Vec<PayloadId>,
    },
    /// Give the run's slot back (LIM-03).
    ReleaseSlot {
        /// The run.
        run_id: RunId,
    },
    /// Release everything kept for the run.
    Forget {
        /// The run.
        run_id: RunId,
    },
    /// A start was answered.
    StartAnswered {
        /// Who waits.
        ask: AskId,
        /// The answer.
        answer: StartAnswer,
    },
    /// A change was answered.
    ChangeAnswered {
        /// Who waits.
        ask: AskId,
        /// The answer.
        answer: ChangeAnswer,
    },
    /// A Stop was answered.
    StopAnswered {
        /// The run.
        run_id: RunId,
        /// Who waits.
        asks: Vec<AskId>,
        /// The answer.
        answer: Answer,
    },
    /// A question was opened; it is shown when its row is published.
    QuestionOpened {
        /// The run.
        run_id: RunId,
        /// The question.
        question_id: QuestionId,
        /// Its version.
        version: u64,
        /// When it expires.
        expires_at: Instant,
    },
    /// A question beyond the bound was refused to its agent (RATE-2).
    QuestionRefused {
        /// The question.
        question_id: QuestionId,
    },
    /// Questions were resolved (ASK-03); the agent gets the answer, every window closes them.
    QuestionsResolved {
        /// The run.
        run_id: RunId,
        /// The questions.
        questions: Vec<QuestionId>,
        /// How.
        outcome: Resolution,
        /// Who answered, if somebody did.
        ask: Option<AskId>,
    },
    /// An answer met no open question (ASK-02).
    AnswerRefused {
        /// Who waits.
        ask: AskId,
        /// The question.
        question_id: QuestionId,
    },
    /// Rows are durable and may be shown (JRN-07).
    Published {
        /// The run.
        run_id: RunId,
        /// Number of the first row.
        first_seq: Seq,
        /// The rows.
        rows: Vec<RowRef>,
    },
    /// Rows of a failed batch are shown without number (JRN-06).
    PublishedDegraded {
        /// The run.
        run_id: RunId,
        /// The rows.
        rows: Vec<RowRef>,
    },
    /// The phase of a run changed (OBS-08).
    PhaseChanged {
        /// The run.
        run_id: RunId,
        /// The phase.
        phase: Phase,
        /// Since when.
        since: Instant,
    },
    /// The run is settled: `stream_terminal` (STOP-15).
    RunEnded {
        /// The run.
        run_id: RunId,
        /// The turn.
        turn_id: TurnId,
        /// How it ended.
        outcome: Outcome,
        /// Why.
        reason: Option<Reason>,
        /// Of a failed run: what its error says.
        failure: Option<Failure>,
        /// Number of the terminal row.
        seq: Option<Seq>,
        /// The revision that settled it.
        revision: Revision,
    },
    /// What a session item shows has changed.
    SessionChanged {
        /// The session's revision.
        revision: Revision,
    },
    /// `may_start` turned true (idle transition).
    BecameIdle,
}
