//! One invocation of an agent: its events become rows, text merged at its source (JRN-20).

use std::sync::Arc;

use async_channel::{Receiver, Sender};
use futures_lite::future::or;
use runwarden_protocol::ids::{ItemId, SteerId};
use runwarden_protocol::instant::Instant;
use runwarden_protocol::journal::row::ItemKind;
use runwarden_protocol::journal::text_merge::{self, PIECE_BYTES_MAX, TextMerge};
use runwarden_protocol::machine::{Machine, Outbox};
use runwarden_protocol::session::record::Usage;
use serde_json::Value;

use crate::ports::agent::{BoxFuture, HandedSteer, QuestionDraft, QuestionReply};
use crate::ports::{Agent, AgentEvent, EventSink, Invocation, Returned, World};

/// Events of an agent that wait for its run's journal.
pub const EVENTS_WAITING_MAX: usize = 64;

/// What an invocation gives to its session.
#[derive(Debug)]
pub enum Progress {
    /// Text of one row.
    Text {
        /// The item.
        item_id: ItemId,
        /// Its kind.
        item_kind: ItemKind,
        /// The text.
        text: String,
    },
    /// The newest value of an item.
    Update {
        /// The item.
        item_id: ItemId,
        /// Its kind.
        item_kind: ItemKind,
        /// The value.
        value: Value,
    },
    /// A question.
    Question {
        /// What is asked.
        question: QuestionDraft,
        /// Where its answer goes.
        reply: Sender<QuestionReply>,
    },
    /// What was used so far.
    Usage(Usage),
    /// The agent waits for a steer.
    SteerWanted(Sender<HandedSteer>),
    /// The agent took a steer.
    SteerRead(SteerId),
    /// The invocation is over; nothing follows.
    Returned(Returned),
}

enum Step {
    Killed,
    Event(AgentEvent),
    Silent,
    Due,
    Done(Returned),
}

/// One call of a worker, as [`invoke`] makes it.
pub type Call = BoxFuture<'static, ()>;

/// The worker of a run: carries out its calls, one after another, until nobody can ask for one any more.
pub async fn serve(calls: Receiver<Call>) {
    while let Ok(call) = calls.recv().await {
        call.await;
    }
}

/// Begins an invocation. The future runs it to its end, or until `kill` gets a message or is closed;
/// then the call is dropped. The agent is called before this returns, so that no signal can come too
/// early for it.
pub fn invoke<W: World>(
    world: W,
    agent: Arc<dyn Agent>,
    invocation: Invocation,
    kill: Receiver<()>,
    progress: Sender<Progress>,
) -> impl Future<Output = ()> + Send + 'static {
    let (sink, events) = EventSink::bounded(EVENTS_WAITING_MAX);
    let call = agent.invoke(invocation, sink);
    run(world, call, events, kill, progress)
}

async fn run<W: World>(
    world: W,
    mut call: BoxFuture<'static, Returned>,
    events: Receiver<AgentEvent>,
    kill: Receiver<()>,
    progress: Sender<Progress>,
) {
    let mut pump = Pump { world, merge: TextMerge::new(), progress };
    let mut listening = true;
    let returned = loop {
        match pump.next(&kill, &events, listening, &mut call).await {
            Step::Killed => break Returned::Interrupted,
            Step::Silent => listening = false,
            Step::Due => {
                if !or(pump.tick(), killed(&kill)).await {
                    break Returned::Interrupted;
                }
            }
            Step::Event(event) => {
                if !or(pump.take(event), killed(&kill)).await {
                    break Returned::Interrupted;
                }
            }
            Step::Done(returned) => {
                while let Ok(event) = events.try_recv() {
                    if !or(pump.take(event), killed(&kill)).await {
                        break;
                    }
                }
                break returned;
            }
        }
    };
    drop(call);
    if or(pump.flush(), killed(&kill)).await {
        or(pump.send(Progress::Returned(returned)), killed(&kill)).await;
    }
}

async fn killed(kill: &Receiver<()>) -> bool {
    // A message, or a session that is gone: either way nobody waits for this call.
    let _ = kill.recv().await;
    false
}

struct Pump<W> {
    world: W,
    merge: TextMerge,
    progress: Sender<Progress>,
}

impl<W: World> Pump<W> {
    /// What happens next, in a fixed order of preference.
    async fn next(
        &self,
        kill: &Receiver<()>,
        events: &Receiver<AgentEvent>,
        listening: bool,
        call: &mut (impl Future<Output = Returned> + Unpin),
    ) -> Step {
        let killed = async {
            let _ = kill.recv().await;
            Step::Killed
        };
        let event = async {
            if listening {
                events.recv().await.map_or(Step::Silent, Step::Event)
            } else {
                std::future::pending().await
            }
        };
        let due = self.merge.deadline().map(|(at, _)| at);
        let due = async move {
            match due {
                Some(at) => self.world.sleep_until(at).await,
                None => std::future::pending().await,
            }
            Step::Due
        };
        let done = async { Step::Done(call.await) };
        or(killed, or(event, or(due, done))).await
    }

