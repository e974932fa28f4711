//! Refusals: which frame one travels in (ENV-13).

use super::Code;
use super::actions::{Action, ActionName, ParseRefusal};
use super::frames::{
    AnswerRefused, Frame, FrameType, MessageRefused, SteerOutcome, SteerResult, StopOutcome,
    StopResult,
};
use super::structures::{Limit, RunPhase};

/// Milliseconds stated where a code must state some and the caller has no better number (RATE-6).
pub const RETRY_AFTER_MS: i64 = 1_000;

/// An action that had no effect, and why.
///
/// A field without meaning for the frame of the action is left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// Action that is refused.
    pub action: ActionName,
    /// Its request id.
    pub request_id: Option<String>,
    /// Its session.
    pub session_id: Option<String>,
    /// Its run, for `stop_run` and `steer_run`.
    pub run_id: Option<String>,
    /// Its question, for `answer_question`.
    pub question_id: Option<String>,
    /// Why; never a recorded code.
    pub code: Code,
    /// The run in the way, with its phase and whether it may be attached (ACT-23).
    pub blocked_by: Option<BlockingRun>,
    /// Where the session goes on, with `session_rotated`.
    pub continuation_session_id: Option<String>,
    /// The limit that was exceeded (RATE-6).
    pub limit: Option<Limit>,
    /// Milliseconds to wait before the next attempt (RATE-6).
    pub retry_after_ms: Option<i64>,
}

/// The run that is in the way of a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlockingRun {
    /// The run; none when none is known.
    pub run_id: Option<String>,
    /// Its phase.
    pub phase: Option<RunPhase>,
    /// What `may_attach` answers for it.
    pub attachable: Option<bool>,
}

impl Refusal {
    /// A refusal of an action.
    pub fn of_action(code: Code, action: &Action, request_id: Option<&str>) -> Self {
        let (run_id, question_id) = match action {
            Action::StopRun(stop) => (Some(stop.run_id.clone()), None),
            Action::SteerRun(steer) => (Some(steer.run_id.clone()), None),
            Action::AnswerQuestion(answer) => (None, Some(answer.question_id.clone())),
            _ => (None, None),
        };
        Self {
            request_id: request_id.map(str::to_owned),
            session_id: action.session_id().map(str::to_owned),
            run_id,
            question_id,
            ..Self::bare(code, action.name())
        }
    }

    /// The refusal of a message that names an action but has a wrong field; none for any other
    /// message, which is answered by an `operation_error`.
    pub fn of_message(refused: &ParseRefusal) -> Option<Self> {
        Some(Self {
            request_id: refused.request_id.clone(),
            session_id: refused.session_id.clone(),
            run_id: refused.run_id.clone(),
            question_id: refused.question_id.clone(),
            limit: refused.limit.clone(),
            ..Self::bare(refused.code, refused.name?)
        })
    }

    /// The frame it travels in: that of the action, or `message_refused` where an id that frame
    /// needs is missing. None means an unrecorded `operation_error`, made by the error builder.
    pub fn frame(self) -> Option<Frame> {
        match self.action.refusal_frame() {
            FrameType::StopResult => Some(self.stop_result()),
            FrameType::SteerResult => Some(self.steer_result()),
            FrameType::AnswerRefused => Some(self.answer_refused()),
            FrameType::MessageRefused => Some(self.message_refused()),
            _ => None,
        }
    }

    fn bare(code: Code, action: ActionName) -> Self {
        Self {
            action,
            request_id: None,
            session_id: None,
            run_id: None,
            question_id: None,
            code,
            blocked_by: None,
            continuation_session_id: None,
            limit: None,
            retry_after_ms: None,
        }
    }

    fn stop_result(self) -> Frame {
        let (Some(session_id), Some(run_id)) = (self.session_id.clone(), self.run_id.clone())
        else {
            return self.message_refused();
        };
        Frame::StopResult(StopResult {
            request_id: self.request_id,
            session_id,
            run_id,
            outcome: StopOutcome::Refused,
            status: None,
            code: Some(self.code),
        })
    }

    fn steer_result(self) -> Frame {
        let (Some(session_id), Some(run_id)) = (self.session_id.clone(), self.run_id.clone())
        else {
            return self.message_refused();
        };
        Frame::SteerResult(Box::new(SteerResult {
            request_id: self.request_id,
            session_id,
            run_id,
            outcome: SteerOutcome::Refused,
            reason: Some(self.code),
            limit: self.limit,
            steer_id: None,
        }))
    }

    fn answer_refused(self) -> Frame {
        let (Some(session_id), Some(question_id)) =
            (self.session_id.clone(), self.question_id.clone())
        else {
            return self.message_refused();
        };
        Frame::AnswerRefused(AnswerRefused {
            request_id: self.request_id,
            session_id,
            question_id,
            code: self.code,
        })
    }

    fn message_refused(self) -> Frame {
        let stated = self.code.states_retry_after();
        let blocked_by = self.blocked_by;
        Frame::MessageRefused(Box::new(MessageRefused {
            request_id: self.request_id,
            action: self.action,
            session_id: self.session_id,
            code: self.code,
            run_id: blocked_by.as_ref().and_then(|run| run.run_id.clone()),
            phase: blocked_by.as_ref().and_then(|run| run.phase),
            attachable: blocked_by.and_then(|run| run.attachable),
            continuation_session_id: self.continuation_session_id,
            limit: self.limit,
            retry_after_ms: self.retry_after_ms.or(stated.then_some(RETRY_AFTER_MS)),
        }))
    }
}
