//! Questions of runs: asked, shown, answered, resolved (family ASK).

use async_channel::Sender;
use runwarden_protocol::ids::{QuestionId, RunId};
use runwarden_protocol::instant::Instant;
use runwarden_protocol::journal::row::RowEvent;
use runwarden_protocol::run::lineage::Input;
use runwarden_protocol::run::questions::Resolution;
use runwarden_protocol::session::answer;
use runwarden_protocol::session::project::int;
use runwarden_protocol::wire::JsonObject;
use runwarden_protocol::wire::codes::Code;
use runwarden_protocol::wire::frames::{Frame, QuestionAsked, QuestionResolved, QuestionsList};
use runwarden_protocol::wire::structures::{Question, QuestionKind};
use serde_json::{Value, json};

use super::driver::{Driver, Next, OpenQuestion, Waiting};
use super::ports::{VALUE_BYTES_MAX, clip_value, clipped};
use crate::connection::ReplyTo;
use crate::dispatch::PortAnswer;
use crate::frames::SharedFrame;
use crate::ports::agent::{QuestionDraft, QuestionReply};
use crate::ports::{Store, World};

impl<W: World, S: Store> Driver<W, S> {
    pub(super) fn asked(
        &mut self,
        run_id: RunId,
        question: QuestionDraft,
        reply: Sender<QuestionReply>,
    ) {
        let question_id = QuestionId::new(self.hub.world().random());
        let approval = question.approval;
        let shown = Question {
            question_id: question_id.to_string(),
            run_id: Some(run_id.to_string()),
            kind: if approval { QuestionKind::Approval } else { QuestionKind::Question },
            question_version: 1,
            prompt: clipped(&question.prompt, VALUE_BYTES_MAX),
            marker: None,
            options: question.options,
            multi: question.multi,
            allow_custom: question.allow_custom,
            expires_at: 0,
        };
        let body = serde_json::to_string(&shown).expect("a question has a JSON form");
        let json_bytes = body.len();
        let row = self.row(RowEvent::QuestionAsked { question_id }, body, json_bytes);
        self.questions.insert(question_id, OpenQuestion { shown, reply, is_published: false });
        self.produced(PortAnswer::Asked { run_id, question_id, approval, row }, row);
    }

    pub(super) fn question_opened(
        &mut self,
        question_id: QuestionId,
        version: u64,
        expires_at: Instant,
    ) {
        if let Some(open) = self.questions.get_mut(&question_id) {
            open.shown.question_version = int(version);
            open.shown.expires_at = int(expires_at.as_millis());
        }
    }

    pub(super) fn question_refused(&mut self, question_id: QuestionId) {
        if let Some(open) = self.questions.remove(&question_id) {
            // An agent that is gone needs no answer.
            let _ = open.reply.try_send(QuestionReply::Unanswered);
        }
    }

    /// The question of a row that is durable now.
    pub(super) fn show_question(&mut self, question_id: QuestionId, frames: &mut Vec<SharedFrame>) {
        let id = self.hub.payload_id();
        let Some(open) = self.questions.get_mut(&question_id) else { return };
        open.is_published = true;
        let asked = QuestionAsked {
            session_id: self.session_id.to_string(),
            question: open.shown.clone(),
            session_revision: int(self.head.revision.get()),
        };
        let frame = Frame::QuestionAsked(Box::new(asked));
        frames.push(SharedFrame::push(id, Some(self.session_id), &frame));
    }

    pub(super) fn list_questions(&self, reply: ReplyTo) {
        let list = QuestionsList {
            request_id: reply.request_id(),
            session_id: self.session_id.to_string(),
            questions: self.shown_questions(),
        };
        reply.done(Frame::QuestionsList(list));
    }

    pub(super) fn shown_questions(&self) -> Vec<Question> {
        let shown = self.questions.values().filter(|open| open.is_published);
        let mut questions: Vec<_> = shown.map(|open| open.shown.clone()).collect();
        questions.sort_by_key(|question| question.expires_at);
        questions
    }

    /// An answer that its question does not allow is refused before it could resolve anything; whether the
    /// question is open at all is for the machine to say.
    pub(super) fn answer(
        &mut self,
        reply: ReplyTo,
        question_id: QuestionId,
        version: u64,
        given: JsonObject,
    ) {
        let open = self.questions.get(&question_id).map(|open| &open.shown);
        if let Some(Err(fault)) = open.map(|shown| answer::check(shown, &given)) {
            tracing::debug!(%question_id, %fault, "an answer was refused");
            reply.refuse(|refusal| refusal, Code::InvalidRequest);
            return;
        }
        let ask = self.hub.ask_id();
        self.asks.insert(ask, Waiting::Answer(reply, Value::Object(given)));
        self.feed(Input::Answer { ask, question_id, version });
    }

    pub(super) fn questions_resolved(
        &mut self,
        run_id: RunId,
        questions: &[QuestionId],
        outcome: Resolution,
        waiting: Option<Waiting>,
    ) {
        let (mut asker, given) = match waiting {
            Some(Waiting::Answer(reply, given)) => (Some(reply), Some(given)),
            Some(
                Waiting::Start { .. }
                | Waiting::Head { .. }
                | Waiting::Queue { .. }
                | Waiting::Delete { .. }
                | Waiting::Stop(_)
                | Waiting::Steer(..),
            )
            | None => (None, None),
        };
        for question_id in questions {
            let Some(open) = self.questions.remove(question_id) else { continue };
            let told = match &given {
                Some(given) => QuestionReply::Answered(given.clone()),
                None => QuestionReply::Unanswered,
            };
            // An agent that is gone needs no answer.
            let _ = open.reply.try_send(told);
            self.note_resolution(run_id, *question_id, outcome, given.as_ref());
            self.tell_resolution(*question_id, outcome, asker.take());
        }
    }

    /// The journal row of an answer or an expiry. What a Stop or the end of the run resolves needs none: no
    /// row follows a Stop (STOP-05), and the terminal closes whatever is open.
    fn note_resolution(
        &mut self,
        run_id: RunId,
        question_id: QuestionId,
        outcome: Resolution,
        given: Option<&Value>,
    ) {
        match outcome {
            Resolution::Answered | Resolution::Expired => {}
            Resolution::Cancelled | Resolution::Interrupted => return,
        }
        let mut value = json!({"outcome": outcome, "answer": given});
        clip_value(&mut value, VALUE_BYTES_MAX);
        let body = value.to_string();
        let json_bytes = body.len();
        let row = self.row(RowEvent::QuestionResolved { question_id }, body, json_bytes);
        self.next(Next::Answer(PortAnswer::Produced(run_id, row)));
    }

    fn tell_resolution(
        &self,
        question_id: QuestionId,
        outcome: Resolution,
        asker: Option<ReplyTo>,
    ) {
        let resolved = |request_id| {
            Frame::QuestionResolved(QuestionResolved {
                request_id,
                session_id: self.session_id.to_string(),
                question_id: question_id.to_string(),
                outcome,
                session_revision: int(self.head.revision.get()),
            })
        };
        let asking = asker.as_ref().map(|reply| reply.peer().id);
        if let Some(reply) = asker {
            let frame = resolved(reply.request_id());
            reply.done(frame);
        }
        let shared =
            SharedFrame::push(self.hub.payload_id(), Some(self.session_id), &resolved(None));
        let now = self.hub.now();
        for peer in self.subscribers.values().filter(|peer| Some(peer.id) != asking) {
            peer.outbound.offer(now, &shared);
        }
    }
}
