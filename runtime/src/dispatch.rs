//! The one place where effects of a session become calls of ports, and answers of ports become facts.
//!
//! The drivers await ports between these two functions; the exhaustive search calls the same functions
//! around model ports and chooses when each answer arrives. Neither decides anything here.

use runwarden_protocol::ids::{
    AgentId, AskId, PayloadId, QuestionId, Revision, RunId, Seq, SessionId, SteerId, TurnId,
    WakeupId,
};
use runwarden_protocol::instant::Instant;
use runwarden_protocol::journal::row::{Outcome, Reason};
use runwarden_protocol::journal::run_journal::RowRef;
use runwarden_protocol::run::Phase;
use runwarden_protocol::run::cache::Notice;
use runwarden_protocol::run::deletion::DeletedRun;
use runwarden_protocol::run::lineage::{
    ChangeAnswer, DeletionAnswer, Input, Output, QueueAnswer, Start, StartAnswer, SteerAnswer,
};
use runwarden_protocol::run::questions::Resolution;
use runwarden_protocol::run::queue::Change;
use runwarden_protocol::run::remote::Fact;
use runwarden_protocol::run::settlement::{Failure, Verdict};
use runwarden_protocol::run::steer::SettledSteer;
use runwarden_protocol::run::stop::{Answer, StopSignal};
use runwarden_protocol::run::wakeups;
use runwarden_protocol::run::worker::CallResult;
use runwarden_protocol::wire::codes::Code;

/// What one effect or event of a session asks of the world.
#[derive(Clone, Debug, PartialEq)]
pub enum PortCall {
    /// Of the store; answered by [`PortAnswer::Committed`] or [`PortAnswer::Appended`].
    Store(RunId, StoreCall),
    /// Of the store, to commit a change of the session; answered by [`PortAnswer::Changed`].
    Change {
        /// The change.
        ask: AskId,
        /// The revision it is computed from.
        expected: Revision,
        /// When.
        at: Instant,
    },
    /// Of the store, to delete the session; answered by [`PortAnswer::Deleted`].
    Delete {
        /// Who asked.
        ask: AskId,
        /// The run that ends with it.
        run: Option<DeletedRun>,
        /// The revision it is computed from.
        expected: Revision,
        /// When.
        at: Instant,
    },
    /// Of the store, to move the session to a continuation; answered by [`PortAnswer::Rotated`].
    Rotate {
        /// The run that goes on there.
        run_id: RunId,
        /// The session.
        from: SessionId,
        /// The continuation.
        continuation: SessionId,
        /// The revision it is computed from.
        expected: Revision,
        /// When.
        at: Instant,
    },
    /// Of the session's send queue.
    Queue(QueueCall),
    /// Of the session's wakeups.
    Wakeups(WakeupCall),
    /// Of the run's worker or its agent.
    Worker(RunId, WorkerCall),
    /// Of an agent that no run uses any more: close it, or clean it up.
    CloseAgent(AgentId),
    /// Of the agent cache of the process.
    TellCache(Notice),
    /// To release what is kept for machines.
    Release(Release),
    /// To tell clients.
    Announce(Announcement),
}

/// Calls of the store.
#[derive(Clone, Debug, PartialEq)]
pub enum StoreCall {
    /// Accept a turn.
    Admit {
        /// The turn.
        turn_id: TurnId,
        /// The revision it is computed from.
        expected: Revision,
        /// Whether it is the head of the queue, which goes with it.
        is_head: bool,
        /// What it changes in the stored wakeups.
        wakeups: Option<wakeups::Written>,
        /// When.
        at: Instant,
    },
    /// Undo a start that failed.
    Compensate {
        /// The revision it is computed from.
        expected: Revision,
        /// Of the queue's head: put it back, with this hold.
        requeue: Option<Code>,
        /// What it changes in the stored wakeups.
        wakeups: Option<wakeups::Written>,
        /// When.
        at: Instant,
    },
    /// Settle the run.
    Settle {
        /// The turn.
        turn_id: TurnId,
        /// The revision it is computed from.
        expected: Revision,
        /// How it ends.
        verdict: Verdict,
        /// Whether recovery settles.
        recovery: bool,
        /// The hold of the queue that is stored with it.
        hold: Option<Code>,
        /// Steers that get their rows with it.
        steers: Vec<SettledSteer>,
        /// What it changes in the stored wakeups.
        wakeups: Option<wakeups::Written>,
        /// When.
        at: Instant,
    },
    /// Note that the worker started. Not answered.
    StartWorker {
        /// When.
        at: Instant,
    },
    /// Append rows.
    Append {
        /// The rows.
        rows: Vec<RowRef>,
    },
}

