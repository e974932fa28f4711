use std::collections::VecDeque;
use std::marker::PhantomData;

use serde::{Deserialize, Serialize};

use super::asks::{ChangeAnswer, DeletionAnswer, QueueAnswer, Start, StartAnswer, SteerAnswer};
use crate::ids::{
    AgentId, AskId, PayloadId, QuestionId, Revision, RunId, Seq, SessionId, SteerId, TurnId,
    WakeupId,
};
use crate::instant::{Duration, Instant};
use crate::journal::row::{Outcome, Reason};
use crate::journal::run_journal::{RowRef, RunJournal};
use crate::journal::turn_journal::TurnJournal;
use crate::run::Phase;
use crate::run::cache::Notice;
use crate::run::changes::Changes;
use crate::run::deletion::{DeletedRun, Deletion};
use crate::run::guards::{Guards, Rules};
use crate::run::limits::{AGENT_SILENCE_MAX, UNWIND};
use crate::run::ownership::Ownership;
use crate::run::pending::Pending;
use crate::run::questions::{ASK_TIMEOUT, Questions, Resolution};
use crate::run::queue::{self, Queue};
use crate::run::reclaim::Reclaim;
use crate::run::record::SessionRecord;
use crate::run::remote::Remote;
use crate::run::rotation::Rotation;
use crate::run::row::Row;
use crate::run::settlement::{Failure, Settlement, Verdict};
use crate::run::steer::{SettledSteer, Steers};
use crate::run::stop::{Answer, Stop, StopSignal};
use crate::run::store_kind::StoreKind;
use crate::run::wakeups::{self, Wakeups};
use crate::run::worker::Worker;
use crate::wire::codes::Code;

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
    #[serde(default)]
    pub(super) queue: Queue<G>,
    /// Where no producer ever asked for a turn, nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) wakeups: Option<Box<Wakeups<G>>>,
    /// Changes that wait until the session's record is free, in the order they were asked for.
    #[serde(default)]
    pub(super) line: VecDeque<Asked>,
    /// A trigger of STR-12 that has not led to its attempt yet.
    #[serde(default)]
    pub(super) trigger_due: bool,
    /// The head was refused for want of room in this machine, not of a slot.
    #[serde(default)]
    pub(super) put_off: bool,
    /// The server stops: entries stay for its next start (RST-12).
    #[serde(default)]
    pub(super) stopping: bool,
    #[serde(default, skip_serializing_if = "Deletion::is_none")]
    pub(super) deletion: Deletion,
    #[serde(default, skip_serializing_if = "Rotation::is_none")]
    pub(super) rotation: Rotation,
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
    /// The kind of the store.
    #[serde(default, skip_serializing_if = "StoreKind::is_exclusive")]
    pub store: StoreKind,
}

