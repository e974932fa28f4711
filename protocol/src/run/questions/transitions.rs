use super::state::{
    Input, OpenQuestion, Output, Phase, QUESTION_VERSION, QUESTIONS_MAX, Questions, Resolution,
};
use crate::ids::{AskId, QuestionId};
use crate::instant::Instant;
use crate::machine::{Machine, Outbox, Reject, TimerKind};
use crate::run::guards::Guards;

impl<G: Guards> Machine for Questions<G> {
    type Input = Input;
    type Output = Output;
    type Reject = Reject;
    const OUTPUTS_MAX: usize = 2;

    fn step(&mut self, now: Instant, input: Input, out: &mut Outbox<Output>) -> Result<(), Reject> {
        match (self.phase, input) {
            (Phase::Asking, Input::Asked { question_id, approval }) => {
                self.ask(now, question_id, approval, out)
            }
            (Phase::Closed, Input::Asked { question_id, .. }) => {
                out.push(Output::RefusedToAgent { question_id });
                Ok(())
            }
            (Phase::Asking, Input::Answered { ask, question_id, version }) => {
                self.answer(now, ask, question_id, version, out);
                Ok(())
            }
            (Phase::Closed, Input::Answered { ask, question_id, .. }) => {
                out.push(Output::AnswerRefused { ask, question_id });
                Ok(())
            }
            (Phase::Asking | Phase::Closed, Input::ResolveAll { outcome }) => {
                self.resolve_all(now, outcome, out)
            }
        }
    }

    fn tick(&mut self, now: Instant, out: &mut Outbox<Output>) {
        self.expire(now, out);
    }

    fn deadline(&self) -> Option<(Instant, TimerKind)> {
        let first = self.open.iter().map(|question| question.expires_at).min()?;
        Some((first, TimerKind::QuestionExpiry))
    }

    fn weight(&self) -> usize {
        self.open.len() * size_of::<OpenQuestion>()
    }

    fn is_terminal(&self) -> bool {
        // Late questions and answers are still replied to.
        false
    }

    fn state_name(&self) -> &'static str {
        match (self.phase, self.open.is_empty()) {
            (Phase::Asking, true) => "none_open",
            (Phase::Asking, false) => "waiting",
            (Phase::Closed, _) => "closed",
        }
    }
}

impl<G: Guards> Questions<G> {
    fn ask(
        &mut self,
        now: Instant,
        question_id: QuestionId,
        approval: bool,
        out: &mut Outbox<Output>,
    ) -> Result<(), Reject> {
        if self.position(question_id).is_some() {
            return Err(Reject::Local("question_already_open"));
        }
        self.expire(now, out);
        if self.open.len() >= QUESTIONS_MAX {
            out.push(Output::RefusedToAgent { question_id });
            return Ok(());
        }
        let expires_at = now.plus(self.timeout);
        let version = QUESTION_VERSION;
        self.open.push(OpenQuestion { question_id, approval, version, expires_at });
        out.push(Output::Opened { question_id, version, expires_at });
        Ok(())
    }

    fn answer(
        &mut self,
        now: Instant,
        ask: AskId,
        question_id: QuestionId,
        version: u64,
        out: &mut Outbox<Output>,
    ) {
        self.expire(now, out);
        match self.position(question_id) {
            Some(at) if self.open[at].version == version => {
                if G::closes_answered() {
                    self.open.remove(at);
                }
                out.push(Output::Resolved {
                    questions: vec![question_id],
                    outcome: Resolution::Answered,
                    ask: Some(ask),
                });
            }
            Some(_) | None => out.push(Output::AnswerRefused { ask, question_id }),
        }
    }

    fn resolve_all(
        &mut self,
        now: Instant,
        outcome: Resolution,
        out: &mut Outbox<Output>,
    ) -> Result<(), Reject> {
        match outcome {
            Resolution::Answered | Resolution::Expired => {
                return Err(Reject::Local("not_an_end_of_the_run"));
            }
            Resolution::Cancelled | Resolution::Interrupted => {}
        }
        self.expire(now, out);
        self.phase = Phase::Closed;
        let questions: Vec<_> = self.open.drain(..).map(|question| question.question_id).collect();
        resolved(questions, outcome, out);
        Ok(())
    }

    /// Everything due goes in one output, also when a step comes before the tick.
    fn expire(&mut self, now: Instant, out: &mut Outbox<Output>) {
        let due = |question: &OpenQuestion| question.expires_at <= now;
        let questions: Vec<_> =
            self.open.iter().filter(|q| due(q)).map(|q| q.question_id).collect();
        self.open.retain(|question| !due(question));
        resolved(questions, Resolution::Expired, out);
    }

    fn position(&self, question_id: QuestionId) -> Option<usize> {
        self.open.iter().position(|question| question.question_id == question_id)
    }
}

fn resolved(questions: Vec<QuestionId>, outcome: Resolution, out: &mut Outbox<Output>) {
    if !questions.is_empty() {
        out.push(Output::Resolved { questions, outcome, ask: None });
    }
}