/// Calls about the send queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueCall {
    /// Of the store; answered by [`PortAnswer::QueueCommitted`].
    Change {
        /// The change.
        change: Change,
        /// The hold in force after it.
        held: Option<Code>,
        /// The revision it is computed from.
        expected: Revision,
        /// When.
        at: Instant,
    },
    /// Ask for the start of the head; answered by [`PortAnswer::HeadAsked`].
    StartHead {
        /// The entry.
        turn_id: TurnId,
    },
}

/// Calls about wakeups.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WakeupCall {
    /// Of the store; answered by [`PortAnswer::WakeupsCommitted`].
    Change {
        /// What is written.
        written: wakeups::Written,
        /// The revision it is computed from.
        expected: Revision,
        /// When.
        at: Instant,
    },
    /// Ask for the start of the oldest; answered by [`PortAnswer::WakeupAsked`].
    Start {
        /// The wakeup.
        wakeup: WakeupId,
    },
    /// Producers are answered.
    Answer {
        /// Who waits.
        asks: Vec<AskId>,
        /// The answer.
        answer: wakeups::Answer,
    },
}

/// Calls of the worker and its agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkerCall {
    /// Give the agent the steer it waits for; answered by `SteerRead` once the agent took it.
    HandSteer(SteerId),
    /// Make the worker; answered by [`PortAnswer::Launched`], and its first step is [`PortAnswer::Began`].
    Launch,
    /// Construct an agent; answered by [`PortAnswer::Constructed`].
    Construct,
    /// Wait no longer for the construction; it is answered all the same.
    AbandonConstruction,
    /// Answered by [`PortAnswer::RegistrationAsked`].
    AskRegistration,
    /// Prepare the prompt; answered by [`PortAnswer::Prepared`].
    Prepare(AgentId),
    /// Call the agent; ends with [`PortAnswer::Returned`].
    Invoke(AgentId),
    /// Press the agent to end.
    Signal(AgentId, StopSignal),
    /// Ask the remote backend of the call to stop; answered by [`PortAnswer::Remote`].
    StopRemote,
    /// Let the worker exit; answered by [`PortAnswer::Exited`].
    Exit,
}

/// What may be released.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Release {
    /// Bodies that will not be stored.
    Payloads(Vec<PayloadId>),
    /// The slot of a run.
    Slot(RunId),
    /// Everything of a run.
    Run(RunId),
}

