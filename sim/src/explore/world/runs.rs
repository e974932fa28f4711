//! Models of workers and agents, and what clients know of a run.

use runwarden_protocol::ids::AgentId;
use runwarden_protocol::instant::Instant;
use runwarden_protocol::journal::row::Outcome;

/// What is due of a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Due {
    Nothing,
    Launch,
    Begin,
    Construct,
    Register,
    Prepare(AgentId),
    /// The agent works.
    Call {
        agent: AgentId,
        is_interrupted: bool,
        is_killed: bool,
    },
    Exit,
}

/// How far a start got, as its client sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Start {
    Waiting,
    Acknowledged,
    Refused,
    /// The connection was lost before the answer.
    Lost,
    /// Its message waits in the queue.
    Queued,
    /// Its message is being taken out of the queue.
    Removing,
    /// Its message was taken out of the queue.
    Removed,
}

/// A run outside the machine.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct RunModel {
    /// The turn; of the head of the queue that of the message, else the number of the run.
    pub(super) turn: u8,
    pub(super) due: Due,
    pub(super) start: Start,
    pub(super) stops_waiting: u8,
    /// When its row turned `cancelling`, until a crash forgets it.
    pub(super) stopped_at: Option<Instant>,
    pub(super) interrupts: u8,
    /// Number of the last row shown.
    pub(super) shown: u8,
    /// Rows produced; the next body has this number.
    pub(super) produced: u8,
    /// Settlements that failed.
    pub(super) saves_failed: u8,
    /// The end that was shown.
    pub(super) ended: Option<Outcome>,
    /// How the server said that it ends, if no user stopped it.
    pub(super) ending: Option<Outcome>,
    /// Whether a user asked to stop it.
    pub(super) is_stop_asked: bool,
    /// Whether a crash forgot what was shown of it.
    pub(super) is_forgotten: bool,
    /// Whether its worker tried to save a result behind the settlement.
    pub(super) has_saved_late: bool,
    /// Whether another process has its session, and its worker does not know.
    pub(super) is_ghost: bool,
    /// Whether its worker tried to append behind that.
    pub(super) has_appended_late: bool,
}

/// An agent. Its id tells which run constructed it and how many it had before, so that the ids of a run
/// do not depend on the runs before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct AgentModel {
    pub(super) id: AgentId,
    /// The run that registered it last.
    pub(super) registered_by: Option<u8>,
    pub(super) is_closed: bool,
}

impl RunModel {
    pub(super) fn asked(turn: u8) -> Self {
        Self {
            turn,
            due: Due::Nothing,
            start: Start::Waiting,
            stops_waiting: 0,
            stopped_at: None,
            interrupts: 0,
            shown: 0,
            produced: 0,
            saves_failed: 0,
            ended: None,
            ending: None,
            is_stop_asked: false,
            is_forgotten: false,
            has_saved_late: false,
            is_ghost: false,
            has_appended_late: false,
        }
    }

    /// Whether somebody waits for an answer about the run.
    pub(super) fn is_awaited(&self) -> bool {
        self.start == Start::Waiting || self.stops_waiting > 0
    }

    /// Whether somebody may know a run by its number.
    pub(super) fn has_run(&self) -> bool {
        match self.start {
            Start::Waiting | Start::Acknowledged | Start::Lost => true,
            Start::Refused | Start::Queued | Start::Removing | Start::Removed => false,
        }
    }

    /// Whether its worker may still try what another process has forbidden it.
    pub(super) fn may_act_late(&self) -> bool {
        self.is_ghost && !(self.has_saved_late && self.has_appended_late)
    }

    /// Whether it is a message that its client may still take out of the queue.
    pub(super) fn is_message(&self) -> bool {
        matches!(self.start, Start::Queued | Start::Removing)
    }

    /// The connection is gone: nobody waits any more.
    pub(super) fn lose_connection(&mut self) {
        self.stops_waiting = 0;
        if self.start == Start::Waiting {
            self.start = Start::Lost;
        }
    }

    /// Whether its agent is called and has not returned.
    pub(super) fn is_invoked(&self) -> bool {
        matches!(self.due, Due::Call { .. })
    }
}
