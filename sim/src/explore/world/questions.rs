//! Questions of agents, and the clients that answer them.

use runwarden_protocol::ids::{AskId, QuestionId};
use runwarden_protocol::instant::Instant;
use runwarden_protocol::journal::row::RowEvent;
use runwarden_protocol::run::guards::Guards;
use runwarden_protocol::run::lineage::Input;
use runwarden_protocol::run::questions::{QUESTION_VERSION, Resolution};
use runwarden_runtime::dispatch::PortAnswer;

use super::check::ensure;
use super::choices::Choice;
use super::conditions::Fault;
use super::take::{Cause, id};
use super::{Broken, World};

/// Answers to one question: of its user, and of somebody in another window.
const ANSWERS: u8 = 2;

/// A question, as its clients see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct QuestionModel {
    pub(super) run: u8,
    pub(super) state: Asked,
    pub(super) answers: u8,
}

/// What became of a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Asked {
    Unseen,
    Open {
        expires_at: Instant,
    },
    Resolved(Resolution),
    Refused,
    /// The server crashed while it was open.
    Lost,
}

impl<G: Guards> World<G> {
    pub(super) fn answers(&self, choices: &mut Vec<Choice>) {
        for (number, question) in (1_u8..).zip(&self.questions) {
            let is_shown = matches!(question.state, Asked::Open { .. } | Asked::Resolved(_));
            if is_shown && question.answers < ANSWERS {
                choices.push(Choice::Answer(number));
            }
        }
    }

    pub(super) fn has_open_question(&self, run: u8) -> bool {
        self.questions.iter().any(|q| q.run == run && matches!(q.state, Asked::Open { .. }))
    }

    pub(super) fn ask(&mut self, run: u8) -> Result<(), Broken> {
        self.budget.events -= 1;
        self.questions.push(QuestionModel { run, state: Asked::Unseen, answers: 0 });
        let question_id = QuestionId::new(self.questions.len() as u64);
        let row = self.produce(run, RowEvent::QuestionAsked { question_id });
        let run_id = id(run);
        self.answer(run, PortAnswer::Asked { run_id, question_id, approval: false, row })
    }

    pub(super) fn answer_question(&mut self, number: u8) -> Result<(), Broken> {
        self.answer_for(number, Cause::Nobody)
    }

    /// The connection that shows the questions of a run is lost; nothing is told to the machine (ASK-07).
    pub(super) fn lose_questions(&mut self, run: u8) -> Result<(), Broken> {
        if self.conditions.fault != Some(Fault::LossAnswers) {
            return Ok(());
        }
        for number in (1_u8..).take(self.questions.len()) {
            if self.question(number).run == run {
                self.answer_for(number, Cause::Loss)?;
            }
        }
        Ok(())
    }

    pub(super) fn question_opened(&mut self, question_id: QuestionId, expires_at: Instant) {
        self.question(number(question_id)).state = Asked::Open { expires_at };
    }

    pub(super) fn question_refused(&mut self, question_id: QuestionId) {
        self.question(number(question_id)).state = Asked::Refused;
    }

    pub(super) fn questions_resolved(
        &mut self,
        cause: Cause,
        questions: &[QuestionId],
        outcome: Resolution,
    ) -> Result<(), Broken> {
        ensure(cause != Cause::Loss, "ASK-07", || {
            format!("{questions:?} are resolved by the loss of a connection")
        })?;
        for question_id in questions {
            let now = self.now;
            let question = *self.question(number(*question_id));
            let Asked::Open { expires_at } = question.state else {
                let detail = format!("{question_id} is {outcome:?}, and was {:?}", question.state);
                return Err(Broken { rule: "ASK-03", detail });
            };
            let is_expired = outcome == Resolution::Expired;
            let is_stopped = outcome == Resolution::Cancelled;
            ensure(is_expired == (now >= expires_at) || is_stopped, "ASK-03", || {
                format!("{question_id} is {outcome:?} at {now:?}, it expires at {expires_at:?}")
            })?;
            let has_ended = self.run(question.run).ended.is_some();
            ensure(!has_ended, "ASK-05", || format!("{question_id} outlived its run"))?;
            self.question(number(*question_id)).state = Asked::Resolved(outcome);
        }
        Ok(())
    }

    pub(super) fn answer_refused(&mut self, question_id: QuestionId) -> Result<(), Broken> {
        let state = self.question(number(question_id)).state;
        ensure(!matches!(state, Asked::Open { .. }), "ASK-02", || {
            format!("an answer to {question_id} is refused, which is open")
        })
    }

    /// No question is open behind a Stop or the end of its run.
    pub(super) fn check_questions(&self) -> Result<(), Broken> {
        for question in &self.questions {
            let Asked::Open { .. } = question.state else { continue };
            let model = &self.runs[usize::from(question.run) - 1];
            ensure(model.stopped_at.is_none(), "ASK-04", || {
                format!("a question of run {} is open behind its Stop", question.run)
            })?;
            ensure(model.ended.is_none(), "ASK-05", || {
                format!("a question of run {} is open behind its end", question.run)
            })?;
        }
        Ok(())
    }

    /// What was open is gone with the memory.
    pub(super) fn crash_questions(&mut self) {
        for question in &mut self.questions {
            if !matches!(question.state, Asked::Resolved(_)) {
                question.state = Asked::Lost;
            }
        }
    }

    fn answer_for(&mut self, number: u8, cause: Cause) -> Result<(), Broken> {
        let question = self.question(number);
        question.answers = (question.answers + 1).min(ANSWERS);
        let ask = AskId::new(1_000 + 10 * u64::from(number) + u64::from(question.answers));
        let question_id = QuestionId::new(u64::from(number));
        self.feed(cause, Input::Answer { ask, question_id, version: QUESTION_VERSION })
    }

    fn question(&mut self, number: u8) -> &mut QuestionModel {
        &mut self.questions[usize::from(number) - 1]
    }
}

fn number(question_id: QuestionId) -> u8 {
    u8::try_from(question_id.number()).expect("questions are few")
}
