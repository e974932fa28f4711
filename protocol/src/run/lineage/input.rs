use serde::{Deserialize, Serialize};

use super::asks::{KnownRun, Offered, Start};
use crate::flight::Kept;
use crate::ids::{
    AgentId, AskId, QuestionId, Revision, RunId, Seq, SessionId, SteerId, TurnId, WakeupId,
};
use crate::journal::row::{Outcome, Reason};
use crate::journal::run_journal::RowRef;
use crate::run::changes::Change;
use crate::run::recovery::Found;
use crate::run::remote::Fact;
use crate::run::worker::CallResult;

/// Commands and facts of a session.
///
/// None holds words of a person or of an agent, a title, a key or a handle, only ids, counts and codes: bodies are
/// named by id and size. That is what makes a flight recorder harmless.
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
    /// Give a running agent a hint (STR-01).
    Steer(Offered),
    /// The agent of the present invocation waits for the next steer.
    SteerWanted {
        /// The run.
        run_id: RunId,
    },
    /// The agent of the present invocation took the steer it was handed.
    SteerRead {
        /// The run.
        run_id: RunId,
        /// The row that says so.
        row: RowRef,
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
    /// Delete the session (LIFE-01).
    Delete {
        /// Who waits for the answer.
        ask: AskId,
    },
    /// The deletion was committed.
    DeletionCommitted {
        /// The revision after it.
        revision: Revision,
        /// The number of the terminal of the run that it ended, if any.
        terminal_seq: Option<Seq>,
    },
    /// The deletion failed; nothing was written.
    DeletionFailed,
    /// The agent of a run compressed its context, which goes on in a continuation (OWN-06).
    RotationAsked {
        /// The run.
        run_id: RunId,
        /// A fresh session.
        continuation: SessionId,
    },
    /// A rotation was committed: both records are written.
    RotationCommitted {
        /// The revision of the continuation.
        revision: Revision,
    },
    /// A rotation failed; nothing was written.
    RotationFailed,
    /// Take an entry out of the queue (LIFE-06).
    RemoveQueued {
        /// Who waits for the answer.
        ask: AskId,
        /// The entry.
        turn_id: TurnId,
    },
    /// End the hold of the queue (LIFE-07).
    ResumeQueue {
        /// Who waits for the answer.
        ask: AskId,
    },
    /// Process start after recovery, or a freed slot: one attempt to start the queue's head (STR-12).
    QueueTriggered,
    /// A change of the queue was written.
    QueueCommitted {
        /// The session's revision after it.
        revision: Revision,
    },
    /// A change of the queue failed; nothing was written.
    QueueCommitFailed,
    /// A producer asks for a turn (STR-14).
    Wake {
        /// Who waits for the answer.
        ask: AskId,
        /// The identity.
        wakeup: WakeupId,
        /// The session that it is made for.
        session_id: SessionId,
        /// The run that asks, if one does.
        by: Option<RunId>,
    },
    /// A change of the wakeups was written.
    WakeupsCommitted {
        /// The session's revision after it.
        revision: Revision,
    },
    /// A change of the wakeups failed; nothing was written.
    WakeupsCommitFailed,
    /// The server stops: no entry of the queue is started any more (RST-12).
    ServerStopping,
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
    Recover(Found),
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
    /// The run was settled by somebody else, as a commit or a look into the store found: what is left of it here is
    /// swept (REC-06).
    SettledElsewhere {
        /// The run.
        run_id: RunId,
        /// How it ended.
        outcome: Outcome,
        /// The session's revision now.
        revision: Revision,
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
    /// The remote backend of a call says something (STOP-17).
    Remote {
        /// The run.
        run_id: RunId,
        /// What.
        fact: Fact,
    },
    /// The worker has exited, or was lost.
    WorkerExited {
        /// The run.
        run_id: RunId,
    },
}

impl Input {
    /// Whether it asks the session for something that only a session which exists can do (LIFE-02).
    pub(super) const fn names_session(&self) -> bool {
        match self {
            Self::Start(_)
            | Self::Stop { .. }
            | Self::Steer(_)
            | Self::Answer { .. }
            | Self::Change(_)
            | Self::Delete { .. }
            | Self::RemoveQueued { .. }
            | Self::ResumeQueue { .. }
            | Self::QueueTriggered
            | Self::Wake { .. }
            | Self::EndByServer { .. }
            | Self::Recover(_) => true,
            Self::ChangeCommitted { .. }
            | Self::ChangeFailed { .. }
            | Self::DeletionCommitted { .. }
            | Self::DeletionFailed
            | Self::RotationAsked { .. }
            | Self::RotationCommitted { .. }
            | Self::RotationFailed
            | Self::QueueCommitted { .. }
            | Self::QueueCommitFailed
            | Self::WakeupsCommitted { .. }
            | Self::WakeupsCommitFailed
            | Self::ServerStopping
            | Self::Evict
            | Self::Committed { .. }
            | Self::CommitFailed { .. }
            | Self::SettledElsewhere { .. }
            | Self::Persisted { .. }
            | Self::AppendFailed { .. }
            | Self::Launched { .. }
            | Self::LaunchFailed { .. }
            | Self::WorkerBegan { .. }
            | Self::AgentConstructed { .. }
            | Self::ConstructionFailed { .. }
            | Self::RegistrationAsked { .. }
            | Self::InvocationAsked { .. }
            | Self::Produced { .. }
            | Self::SteerWanted { .. }
            | Self::SteerRead { .. }
            | Self::QuestionAsked { .. }
            | Self::Returned { .. }
            | Self::Remote { .. }
            | Self::WorkerExited { .. } => false,
        }
    }
}

impl Kept for Input {
    fn heap_bytes(&self) -> usize {
        match self {
            Self::Recover(found) => found.steers.capacity() * size_of::<SteerId>(),
            _ => 0,
        }
    }
}
