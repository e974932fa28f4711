//! Invokes an agent and writes down what it does.

#![allow(dead_code, reason = "each test binary uses its part")]

use std::sync::Arc;

use futures_lite::future::zip;
use runwarden_protocol::ids::RunId;
use runwarden_protocol::journal::row::ItemKind;
use runwarden_protocol::session::record::Usage;
use runwarden_runtime::ports::agent::{ContextMessage, ContextRole, QuestionDraft, QuestionReply};
use runwarden_runtime::ports::{Agent, AgentEvent, EventSink, Invocation, Returned};
use serde_json::Value;

/// An event, without its channel ends.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Seen {
    Text { item: u32, kind: ItemKind, text: String },
    Update { item: u32, kind: ItemKind, value: Value },
    Question(QuestionDraft),
    Usage(Usage),
}

/// An invocation with these user messages; between them stands one word of the assistant.
pub(crate) fn invocation(prompts: &[&str], model: Option<&str>) -> Invocation {
    let mut context = Vec::new();
    for (number, prompt) in prompts.iter().enumerate() {
        if number > 0 {
            context.push(ContextMessage { role: ContextRole::Assistant, text: "answer".into() });
        }
        context.push(ContextMessage { role: ContextRole::User, text: (*prompt).into() });
    }
    Invocation { run_id: RunId::new(1), context, model: model.map(Into::into) }
}

/// Runs an invocation that asks nothing.
pub(crate) async fn collect(
    agent: &Arc<dyn Agent>,
    invocation: Invocation,
) -> (Vec<Seen>, Returned) {
    collect_with(agent, invocation, |question| panic!("unexpected question: {question:?}")).await
}

/// Runs an invocation to its end; `reply` answers its questions, `None` drops the asker's channel.
pub(crate) async fn collect_with(
    agent: &Arc<dyn Agent>,
    invocation: Invocation,
    reply: impl Fn(&QuestionDraft) -> Option<QuestionReply>,
) -> (Vec<Seen>, Returned) {
    let (sink, events) = EventSink::bounded(8);
    let invoked = Arc::clone(agent).invoke(invocation, sink);
    let taken = async {
        let (mut seen, mut readers) = (Vec::new(), Vec::new());
        while let Ok(event) = events.recv().await {
            let event = match event {
                AgentEvent::SteerWanted { reply } => {
                    // Nobody steers; the agent waits for nothing.
                    readers.push(reply);
                    continue;
                }
                event => event,
            };
            seen.push(match event {
                AgentEvent::Text { item, kind, text } => Seen::Text { item, kind, text },
                AgentEvent::Update { item, kind, value } => Seen::Update { item, kind, value },
                AgentEvent::SteerWanted { .. } | AgentEvent::SteerRead { .. } => {
                    panic!("a steer is read that nobody gave")
                }
                AgentEvent::Usage(usage) => Seen::Usage(usage),
                AgentEvent::Question { question, reply: sender } => {
                    if let Some(reply) = reply(&question) {
                        sender.send(reply).await.unwrap();
                    }
                    Seen::Question(question)
                }
            });
        }
        seen
    };
    let (returned, seen) = zip(invoked, taken).await;
    (seen, returned)
}