/// What clients are told.
#[derive(Clone, Debug, PartialEq)]
pub enum Announcement {
    /// A start was answered.
    Start {
        /// Who waits.
        ask: AskId,
        /// The answer.
        answer: StartAnswer,
    },
    /// A change of the session was answered.
    Change {
        /// Who waits.
        ask: AskId,
        /// The answer.
        answer: ChangeAnswer,
    },
    /// The deletion of the session was answered.
    Deletion {
        /// Who waits.
        ask: AskId,
        /// The answer.
        answer: DeletionAnswer,
    },
    /// A Stop was answered.
    Stop {
        /// The run.
        run_id: RunId,
        /// Who waits.
        asks: Vec<AskId>,
        /// The answer.
        answer: Answer,
    },
    /// A change of the queue was answered.
    Queue {
        /// Who waits.
        ask: AskId,
        /// The answer.
        answer: QueueAnswer,
    },
    /// A steer was answered; an accepted one after its row was shown.
    Steer {
        /// The run.
        run_id: RunId,
        /// Who waits.
        ask: AskId,
        /// The answer.
        answer: SteerAnswer,
    },
    /// A question was opened; shown with its row.
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
    /// A question was refused to its agent.
    QuestionRefused {
        /// The question.
        question_id: QuestionId,
    },
    /// Questions were resolved; the agent waits for the answer too.
    QuestionsResolved {
        /// The run.
        run_id: RunId,
        /// The questions.
        questions: Vec<QuestionId>,
        /// How.
        outcome: Resolution,
        /// Who answered.
        ask: Option<AskId>,
    },
    /// An answer met no open question.
    AnswerRefused {
        /// Who waits.
        ask: AskId,
        /// The question.
        question_id: QuestionId,
    },
    /// Durable rows.
    Rows {
        /// The run.
        run_id: RunId,
        /// Number of the first; none for rows that are not in the journal.
        first_seq: Option<Seq>,
        /// The rows.
        rows: Vec<RowRef>,
    },
    /// The phase of a run changed.
    Phase {
        /// The run.
        run_id: RunId,
        /// The phase.
        phase: Phase,
        /// Since when.
        since: Instant,
    },
    /// A run ended.
    Ended {
        /// The run.
        run_id: RunId,
        /// How.
        outcome: Outcome,
        /// Why.
        reason: Option<Reason>,
        /// What its error says.
        failure: Option<Failure>,
        /// Number of the terminal row.
        seq: Option<Seq>,
        /// The revision that settled it.
        revision: Revision,
        /// Steers it settled; their rows stand before the terminal.
        steers: Vec<SettledSteer>,
    },
    /// The session goes on in another one.
    Rotated {
        /// The run.
        run_id: RunId,
        /// The session.
        from: SessionId,
        /// The continuation.
        continuation: SessionId,
        /// Its revision.
        revision: Revision,
    },
    /// The session was not rotated; the agent of the run waits for this.
    RotationRefused {
        /// The run.
        run_id: RunId,
    },
    /// The session's item changed.
    Session {
        /// The session's revision.
        revision: Revision,
    },
    /// A turn may start again.
    Idle,
}

/// What a port answered.
#[derive(Clone, Debug, PartialEq)]
pub enum PortAnswer {
    /// A commit: the revision and the number of the terminal row, or nothing written.
    Committed(RunId, Option<(Revision, Option<Seq>)>),
    /// Nothing was written: somebody else settled the run so, and the session is at this revision.
    SettledElsewhere(RunId, Outcome, Revision),
    /// A commit of a change: the revision, or nothing written.
    Changed(AskId, Option<Revision>),
    /// A deletion: the revision and the number of the terminal it added, or nothing written.
    Deleted(Option<(Revision, Option<Seq>)>),
    /// A rotation: the revision of the continuation, or nothing written.
    Rotated(Option<Revision>),
    /// A change of the queue: the revision, or nothing written.
    QueueCommitted(Option<Revision>),
    /// A change of the wakeups: the revision, or nothing written.
    WakeupsCommitted(Option<Revision>),
    /// A start of the oldest wakeup.
    WakeupAsked(Start),
    /// A start of the queue's head.
    HeadAsked(Start),
    /// An append: first number and count, or nothing written.
    Appended(RunId, Option<(Seq, u32)>),
    /// A launch: whether the worker exists.
    Launched(RunId, bool),
    /// The worker's first step.
    Began(RunId),
    /// A construction: the agent, or none.
    Constructed(RunId, Option<AgentId>),
    /// The worker asks to register its agent.
    RegistrationAsked(RunId),
    /// The prompt is prepared.
    Prepared(RunId, AgentId),
    /// The agent produced a row.
    Produced(RunId, RowRef),
    /// The agent asks.
    Asked {
        /// The run.
        run_id: RunId,
        /// A fresh id.
        question_id: QuestionId,
        /// Whether it asks for a permission.
        approval: bool,
        /// The row that records it.
        row: RowRef,
    },
    /// The call returned.
    Returned(RunId, CallResult),
    /// The remote backend of a call says something.
    Remote(RunId, Fact),
    /// The worker exited or was lost.
    Exited(RunId),
}

