//! The demo agent, driven through the agent port on a clock of the test.

#![allow(clippy::unwrap_used, reason = "helpers of a test may panic like the test")]

#[path = "support/invoke.rs"]
mod invoke;
#[path = "support/manual_world.rs"]
mod manual_world;

use futures_lite::future::{block_on, poll_once, zip};
use invoke::{Seen, collect, collect_with, invocation};
use manual_world::ManualWorld;
use runwarden::agents::demo::{DemoFactory, PACE};
use runwarden_protocol::instant::Duration;
use runwarden_protocol::journal::row::ItemKind;
use runwarden_runtime::ports::agent::{FailureKind, QuestionReply};
use runwarden_runtime::ports::{
    Agent, AgentEvent, AgentFactory, Construction, EventSink, Returned, Signal, World,
};
use serde_json::json;
use std::sync::Arc;

fn demo(world: &ManualWorld, pace: Duration) -> Arc<dyn Agent> {
    let factory = DemoFactory::new("demo".into(), "Demo".into(), world.clone(), pace);
    block_on(factory.construct(Construction::default())).unwrap()
}

fn run(prompts: &[&str]) -> (Vec<Seen>, Returned) {
    let agent = demo(&ManualWorld::standing(), Duration::ZERO);
    block_on(collect(&agent, invocation(prompts, None)))
}

fn text_of(seen: &[Seen], wanted: ItemKind) -> String {
    seen.iter()
        .filter_map(|seen| match seen {
            Seen::Text { kind, text, .. } if *kind == wanted => Some(text.as_str()),
            _ => None,
        })
        .collect()
}

#[test]
fn a_message_is_thought_about_and_answered_with_markdown() {
    let (seen, returned) = run(&["first message", "how are you"]);
    assert_eq!(returned, Returned::Completed);
    assert!(matches!(seen[0], Seen::Text { item: 1, kind: ItemKind::Thinking, .. }));
    let answer = text_of(&seen, ItemKind::Text);
    for part in ["> how are you", "- it has **3 words**", "```rust\n", "1 earlier turn"] {
        assert!(answer.contains(part), "{part} in {answer}");
    }
    assert!(seen.len() > 40, "streamed word by word, not at once: {}", seen.len());
    let Some(Seen::Usage(usage)) = seen.last() else { panic!("no usage: {:?}", seen.last()) };
    assert_eq!(usage.input, Some(6), "five words of the user, one of the answer between them");
    assert!(usage.output > Some(40));
}

#[test]
fn the_same_prompt_gets_the_same_events() {
    assert_eq!(run(&["again"]), run(&["again"]));
    assert_eq!(run(&["/flood"]), run(&["/flood"]));
}

#[test]
fn help_lists_every_command_and_an_unknown_one_gets_it_too() {
    let help = text_of(&run(&["/help"]).0, ItemKind::Text);
    for command in [
        "/slow", "/plan", "/tool", "/diff", "/long", "/permit", "/ask", "/ask2", "/fail", "/wedge",
        "/flood", "/help",
    ] {
        assert!(help.contains(&format!("`{command}`")), "{command}");
    }
    let unknown = text_of(&run(&["/nonsense now"]).0, ItemKind::Text);
    assert!(unknown.contains("I do not know `/nonsense`") && unknown.ends_with(&help));
}

#[test]
fn slow_takes_about_thirty_seconds() {
    let world = ManualWorld::hurrying();
    let agent = demo(&world, PACE);
    let start = world.now();
    let (seen, returned) = block_on(collect(&agent, invocation(&["/slow"], None)));
    assert_eq!(returned, Returned::Completed);
    let took = world.now().age_of(start);
    assert_eq!(took, Duration::from_secs(30));
    assert!(text_of(&seen, ItemKind::Text).contains("Line 100 of 100"));
}