impl Default for RunLimits {
    fn default() -> Self {
        Self {
            agent_silence_max: AGENT_SILENCE_MAX,
            run_max: None,
            unwind: UNWIND,
            ask_timeout: ASK_TIMEOUT,
            store: StoreKind::Exclusive,
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
    #[serde(default)]
    pub(super) steers: Steers,
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
    /// Whether its turn was the head of the queue.
    #[serde(default)]
    pub(super) is_head: bool,
    /// Whether its turn began with a rewrite.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) rewrites: bool,
    /// Of a call on a remote backend.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) remote: Option<Remote>,
}

/// A change that waits for its turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "asked")]
pub(super) enum Asked {
    Start(Start),
    Remove { ask: AskId, turn_id: TurnId },
    Resume { ask: AskId },
    Wake { ask: AskId, wakeup: WakeupId, by: Option<RunId> },
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
        /// Whether the turn is the head of the queue, which this commit removes (STR-10).
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        is_head: bool,
        /// What it changes in the stored wakeups (STR-14, STR-16).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        wakeups: Option<wakeups::Written>,
        /// When.
        at: Instant,
    },
    /// Change the stored queue (STR-09, STR-10).
    ChangeQueue {
        /// The change.
        change: queue::Change,
        /// The hold in force after it; none releases it.
        held: Option<Code>,
        /// The revision it is computed from.
        expected: Revision,
        /// When.
        at: Instant,
    },
    /// Start the queue's head: answered by a start with `is_head` (STR-12).
    StartHead {
        /// The entry.
        turn_id: TurnId,
    },
    /// Change the stored wakeups.
    ChangeWakeups {
        /// What is written.
        written: wakeups::Written,
        /// The revision it is computed from.
        expected: Revision,
        /// When.
        at: Instant,
    },
    /// Start the oldest wakeup: answered by a start with `is_wakeup` (STR-12).
    StartWakeup {
        /// The wakeup.
        wakeup: WakeupId,
    },
    /// Clear pending turn and active run, free the key, close both journals `failed` (REC-08).
    Compensate {
        /// The run.
        run_id: RunId,
        /// The revision it is computed from.
        expected: Revision,
        /// Of the queue's head: put it back, with this hold (REC-08, STR-13).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        requeue: Option<Code>,
        /// What it changes in the stored wakeups (REC-08).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        wakeups: Option<wakeups::Written>,
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
        /// The hold of the queue that is stable with it (STR-18).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        hold: Option<Code>,
        /// Steers that get their rows with it (STR-04, STR-07).
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        steers: Vec<SettledSteer>,
        /// What it changes in the stored wakeups (STR-16).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        wakeups: Option<wakeups::Written>,
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
    /// Delete the session with everything of it, and end the run that is not settled (LIFE-01).
    Delete {
        /// Who asked.
        ask: AskId,
        /// The run.
        run: Option<DeletedRun>,
        /// The revision it is computed from.
        expected: Revision,
        /// When.
        at: Instant,
    },
    /// Make the continuation and move everything of the session to it, with both records in one commit: pending turn,
    /// active run, and the queue, which is held `session_rotated` (OWN-06, STR-19). Its first revision follows that
    /// of the parent.
    Rotate {
        /// The run.
        run_id: RunId,
        /// The session.
        from: SessionId,
        /// The session that goes on.
        continuation: SessionId,
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
    /// Ask the remote backend of the call to stop (STOP-17).
    StopRemote {
        /// The run.
        run_id: RunId,
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
    /// The deletion was answered.
    DeletionAnswered {
        /// Who waits.
        ask: AskId,
        /// The answer.
        answer: DeletionAnswer,
    },
    /// A change of the queue was answered.
    QueueAnswered {
        /// Who waits.
        ask: AskId,
        /// The answer.
        answer: QueueAnswer,
    },
    /// Producers of wakeups were answered.
    WakeupsAnswered {
        /// Who waits.
        asks: Vec<AskId>,
        /// The answer.
        answer: wakeups::Answer,
    },
    /// A steer was answered; an accepted one after its row was published.
    SteerAnswered {
        /// The run.
        run_id: RunId,
        /// Who waits.
        ask: AskId,
        /// The answer.
        answer: SteerAnswer,
    },
    /// The agent that waits may take a steer now (STR-05).
    HandSteer {
        /// The run.
        run_id: RunId,
        /// The steer.
        steer_id: SteerId,
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
        /// Steers it settled; their rows stand before the terminal (STR-07).
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        steers: Vec<SettledSteer>,
    },
    /// The run goes on in another session (CMP-12).
    SessionRotated {
        /// The run.
        run_id: RunId,
        /// The session it began in, or was rotated to before.
        from: SessionId,
        /// The session that goes on.
        continuation: SessionId,
        /// Its revision.
        revision: Revision,
    },
    /// The run goes on where it is: its session was not rotated.
    RotationRefused {
        /// The run.
        run_id: RunId,
    },
    /// What a session item shows has changed.
    SessionChanged {
        /// The session's revision.
        revision: Revision,
    },
    /// `may_start` turned true (idle transition).
    BecameIdle,
}
