//! The agent of the load, inside the server's process: it says rows of 200 bytes as fast as they are taken, or at
//! a pace.
//!
//! As fast as they are taken means by the slowest subscriber: the load writes to standard input how many rows of
//! which run every subscriber has, and the agent is at most [`ROWS_AHEAD`] before that. Without it the agent would
//! say far more than any client reads, and the server would rightly tell them to fetch the run instead.

use std::io::BufRead;
use std::sync::Arc;
use std::time::{Duration, Instant};

use async_channel::{Receiver, Sender};
use runwarden_protocol::journal::row::ItemKind;
use runwarden_runtime::ports::agent::BoxFuture;
use runwarden_runtime::ports::{
    Agent, AgentEvent, AgentFactory, AgentFailure, AgentProfile, Construction, EventSink,
    Invocation, Returned, Signal,
};
use smol::Timer;

/// Its name.
pub(crate) const NAME: &str = "load";

/// Rows it is ahead of the slowest subscriber: what the queue of a connection holds of them, less a batch, which
/// counts until all of it is written.
const ROWS_AHEAD: u64 = 96;

/// Bytes of a row.
const ROW_BYTES: usize = 200;

/// Runs at once.
const RUNS_MAX: usize = 64;

/// The prompt of a run: its number, and the rows a second if it has a pace.
pub(crate) fn prompt(run: usize, pace: Option<u64>) -> String {
    format!("{run} {}", pace.unwrap_or(0))
}

/// What the load tells it: every subscriber of the run has so many rows.
pub(crate) fn grant(run: usize, rows: u64) -> String {
    format!("{run} {rows}\n")
}

/// Makes it.
pub(crate) struct LoadFactory {
    agent: Arc<LoadAgent>,
}

struct LoadAgent {
    /// Of each run, how many rows every subscriber has.
    taken: Vec<Receiver<u64>>,
}

impl LoadFactory {
    /// An agent that listens to standard input.
    pub(crate) fn listening() -> Self {
        let (senders, taken): (Vec<_>, Vec<_>) =
            (0..RUNS_MAX).map(|_| async_channel::unbounded()).unzip();
        std::thread::spawn(move || listen(&senders));
        Self { agent: Arc::new(LoadAgent { taken }) }
    }
}

fn listen(senders: &[Sender<u64>]) {
    for line in std::io::stdin().lock().lines().map_while(Result::ok) {
        let Some((run, rows)) = numbers(&line) else { continue };
        let sender = usize::try_from(run).ok().and_then(|run| senders.get(run));
        // A run that is over listens no more.
        let _ = sender.map(|sender| sender.try_send(rows));
    }
}

fn numbers(line: &str) -> Option<(u64, u64)> {
    let (first, second) = line.trim().split_once(' ')?;
    Some((first.parse().ok()?, second.parse().ok()?))
}

impl AgentFactory for LoadFactory {
    fn name(&self) -> &str {
        NAME
    }

    fn profile(&self) -> AgentProfile {
        AgentProfile::new(NAME.to_owned(), "Load".to_owned())
    }

    fn construct(
        &self,
        _construction: Construction,
    ) -> BoxFuture<'_, Result<Arc<dyn Agent>, AgentFailure>> {
        let agent: Arc<dyn Agent> = self.agent.clone();
        Box::pin(std::future::ready(Ok(agent)))
    }

    fn probe(&self) -> BoxFuture<'_, Result<AgentProfile, AgentFailure>> {
        Box::pin(std::future::ready(Ok(self.profile())))
    }
}

impl Agent for LoadAgent {
    fn invoke(
        self: Arc<Self>,
        invocation: Invocation,
        sink: EventSink,
    ) -> BoxFuture<'static, Returned> {
        let prompt = invocation.context.last().map(|message| message.text.clone());
        let (run, pace) = prompt.as_deref().and_then(numbers).unwrap_or_default();
        let taken = usize::try_from(run).ok().and_then(|run| self.taken.get(run)).cloned();
        Box::pin(async move {
            match taken {
                Some(taken) if pace == 0 => flat_out(&sink, &taken).await,
                _ => paced(&sink, pace.max(1)).await,
            }
            Returned::Completed
        })
    }

    fn signal(&self, _signal: Signal) {}

    fn close(&self) {}
}

/// Until nobody listens any more.
async fn flat_out(sink: &EventSink, taken: &Receiver<u64>) {
    let mut rows_taken = 0;
    for row in 0.. {
        while row >= rows_taken + ROWS_AHEAD {
            let Ok(rows) = taken.recv().await else { return };
            rows_taken = rows;
        }
        if sink.send(say(row)).await.is_err() {
            return;
        }
    }
}

async fn paced(sink: &EventSink, pace: u64) {
    let begin = Instant::now();
    for row in 0.. {
        let due = begin + Duration::from_micros(row * 1_000_000 / pace);
        if due > Instant::now() {
            Timer::at(due).await;
        }
        if sink.send(say(row)).await.is_err() {
            return;
        }
    }
}

/// Neighbours belong to different items, so that each piece becomes a row of its own.
fn say(row: u64) -> AgentEvent {
    let text = format!("{row:>width$}", width = ROW_BYTES);
    let item = if row.is_multiple_of(2) { 1 } else { 2 };
    AgentEvent::Text { item, kind: ItemKind::Text, text }
}