/// The call an output stands for.
pub fn port_call(output: Output) -> PortCall {
    match output {
        Output::Admit { run_id, turn_id, expected, is_head, wakeups, at } => {
            PortCall::Store(run_id, StoreCall::Admit { turn_id, expected, is_head, wakeups, at })
        }
        Output::Compensate { run_id, expected, requeue, wakeups, at } => {
            PortCall::Store(run_id, StoreCall::Compensate { expected, requeue, wakeups, at })
        }
        Output::Settle {
            run_id,
            turn_id,
            expected,
            verdict,
            recovery,
            hold,
            steers,
            wakeups,
            at,
        } => PortCall::Store(
            run_id,
            StoreCall::Settle { turn_id, expected, verdict, recovery, hold, steers, wakeups, at },
        ),
        Output::Change { ask, expected, at } => PortCall::Change { ask, expected, at },
        Output::Delete { ask, run, expected, at } => PortCall::Delete { ask, run, expected, at },
        Output::Rotate { run_id, from, continuation, expected, at } => {
            PortCall::Rotate { run_id, from, continuation, expected, at }
        }
        Output::ChangeQueue { change, held, expected, at } => {
            PortCall::Queue(QueueCall::Change { change, held, expected, at })
        }
        Output::ChangeWakeups { written, expected, at } => {
            PortCall::Wakeups(WakeupCall::Change { written, expected, at })
        }
        Output::StartWakeup { wakeup } => PortCall::Wakeups(WakeupCall::Start { wakeup }),
        Output::WakeupsAnswered { asks, answer } => {
            PortCall::Wakeups(WakeupCall::Answer { asks, answer })
        }
        Output::StartHead { turn_id } => PortCall::Queue(QueueCall::StartHead { turn_id }),
        Output::StartWorker { run_id, at } => {
            PortCall::Store(run_id, StoreCall::StartWorker { at })
        }
        Output::Append { run_id, rows } => PortCall::Store(run_id, StoreCall::Append { rows }),
        Output::Launch { run_id } => PortCall::Worker(run_id, WorkerCall::Launch),
        Output::Construct { run_id } => PortCall::Worker(run_id, WorkerCall::Construct),
        Output::AbandonConstruction { run_id } => {
            PortCall::Worker(run_id, WorkerCall::AbandonConstruction)
        }
        Output::AskRegistration { run_id } => PortCall::Worker(run_id, WorkerCall::AskRegistration),
        Output::Prepare { run_id, agent } => PortCall::Worker(run_id, WorkerCall::Prepare(agent)),
        Output::Invoke { run_id, agent } => PortCall::Worker(run_id, WorkerCall::Invoke(agent)),
        Output::Signal { run_id, agent, signal } => {
            PortCall::Worker(run_id, WorkerCall::Signal(agent, signal))
        }
        Output::StopRemote { run_id } => PortCall::Worker(run_id, WorkerCall::StopRemote),
        Output::ExitWorker { run_id } => PortCall::Worker(run_id, WorkerCall::Exit),
        Output::Close { agent } | Output::CleanUp { agent } => PortCall::CloseAgent(agent),
        Output::TellCache { notice } => PortCall::TellCache(notice),
        Output::Discard { payloads } => PortCall::Release(Release::Payloads(payloads)),
        Output::ReleaseSlot { run_id } => PortCall::Release(Release::Slot(run_id)),
        Output::Forget { run_id } => PortCall::Release(Release::Run(run_id)),
        Output::StartAnswered { ask, answer } => announce(Announcement::Start { ask, answer }),
        Output::ChangeAnswered { ask, answer } => announce(Announcement::Change { ask, answer }),
        Output::DeletionAnswered { ask, answer } => {
            announce(Announcement::Deletion { ask, answer })
        }
        Output::StopAnswered { run_id, asks, answer } => {
            announce(Announcement::Stop { run_id, asks, answer })
        }
        Output::QueueAnswered { ask, answer } => announce(Announcement::Queue { ask, answer }),
        Output::QuestionOpened { run_id, question_id, version, expires_at } => {
            announce(Announcement::QuestionOpened { run_id, question_id, version, expires_at })
        }
        Output::QuestionRefused { question_id } => {
            announce(Announcement::QuestionRefused { question_id })
        }
        Output::QuestionsResolved { run_id, questions, outcome, ask } => {
            announce(Announcement::QuestionsResolved { run_id, questions, outcome, ask })
        }
        Output::AnswerRefused { ask, question_id } => {
            announce(Announcement::AnswerRefused { ask, question_id })
        }
        Output::Published { run_id, first_seq, rows } => {
            announce(Announcement::Rows { run_id, first_seq: Some(first_seq), rows })
        }
        Output::PublishedDegraded { run_id, rows } => {
            announce(Announcement::Rows { run_id, first_seq: None, rows })
        }
        Output::PhaseChanged { run_id, phase, since } => {
            announce(Announcement::Phase { run_id, phase, since })
        }
        Output::RunEnded {
            run_id,
            turn_id: _,
            outcome,
            reason,
            failure,
            seq,
            revision,
            steers,
        } => announce(Announcement::Ended {
            run_id,
            outcome,
            reason,
            failure,
            seq,
            revision,
            steers,
        }),
        Output::SteerAnswered { run_id, ask, answer } => {
            announce(Announcement::Steer { run_id, ask, answer })
        }
        Output::HandSteer { run_id, steer_id } => {
            PortCall::Worker(run_id, WorkerCall::HandSteer(steer_id))
        }
        Output::SessionRotated { run_id, from, continuation, revision } => {
            announce(Announcement::Rotated { run_id, from, continuation, revision })
        }
        Output::RotationRefused { run_id } => announce(Announcement::RotationRefused { run_id }),
        Output::SessionChanged { revision } => announce(Announcement::Session { revision }),
        Output::BecameIdle => announce(Announcement::Idle),
    }
}