    async fn take(&mut self, event: AgentEvent) -> bool {
        match event {
            AgentEvent::Text { item, kind, text } => self.text(item, kind, &text).await,
            AgentEvent::Update { item, kind, value } => {
                let update = Progress::Update { item_id: item_id(item), item_kind: kind, value };
                self.flush().await && self.send(update).await
            }
            AgentEvent::Question { question, reply } => {
                self.flush().await && self.send(Progress::Question { question, reply }).await
            }
            AgentEvent::Usage(usage) => self.send(Progress::Usage(usage)).await,
            AgentEvent::SteerWanted { reply } => self.send(Progress::SteerWanted(reply)).await,
            AgentEvent::SteerRead { steer_id } => {
                self.flush().await && self.send(Progress::SteerRead(steer_id)).await
            }
        }
    }

    async fn text(&mut self, item: u32, item_kind: ItemKind, text: &str) -> bool {
        for piece in pieces(text) {
            let (item_id, text) = (item_id(item), piece.to_owned());
            if !self.feed(text_merge::Input::Text { item_id, item_kind, text }).await {
                return false;
            }
        }
        true
    }

    async fn flush(&mut self) -> bool {
        self.feed(text_merge::Input::Flush).await
    }

    async fn tick(&mut self) -> bool {
        let mut out = Outbox::new();
        self.merge.tick(self.world.now(), &mut out);
        self.send_rows(out).await
    }

    async fn feed(&mut self, input: text_merge::Input) -> bool {
        let mut out = Outbox::new();
        let now: Instant = self.world.now();
        if let Err(reject) = self.merge.step(now, input, &mut out) {
            tracing::warn!(?reject, "an agent's text was turned away");
        }
        self.send_rows(out).await
    }

    async fn send_rows(&self, mut out: Outbox<text_merge::Output>) -> bool {
        for text_merge::Output::Rows { item_id, item_kind, texts } in out.drain() {
            for text in texts {
                if !self.send(Progress::Text { item_id, item_kind, text }).await {
                    return false;
                }
            }
        }
        true
    }

    async fn send(&self, progress: Progress) -> bool {
        self.progress.send(progress).await.is_ok()
    }
}

fn item_id(item: u32) -> ItemId {
    ItemId::new(u64::from(item))
}

/// Cuts text into pieces the merge takes, at character boundaries.
fn pieces(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let cut = rest.floor_char_boundary(PIECE_BYTES_MAX);
        let (piece, after) = rest.split_at(cut);
        rest = after;
        Some(piece)
    })
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use runwarden_protocol::ids::RunId;

    use super::*;
    use crate::ports::Signal;

    #[derive(Clone)]
    struct Standing;

    impl World for Standing {
        type Guards = runwarden_protocol::run::guards::Rules;

        fn now(&self) -> Instant {
            Instant::ZERO
        }

        fn sleep_until(&self, _at: Instant) -> impl Future<Output = ()> + Send + 'static {
            std::future::pending()
        }

        fn random(&self) -> u64 {
            0
        }

        fn spawn(&self, _task: impl Future<Output = ()> + Send + 'static) {}
    }

    #[derive(Default)]
    struct Called(AtomicBool);

    impl Agent for Called {
        fn invoke(
            self: Arc<Self>,
            _invocation: Invocation,
            _sink: EventSink,
        ) -> BoxFuture<'static, Returned> {
            self.0.store(true, Ordering::Release);
            Box::pin(std::future::pending())
        }

        fn signal(&self, _signal: Signal) {}

        fn close(&self) {}
    }

    #[test]
    fn the_agent_is_called_before_anybody_polls_so_that_no_interrupt_is_lost() {
        let agent = Arc::new(Called::default());
        let (_kill, killed) = async_channel::bounded(1);
        let (progress, _received) = async_channel::bounded(1);
        let invocation = Invocation { run_id: RunId::new(1), context: Vec::new(), model: None };
        let _running = invoke(Standing, agent.clone(), invocation, killed, progress);
        assert!(agent.0.load(Ordering::Acquire));
    }

    #[test]
    fn long_text_is_cut_at_character_boundaries() {
        let text = "é".repeat(PIECE_BYTES_MAX);
        let cut: Vec<_> = pieces(&text).collect();
        assert!(cut.iter().all(|piece| piece.len() <= PIECE_BYTES_MAX));
        assert_eq!(cut.concat(), text);
        assert_eq!(pieces("").count(), 0);
    }
}
