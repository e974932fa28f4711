use std::marker::PhantomData;

use serde::{Deserialize, Serialize};

use super::guards::{Rules, ScreenGuards};
use crate::ids::{AskId, RunId, SessionId};

/// Sessions a screen knows at most; of a longer list the rest is left out, and told.
pub const SESSIONS_SHOWN_MAX: usize = 512;

/// Submits of one client that are unanswered at once; one more is not sent, and told.
pub const SUBMITS_UNANSWERED_MAX: usize = 8;

/// Names what one submit is to do, however often it is asked (ADM-13).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SubmitKey(u64);

impl SubmitKey {
    /// The key with this number.
    pub const fn new(number: u64) -> Self {
        Self(number)
    }

    /// The number.
    pub const fn number(self) -> u64 {
        self.0
    }
}

/// What one client shows.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(bound = "")]
pub struct Screen<G: ScreenGuards = Rules> {
    pub(super) is_connected: bool,
    pub(super) on_screen: Option<SessionId>,
    /// In the order of their ids.
    pub(super) sessions: Vec<Shown>,
    /// The list that is unanswered; of two the one asked for last.
    pub(super) list: Option<Observation>,
    #[serde(skip)]
    pub(super) guards: PhantomData<G>,
}

/// What is known of one session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(super) struct Shown {
    pub(super) session_id: SessionId,
    /// The run whose row the server has, as far as the client knows.
    pub(super) run: Option<RunId>,
    /// The run whose end was shown last.
    pub(super) ended: Option<RunId>,
    pub(super) submit: Option<Submit>,
    pub(super) stop: Stop,
}

/// A submit without answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(super) struct Submit {
    pub(super) request: AskId,
    pub(super) key: SubmitKey,
}

/// The Stop of a session, as its client shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "stop")]
pub(super) enum Stop {
    None,
    Asked { request: AskId, run_id: RunId },
    Failed { run_id: RunId },
}

/// A list that was asked for.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(super) struct Observation {
    pub(super) request: AskId,
    /// Sessions of which something newer is known, in the order of their ids.
    pub(super) outdated: Vec<SessionId>,
}

/// One entry of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Listed {
    /// The session.
    pub session_id: SessionId,
    /// The run that has its row; none of an idle session.
    pub run_id: Option<RunId>,
}

/// How a submit was answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "answer")]
pub enum SubmitAnswer {
    /// It started this run, now or when it was asked first.
    Started {
        /// The run.
        run_id: RunId,
    },
    /// Its message waits in the queue.
    Queued,
    /// It had no effect.
    Refused,
}

/// What a screen takes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Input {
    /// The user opens a session.
    SessionChosen {
        /// Which.
        session_id: SessionId,
    },
    /// The user, or a timer, wants the list.
    ListWanted {
        /// A fresh request.
        request: AskId,
    },
    /// The list came.
    ListReceived {
        /// Which request it answers.
        request: AskId,
        /// Its entries.
        sessions: Vec<Listed>,
    },
    /// The user sends.
    SendWanted {
        /// A fresh request.
        request: AskId,
        /// The session.
        session_id: SessionId,
        /// A fresh key.
        key: SubmitKey,
    },
    /// A submit was answered.
    SubmitAnswered {
        /// Which.
        request: AskId,
        /// How.
        answer: SubmitAnswer,
    },
    /// The user stops a session, be it on screen or in the list.
    StopWanted {
        /// A fresh request.
        request: AskId,
        /// The session.
        session_id: SessionId,
    },
    /// A Stop was answered.
    StopReplied {
        /// Which.
        request: AskId,
        /// Whether the run is stopped, or over.
        is_done: bool,
    },
    /// The server said that a run has the row of a session.
    RunShown {
        /// The session.
        session_id: SessionId,
        /// The run.
        run_id: RunId,
    },
    /// The server said that a run has ended.
    RunOver {
        /// The session.
        session_id: SessionId,
        /// The run.
        run_id: RunId,
    },
    /// The connection is lost, and every request with it.
    ConnectionLost,
    /// A connection is there again.
    Connected,
}

/// What a screen asks for, and tells its user.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Output {
    /// Ask for the list.
    RequestList {
        /// The request.
        request: AskId,
    },
    /// Submit, or submit again.
    Submit {
        /// The request.
        request: AskId,
        /// The session.
        session_id: SessionId,
        /// What names the effect.
        key: SubmitKey,
    },
    /// Stop a run.
    StopRun {
        /// The request.
        request: AskId,
        /// The session it was chosen by.
        session_id: SessionId,
        /// The run.
        run_id: RunId,
    },
    /// The message was not sent: one of the session is unanswered, or too many are, or nobody is connected.
    NotSent {
        /// The request.
        request: AskId,
    },
    /// There is nothing to stop, or nobody to ask.
    NotStopped {
        /// The request.
        request: AskId,
    },
    /// Stops of these sessions failed; their runs are shown as running (STOP-19).
    StopsFailed {
        /// The sessions.
        sessions: Vec<SessionId>,
    },
    /// The list was longer than what is shown.
    ListCut,
}

impl<G: ScreenGuards> Default for Screen<G> {
    fn default() -> Self {
        Self {
            is_connected: true,
            on_screen: None,
            sessions: Vec::new(),
            list: None,
            guards: PhantomData,
        }
    }
}

impl<G: ScreenGuards> Screen<G> {
    /// Most bytes [`crate::machine::Machine::weight`] can state.
    pub const WEIGHT_MAX: usize =
        SESSIONS_SHOWN_MAX * (size_of::<Shown>() + size_of::<SessionId>());

    /// The run that a session is shown to have.
    pub fn run(&self, session_id: SessionId) -> Option<RunId> {
        self.shown(session_id)?.run
    }

    /// Whether a session is shown as busy, be it by a turn that is in flight.
    pub fn is_busy(&self, session_id: SessionId) -> bool {
        self.shown(session_id).is_some_and(|shown| shown.run.is_some() || shown.submit.is_some())
    }

    /// Whether a submit of the session is unanswered.
    pub fn is_submitting(&self, session_id: SessionId) -> bool {
        self.shown(session_id).is_some_and(|shown| shown.submit.is_some())
    }

    /// Whether a failed Stop is shown.
    pub fn has_stop_failed(&self, session_id: SessionId) -> bool {
        self.shown(session_id).is_some_and(|shown| matches!(shown.stop, Stop::Failed { .. }))
    }

    pub(super) fn shown(&self, session_id: SessionId) -> Option<&Shown> {
        let at = self.sessions.binary_search_by_key(&session_id, |shown| shown.session_id);
        at.ok().map(|at| &self.sessions[at])
    }
}

impl Shown {
    pub(super) fn new(session_id: SessionId) -> Self {
        Self { session_id, run: None, ended: None, submit: None, stop: Stop::None }
    }

    /// Whether somebody waits for something of it, so that no list takes it away.
    pub(super) fn is_wanted(&self) -> bool {
        self.submit.is_some() || self.stop != Stop::None
    }
}