#[test]
fn tool_shows_two_calls_running_then_done_with_an_interim_text() {
    let (seen, returned) = run(&["/tool"]);
    assert_eq!(returned, Returned::Completed);
    let calls: Vec<_> = seen
        .iter()
        .filter_map(|seen| match seen {
            Seen::Update { item, kind: ItemKind::Tool, value } => {
                Some((*item, value["status"].as_str().unwrap().to_owned()))
            }
            _ => None,
        })
        .collect();
    let expected = [(2, "running"), (2, "done"), (4, "running"), (4, "done")];
    assert_eq!(calls, expected.map(|(item, status)| (item, status.to_owned())));
    assert!(text_of(&seen, ItemKind::Interim).contains("reading the first one"));
    assert!(text_of(&seen, ItemKind::Text).contains("Both calls are done"));
}

#[test]
fn ask_uses_the_answer_and_does_without_one() {
    let agent = demo(&ManualWorld::standing(), Duration::ZERO);
    for (reply, part) in [
        (QuestionReply::Answered(json!({"text": "mauve"})), "`mauve`"),
        (QuestionReply::Unanswered, "Nobody answered"),
    ] {
        let (seen, returned) =
            block_on(collect_with(&agent, invocation(&["/ask"], None), move |question| {
                assert_eq!(question.options, ["Red", "Green", "Blue"]);
                assert!(question.allow_custom && !question.approval && !question.multi);
                Some(reply.clone())
            }));
        assert_eq!(returned, Returned::Completed);
        assert!(text_of(&seen, ItemKind::Text).contains(part), "{seen:?}");
    }
}

#[test]
fn a_question_whose_asker_is_gone_counts_as_unanswered() {
    let agent = demo(&ManualWorld::standing(), Duration::ZERO);
    let (seen, returned) =
        block_on(collect_with(&agent, invocation(&["/ask"], None), |_question| None));
    assert_eq!(returned, Returned::Completed);
    assert!(text_of(&seen, ItemKind::Text).contains("Nobody answered"));
}

#[test]
fn a_permission_decides_what_becomes_of_the_tool_call() {
    let agent = demo(&ManualWorld::standing(), Duration::ZERO);
    for (choice, status) in [("Allow once", "done"), ("Reject", "failed")] {
        let (seen, returned) =
            block_on(collect_with(&agent, invocation(&["/permit"], None), move |question| {
                assert!(question.approval && question.options.len() == 4);
                Some(QuestionReply::Answered(json!({"choice": choice})))
            }));
        assert_eq!(returned, Returned::Completed);
        let last = seen.iter().rev().find_map(|seen| match seen {
            Seen::Update { kind: ItemKind::Tool, value, .. } => Some(value["status"].clone()),
            _ => None,
        });
        assert_eq!(last, Some(json!(status)), "{choice}");
    }
}

#[test]
fn two_questions_are_open_at_once_and_answered_in_any_order() {
    let agent = demo(&ManualWorld::standing(), Duration::ZERO);
    let (sink, events) = EventSink::bounded(64);
    let invoked = Arc::clone(&agent).invoke(invocation(&["/ask2"], None), sink);
    let answered = async {
        let mut open = Vec::new();
        let mut said = String::new();
        while let Ok(event) = events.recv().await {
            match event {
                AgentEvent::Question { reply, .. } => open.push(reply),
                AgentEvent::Text { text, .. } => said.push_str(&text),
                AgentEvent::Update { .. }
                | AgentEvent::Usage(_)
                | AgentEvent::SteerWanted { .. }
                | AgentEvent::SteerRead { .. } => {}
            }
            if open.len() == 2 {
                for (reply, word) in open.drain(..).rev().zip(["second", "first"]) {
                    reply.send(QuestionReply::Answered(json!({"text": word}))).await.unwrap();
                }
            }
        }
        said
    };
    let (returned, said) = block_on(zip(invoked, answered));
    assert_eq!(returned, Returned::Completed);
    assert!(said.contains("`first` and `second`"), "{said}");
}

#[test]
fn plans_changes_and_long_outputs_are_values_a_page_can_draw() {
    let last = |prompt: &str, wanted: ItemKind| {
        let (seen, returned) = run(&[prompt]);
        assert_eq!(returned, Returned::Completed);
        seen.into_iter()
            .rev()
            .find_map(|seen| match seen {
                Seen::Update { kind, value, .. } if kind == wanted => Some(value),
                _ => None,
            })
            .unwrap()
    };
    let plan = last("/plan", ItemKind::Notice)["plan"].clone();
    assert!(plan.as_array().unwrap().iter().all(|entry| entry["status"] == "completed"));
    let output = last("/diff", ItemKind::Tool)["output"].clone();
    assert_eq!((output[1]["path"].is_string(), &output[2]["old"]), (true, &json!(null)));
    assert_ne!(output[1]["old"], output[1]["new"]);
    assert_eq!(last("/long", ItemKind::Tool)["status"], "failed");
}

