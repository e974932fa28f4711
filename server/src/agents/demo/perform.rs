//! Carries out a script, one act after another.

use futures_lite::future::or;
use runwarden_protocol::instant::Duration;
use runwarden_protocol::journal::row::ItemKind;
use runwarden_protocol::session::record::Usage;
use runwarden_runtime::ports::agent::{FailureKind, QuestionDraft, QuestionReply, SinkClosed};
use runwarden_runtime::ports::{AgentEvent, AgentFailure, EventSink, Returned, World};

use super::script::{Act, Script};
use super::talk::{Count, Steady, Talk};
use super::{show, text};

/// Streams the events of one invocation.
pub(super) struct Performer<W> {
    world: W,
    pace: Duration,
    sink: EventSink,
    words_out: u64,
    replies: Vec<QuestionReply>,
}

impl<W: World> Performer<W> {
    pub(super) fn new(world: W, pace: Duration, sink: EventSink) -> Self {
        Self { world, pace, sink, words_out: 0, replies: Vec::new() }
    }

    /// Runs to the script's end. May be dropped at any await.
    pub(super) async fn perform(mut self, script: Script) -> Returned {
        let words_in = script.words_in;
        for act in script.acts {
            let done = match act {
                Act::Stream { item, kind, text } => self.stream(item, kind, &text).await,
                Act::Burst { item, kind, text } => self.send_text(item, kind, text).await,
                Act::Show { item, kind, value } => {
                    self.sink.send(AgentEvent::Update { item, kind, value }).await
                }
                Act::Pause { words } => {
                    self.pause(words).await;
                    Ok(())
                }
                Act::Ask(questions) => self.ask(questions).await,
                Act::UseReply { item } => {
                    let text = text::replies(&self.replies);
                    self.stream(item, ItemKind::Text, &text).await
                }
                Act::UsePermission { item } => self.use_permission(item).await,
                Act::Steady { item, text } => self.talk(item, Steady::new(&text)).await,
                Act::Count { item } => self.talk(item, Count::new()).await,
                Act::Fail => return Returned::Failed(failure()),
                Act::Hang => std::future::pending().await,
            };
            if done.is_err() {
                return Returned::Interrupted;
            }
        }
        let usage = Usage { input: Some(words_in), output: Some(self.words_out), ..Usage::UNKNOWN };
        match self.sink.send(AgentEvent::Usage(usage)).await {
            Ok(()) => Returned::Completed,
            Err(SinkClosed) => Returned::Interrupted,
        }
    }

    async fn stream(&mut self, item: u32, kind: ItemKind, text: &str) -> Result<(), SinkClosed> {
        for word in text.split_inclusive(' ') {
            self.pause(1).await;
            self.send_text(item, kind, word.to_owned()).await?;
        }
        Ok(())
    }

    async fn send_text(
        &mut self,
        item: u32,
        kind: ItemKind,
        text: String,
    ) -> Result<(), SinkClosed> {
        let words = text.split_whitespace().count();
        self.words_out = self.words_out.saturating_add(words as u64);
        self.sink.send(AgentEvent::Text { item, kind, text }).await
    }

    async fn pause(&self, words: u32) {
        if self.pace == Duration::ZERO {
            return;
        }
        let pause_us = self.pace.as_micros().saturating_mul(u64::from(words));
        self.world.sleep_until(self.world.now().plus(Duration::from_micros(pause_us))).await;
    }

    /// One piece after another; a steer is answered between two of them.
    async fn talk<T: Talk>(&mut self, item: u32, mut talk: T) -> Result<(), SinkClosed> {
        let sink = self.sink.clone();
        let mut steer = Box::pin(sink.next_steer());
        while !talk.is_over() {
            let pause = async {
                self.pause(T::PAUSE_WORDS).await;
                None
            };
            let heard = async { Some(steer.as_mut().await) };
            if let Some(words) = or(heard, pause).await {
                self.stream(item, ItemKind::Text, &talk.hear(&words?)).await?;
                steer = Box::pin(sink.next_steer());
                continue;
            }
            if let Some(piece) = talk.next_piece() {
                self.send_text(item, ItemKind::Text, piece).await?;
            }
        }
        Ok(())
    }

    async fn ask(&mut self, questions: Vec<QuestionDraft>) -> Result<(), SinkClosed> {
        let mut waiting = Vec::with_capacity(questions.len());
        for question in questions {
            let (reply, replied) = async_channel::bounded(1);
            self.sink.send(AgentEvent::Question { question, reply }).await?;
            waiting.push(replied);
        }
        self.replies.clear();
        for replied in waiting {
            // A dropped sender means that nobody will answer any more.
            self.replies.push(replied.recv().await.unwrap_or(QuestionReply::Unanswered));
        }
        Ok(())
    }

    async fn use_permission(&mut self, item: u32) -> Result<(), SinkClosed> {
        let value = if text::permitted(&self.replies) {
            show::deletion("done", Some("removed 212 files"))
        } else {
            show::deletion("failed", Some("not permitted"))
        };
        self.sink.send(AgentEvent::Update { item, kind: ItemKind::Tool, value }).await
    }
}

fn failure() -> AgentFailure {
    AgentFailure { kind: FailureKind::Internal, detail: "the prompt asked for a failure".into() }
}