const fn announce(announcement: Announcement) -> PortCall {
    PortCall::Announce(announcement)
}

/// The fact an answer stands for.
pub fn fact(answer: PortAnswer) -> Input {
    match answer {
        PortAnswer::Committed(run_id, Some((revision, terminal_seq))) => {
            Input::Committed { run_id, revision, terminal_seq }
        }
        PortAnswer::Committed(run_id, None) => Input::CommitFailed { run_id },
        PortAnswer::SettledElsewhere(run_id, outcome, revision) => {
            Input::SettledElsewhere { run_id, outcome, revision }
        }
        PortAnswer::Changed(ask, Some(revision)) => Input::ChangeCommitted { ask, revision },
        PortAnswer::Changed(ask, None) => Input::ChangeFailed { ask },
        PortAnswer::Deleted(Some((revision, terminal_seq))) => {
            Input::DeletionCommitted { revision, terminal_seq }
        }
        PortAnswer::Deleted(None) => Input::DeletionFailed,
        PortAnswer::Rotated(Some(revision)) => Input::RotationCommitted { revision },
        PortAnswer::Rotated(None) => Input::RotationFailed,
        PortAnswer::QueueCommitted(Some(revision)) => Input::QueueCommitted { revision },
        PortAnswer::QueueCommitted(None) => Input::QueueCommitFailed,
        PortAnswer::WakeupsCommitted(Some(revision)) => Input::WakeupsCommitted { revision },
        PortAnswer::WakeupsCommitted(None) => Input::WakeupsCommitFailed,
        PortAnswer::HeadAsked(start) | PortAnswer::WakeupAsked(start) => Input::Start(start),
        PortAnswer::Appended(run_id, Some((first_seq, count))) => {
            Input::Persisted { run_id, first_seq, count }
        }
        PortAnswer::Appended(run_id, None) => Input::AppendFailed { run_id },
        PortAnswer::Launched(run_id, true) => Input::Launched { run_id },
        PortAnswer::Launched(run_id, false) => Input::LaunchFailed { run_id },
        PortAnswer::Began(run_id) => Input::WorkerBegan { run_id },
        PortAnswer::Constructed(run_id, Some(agent)) => Input::AgentConstructed { run_id, agent },
        PortAnswer::Constructed(run_id, None) => Input::ConstructionFailed { run_id },
        PortAnswer::RegistrationAsked(run_id) => Input::RegistrationAsked { run_id },
        PortAnswer::Prepared(run_id, agent) => Input::InvocationAsked { run_id, agent },
        PortAnswer::Produced(run_id, row) => Input::Produced { run_id, row },
        PortAnswer::Asked { run_id, question_id, approval, row } => {
            Input::QuestionAsked { run_id, question_id, approval, row }
        }
        PortAnswer::Returned(run_id, result) => Input::Returned { run_id, result },
        PortAnswer::Remote(run_id, fact) => Input::Remote { run_id, fact },
        PortAnswer::Exited(run_id) => Input::WorkerExited { run_id },
    }
}

#[cfg(test)]
#[path = "dispatch_tests.rs"]
mod tests;