#[test]
fn fail_says_something_and_fails() {
    let (seen, returned) = run(&["/fail"]);
    assert!(!text_of(&seen, ItemKind::Text).is_empty());
    let Returned::Failed(failure) = returned else { panic!("{returned:?}") };
    assert_eq!(failure.kind, FailureKind::Internal);
}

#[test]
fn flood_sends_180_kib_of_mixed_items_without_a_pause() {
    // On a standing clock a single sleep would hang the test.
    let agent = demo(&ManualWorld::standing(), PACE);
    let (seen, returned) = block_on(collect(&agent, invocation(&["/flood"], None)));
    assert_eq!(returned, Returned::Completed);
    let bytes = [ItemKind::Text, ItemKind::Thinking, ItemKind::Interim]
        .map(|kind| text_of(&seen, kind).len());
    assert_eq!(bytes.iter().sum::<usize>(), 180 * 1_024);
    assert!(bytes.iter().all(|bytes| *bytes > 0), "{bytes:?}");
}

#[test]
fn an_interrupt_ends_a_sleeping_agent_at_once() {
    let world = ManualWorld::standing();
    let agent = demo(&world, PACE);
    let (sink, _events) = EventSink::bounded(16);
    let invoked = Arc::clone(&agent).invoke(invocation(&["/slow"], None), sink);
    let interrupt = async {
        world.somebody_sleeps().await;
        agent.signal(Signal::Interrupt);
    };
    let (returned, ()) = block_on(zip(invoked, interrupt));
    assert_eq!(returned, Returned::Interrupted);
}

#[test]
fn an_interrupt_ends_an_agent_whose_events_nobody_takes() {
    let agent = demo(&ManualWorld::standing(), Duration::ZERO);
    let (sink, events) = EventSink::bounded(1);
    block_on(async {
        let mut invoked = Arc::clone(&agent).invoke(invocation(&["/flood"], None), sink);
        assert_eq!(poll_once(&mut invoked).await, None);
        assert!(events.is_full());
        agent.signal(Signal::Interrupt);
        assert_eq!(poll_once(&mut invoked).await, Some(Returned::Interrupted));
    });
}

#[test]
fn a_wedge_ignores_everything_but_a_kill() {
    let agent = demo(&ManualWorld::standing(), Duration::ZERO);
    let (sink, events) = EventSink::bounded(64);
    block_on(async {
        let mut invoked = Arc::clone(&agent).invoke(invocation(&["/wedge"], None), sink);
        for signal in [Signal::Interrupt, Signal::Terminate] {
            agent.signal(signal);
            assert_eq!(poll_once(&mut invoked).await, None, "{signal:?}");
        }
        assert!(matches!(events.try_recv(), Ok(AgentEvent::Text { .. })));
        agent.signal(Signal::Kill);
        assert_eq!(poll_once(&mut invoked).await, Some(Returned::Interrupted));
    });
}

#[test]
fn an_agent_returns_when_the_run_takes_no_more_events() {
    let agent = demo(&ManualWorld::standing(), Duration::ZERO);
    let (sink, events) = EventSink::bounded(1);
    drop(events);
    let returned = block_on(agent.invoke(invocation(&["hello"], None), sink));
    assert_eq!(returned, Returned::Interrupted);
}

#[test]
fn an_agent_serves_one_run_after_another() {
    let agent = demo(&ManualWorld::standing(), Duration::ZERO);
    let (sink, _events) = EventSink::bounded(1);
    let first = Arc::clone(&agent).invoke(invocation(&["/slow"], None), sink);
    agent.signal(Signal::Interrupt);
    assert_eq!(block_on(first), Returned::Interrupted);
    assert_eq!(block_on(collect(&agent, invocation(&["hi"], None))).1, Returned::Completed);
}
