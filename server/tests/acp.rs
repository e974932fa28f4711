//! The ACP agent against a process that misbehaves on command.

#![allow(clippy::unwrap_used, reason = "helpers of a test may panic like the test")]

#[path = "support/hostile_acp.rs"]
mod hostile_acp;
#[path = "support/invoke.rs"]
mod invoke;
#[path = "support/manual_world.rs"]
mod manual_world;

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_lite::FutureExt;
use futures_lite::future::{block_on, poll_once, zip};
use hostile_acp::{FOLDER_VARIABLE, MODE_VARIABLE, be_the_agent_if_asked, living, processes, told};
use invoke::{Seen, collect, collect_with, invocation};
use manual_world::ManualWorld;
use runwarden::agents::acp::{
    END_GRACE, GARBAGE_LINES_MAX, LOAD_SILENCE_MAX, PERMISSIONS_OPEN_MAX,
};
use runwarden::agents::{AgentConfig, build_with};
use runwarden_protocol::journal::row::ItemKind;
use runwarden_protocol::session::record::Usage;
use runwarden_runtime::ports::agent::{FailureKind, QuestionReply};
use runwarden_runtime::ports::{
    Agent, AgentContext, AgentEvent, AgentFactory, Construction, EventSink, Returned, Signal,
};
use serde_json::{Value, json};
use tempfile::TempDir;

/// Longer than the end of a killed process takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(20);

/// What a test started.
struct Started {
    factory: Arc<dyn AgentFactory>,
    agent: Arc<dyn Agent>,
    folder: TempDir,
    world: ManualWorld,
}

/// Not a test of its own: the process that the others talk to.
#[test]
fn agent_process() {
    be_the_agent_if_asked();
}

#[test]
fn text_thought_tool_plan_permission_and_usage_are_shown_in_order() {
    let started = start("happy");
    let allow = || Some(QuestionReply::Answered(json!({"choice": "Allow"})));
    let (seen, returned) =
        block_on(collect_with(&started.agent, invocation(&["hi"], None), |_| allow()));
    assert_eq!(returned, Returned::Completed);
    let text = |item, kind, text: &str| Seen::Text { item, kind, text: text.into() };
    let update = |item, kind, value| Seen::Update { item, kind, value };
    let plan = |content: &str, status: &str, priority: &str| json!({"content": content, "status": status, "priority": priority});
    let plan = json!({"text": "Plan: 0 of 2 done; now: look",
        "plan": [plan("look", "in_progress", "high"), plan("write", "pending", "low")]});
    let tool = |summary: &str| json!({"name": "edit", "status": "running", "summary": summary, "input": {"path": "a"}});
    let mut done = tool("Edit a file?");
    done["status"] = json!("done");
    done["output"] = json!("done");
    let Some(Seen::Question(question)) = seen.get(6) else { panic!("{seen:#?}") };
    assert_eq!((question.prompt.as_str(), question.approval), ("Edit a file?", true));
    assert_eq!(question.options, ["Allow", "Reject"]);
    let expected = [
        update(1, ItemKind::Notice, plan),
        text(2, ItemKind::Thinking, "hm"),
        text(3, ItemKind::Text, "I will "),
        text(3, ItemKind::Text, "look."),
        update(4, ItemKind::Tool, tool("Edits a file")),
        update(4, ItemKind::Tool, tool("Edit a file?")),
        Seen::Question(question.clone()),
        update(4, ItemKind::Tool, done),
        text(5, ItemKind::Text, "yes-1"),
        Seen::Usage(Usage { input: Some(5), output: Some(3), ..Usage::UNKNOWN }),
    ];
    assert_eq!(seen, expected);
    started.end();
}

#[test]
fn one_process_serves_later_turns_and_only_a_new_one_is_told_the_conversation() {
    let started = start("echo");
    let first = said(&block_on(collect(&started.agent, invocation(&["a"], None))).0);
    assert_eq!(prompt_texts(&first), ["a"]);
    let second = said(&block_on(collect(&started.agent, invocation(&["a", "b"], None))).0);
    assert_eq!(prompt_texts(&second), ["b"]);
    assert_eq!(started.processes().len(), 1);
    started.end();

    let restarted = start("echo");
    let third = said(&block_on(collect(&restarted.agent, invocation(&["a", "b"], None))).0);
    let texts = prompt_texts(&third);
    assert_eq!((texts.len(), texts[1].as_str()), (2, "b"));
    assert!(texts[0].contains("User: a\nAssistant: answer\n"), "{texts:?}");
    restarted.end();
}

#[test]
fn a_process_that_answers_no_unknown_request_is_not_asked_again() {
    let program = std::env::current_exe().unwrap();
    let world = ManualWorld::hurrying();
    let started = start_with("knows_no_errors", program.to_str().unwrap(), &[], &world);
    for prompts in [&["a"][..], &["a", "b"], &["a", "b", "c"]] {
        let (seen, returned) = block_on(collect(&started.agent, invocation(prompts, None)));
        assert_eq!(returned, Returned::Completed);
        assert_eq!(prompt_texts(&said(&seen)), prompts[prompts.len() - 1..]);
    }
    let asked = |told: String| told.matches("_runwarden/fence").count();
    assert_eq!((asked(started.told()), started.processes().len()), (1, 1));
    started.end();
}

#[test]
fn an_agent_whose_process_is_gone_is_lost_and_another_one_goes_on() {
    for mode in ["dies_once", "dies_after"] {
        let started = start(mode);
        let (_, first) = block_on(collect(&started.agent, invocation(&["a"], None)));
        let (seen, second) = block_on(collect(&started.agent, invocation(&["a", "b"], None)));
        match mode {
            "dies_once" => assert_eq!(failure(&first), Some(FailureKind::Lost), "{first:?}"),
            _ => assert_eq!(first, Returned::Completed),
        }
        assert_eq!(failure(&second), Some(FailureKind::Lost), "{second:?}");
        assert_eq!((seen.len(), started.processes().len()), (0, 1));
        let other = started.again(None);
        let (seen, returned) = block_on(collect(&other, invocation(&["a", "b"], None)));
        assert_eq!(returned, Returned::Completed);
        assert_eq!(prompt_texts(&said(&seen)).len(), 2, "the conversation and the prompt");
        assert_eq!(started.processes().len(), 2);
        other.close();
        started.end();
    }
}

/// What an agent can do is known once it was spoken to; without a way back to its sessions it runs with
/// context `transcript`.
#[test]
fn an_agent_declares_what_its_process_can_do() {
    for (mode, context) in [
        ("echo", AgentContext::Transcript),
        ("loads", AgentContext::Own),
        ("resumes", AgentContext::Own),
    ] {
        let started = start(mode);
        assert_eq!(started.factory.profile().context(), AgentContext::Transcript);
        let probed = block_on(started.factory.probe()).unwrap();
        assert_eq!((probed.context(), probed.available), (context, true), "{mode}");
        assert_eq!(probed.capabilities().resume, context == AgentContext::Own);
        assert_eq!(started.factory.profile(), probed);
        started.assert_no_process();
        started.end();
    }
    let started = start("dies_at_once");
    assert!(block_on(started.factory.probe()).is_err());
    assert!(!started.factory.profile().available);
    started.end();
}

#[test]
fn a_session_that_can_be_taken_up_is_and_what_is_repeated_of_it_is_not_shown() {
    for (mode, method) in [
        ("loads", "session/load"),
        ("resumes", "session/resume"),
        ("boasts_resume", "session/load"),
    ] {
        let started = start(mode);
        assert_eq!(started.agent.conversation(), None);
        block_on(collect(&started.agent, invocation(&["a"], None)));
        let handle = started.agent.conversation();
        assert_eq!(handle.as_deref(), Some("s-1"));
        started.agent.close();
        let other = started.again(handle);
        let (seen, returned) = block_on(collect(&other, invocation(&["a", "b"], None)));
        assert_eq!(returned, Returned::Completed, "{mode}");
        assert_eq!(prompt_texts(&said(&seen)), ["b"], "{mode}");
        assert!(started.told().contains(method), "{}", started.told());
        assert_eq!(other.conversation().as_deref(), Some("s-1"));
        other.close();
        started.end();
    }
}

#[test]
fn a_session_that_cannot_be_loaded_becomes_a_new_one_that_is_told_the_conversation() {
    for (mode, processes) in [("refuses_load", 1), ("dies_in_load", 2), ("answers_no_load", 2)] {
        let started = start(mode);
        let other = started.again(Some("s-0".to_owned()));
        let (seen, returned) = if mode == "answers_no_load" {
            let call = collect(&other, invocation(&["a", "b"], None));
            let passing = async {
                started.world.somebody_sleeps().await;
                started.world.advance(LOAD_SILENCE_MAX);
                std::future::pending().await
            };
            block_on(call.or(passing))
        } else {
            block_on(collect(&other, invocation(&["a", "b"], None)))
        };
        assert_eq!(returned, Returned::Completed, "{mode}");
        let texts = prompt_texts(&said(&seen));
        assert_eq!((texts.len(), texts[1].as_str()), (2, "b"), "{mode}");
        assert_eq!(started.processes().len(), processes, "{mode}");
        other.close();
        started.end();
    }
}

#[test]
fn models_and_modes_are_chosen_and_a_change_of_mode_is_shown() {
    let extra = json!({"model": "Large", "mode": "Plan"});
    let started = start_configured("chooses", extra);
    let profile = block_on(started.factory.probe()).unwrap();
    assert_eq!(profile.models, ["small", "large"]);
    assert_eq!(profile.default_model.as_deref(), Some("large"));
    let set = |started: &Started, text: &str| started.told().matches(text).count();
    let (model, mode) = (r#""value":"large""#, r#""modeId":"plan""#);
    assert_eq!((set(&started, model), set(&started, mode)), (1, 1), "{}", started.told());
    for (run_model, value) in [(None, "large"), (Some("small"), "small"), (None, "large")] {
        let before = set(&started, &format!(r#""value":"{value}""#));
        let (seen, returned) = block_on(collect(&started.agent, invocation(&["a"], run_model)));
        assert_eq!((said(&seen).as_str(), returned), ("chosen", Returned::Completed));
        assert_eq!(set(&started, &format!(r#""value":"{value}""#)), before + 1);
    }
    assert_eq!(set(&started, mode), 2, "the mode is chosen once per process");
    let (_, returned) = block_on(collect(&started.agent, invocation(&["a"], Some("huge"))));
    let Returned::Failed(refused) = returned else { panic!("{returned:?}") };
    assert_eq!(refused.kind, FailureKind::Refused);
    assert!(refused.detail.contains("no model `huge`; it offers: small, large"), "{refused}");
    let (_, returned) = block_on(collect(&started.agent, invocation(&["a"], Some("small"))));
    assert_eq!((returned, started.processes().len()), (Returned::Completed, 2));
    started.end();

    let started = start("chooses");
    let (seen, _) = block_on(collect(&started.agent, invocation(&["a"], None)));
    let value = json!({"text": "Mode: Plan", "mode": {"id": "plan", "name": "Plan"}});
    assert!(seen.contains(&Seen::Update { item: 1, kind: ItemKind::Notice, value }), "{seen:?}");
    started.end();
    for extra in [json!({"model": "large"}), json!({"mode": "plan"})] {
        let started = start_configured("echo", extra);
        let (_, returned) = block_on(collect(&started.agent, invocation(&["a"], None)));
        assert_eq!(failure(&returned), Some(FailureKind::Refused), "{returned:?}");
        assert_eq!(block_on(started.factory.probe()).unwrap_err().kind, FailureKind::Refused);
        started.end();
    }
}

#[test]
fn the_next_prompt_waits_until_the_agent_has_cleaned_up() {
    let started = start("cleans_up_slowly");
    let (_, returned) = started.run_signalling(&[Signal::Interrupt]);
    assert_eq!(returned, Returned::Interrupted);
    let (seen, returned) = block_on(collect(&started.agent, invocation(&["a", "b"], None)));
    assert_eq!((said(&seen).as_str(), returned), ("clean", Returned::Completed));
    started.end();
}

#[test]
fn each_misbehaviour_ends_in_one_true_way_and_leaves_no_process() {
    let failed = |kind| Some(Some(kind));
    for (mode, expected) in [
        ("dies_at_once", failed(FailureKind::Provider)),
        ("dies_in_session_new", failed(FailureKind::Provider)),
        ("names_no_session", failed(FailureKind::Malformed)),
        ("dies_in_prompt", failed(FailureKind::Lost)),
        ("dies_in_permission", failed(FailureKind::Lost)),
        ("dies_and_leaves_a_child", failed(FailureKind::Lost)),
        ("answers_an_error", failed(FailureKind::Provider)),
        ("wants_login", failed(FailureKind::Unauthorized)),
        ("other_version", failed(FailureKind::Malformed)),
        ("no_reason", failed(FailureKind::Malformed)),
        ("cancelled_unasked", failed(FailureKind::Malformed)),
        ("only_garbage", failed(FailureKind::Malformed)),
        ("huge_line", failed(FailureKind::Malformed)),
        ("refuses", failed(FailureKind::Refused)),
        ("unknown_reason", None),
        ("two_reasons", None),
        ("some_garbage", None),
        ("noisy_stderr", None),
        ("out_of_tokens", None),
    ] {
        let started = start(mode);
        let call = collect_with(&started.agent, invocation(&["a"], None), |_| None);
        let (seen, returned) = block_on(call);
        match expected {
            Some(kind) => assert_eq!(failure(&returned), kind, "{mode}: {returned:?}"),
            None => {
                assert_eq!(returned, Returned::Completed, "{mode}");
                assert_eq!(said(&seen), "working", "{mode}");
            }
        }
        started.end();
    }
}

#[test]
fn lines_of_garbage_in_a_row_have_a_bound() {
    for (count, expected) in [
        (GARBAGE_LINES_MAX - 1, None),
        (GARBAGE_LINES_MAX, None),
        (GARBAGE_LINES_MAX + 1, Some(FailureKind::Malformed)),
    ] {
        let started = start(&format!("garbage:{count}"));
        let (seen, returned) = block_on(collect(&started.agent, invocation(&["a"], None)));
        assert_eq!(failure(&returned), expected, "{count}: {returned:?}");
        assert_eq!(said(&seen), if expected.is_none() { "after it" } else { "" });
        started.end();
    }
}

#[test]
fn open_permissions_have_a_bound_and_one_more_is_cancelled() {
    for (count, cancelled) in
        [(PERMISSIONS_OPEN_MAX - 1, 0), (PERMISSIONS_OPEN_MAX, 0), (PERMISSIONS_OPEN_MAX + 1, 1)]
    {
        let started = start(&format!("asks_much:{count}"));
        let (sink, events) = EventSink::bounded(8);
        let call = Arc::clone(&started.agent).invoke(invocation(&["a"], None), sink);
        let answer = async {
            let mut replies = Vec::new();
            while let Ok(event) = events.recv().await {
                match event {
                    AgentEvent::Question { reply, .. } => replies.push(reply),
                    // All are asked: now all are answered.
                    AgentEvent::Text { .. } => {
                        for reply in replies.drain(..) {
                            let allow = QuestionReply::Answered(json!({"choice": "Allow"}));
                            reply.send(allow).await.unwrap();
                        }
                    }
                    AgentEvent::Update { .. } | AgentEvent::Usage(_) => {}
                    AgentEvent::SteerWanted { .. } | AgentEvent::SteerRead { .. } => {
                        panic!("ACP agents take no steers")
                    }
                }
            }
        };
        let (returned, ()) = block_on(zip(call, answer));
        assert_eq!(returned, Returned::Completed);
        assert_eq!(started.told().matches("cancelled").count(), cancelled, "{count}");
        assert_eq!(started.told().matches("yes-1").count(), count - cancelled);
        started.end();
    }
}

#[test]
fn files_and_terminals_are_not_offered() {
    let started = start("wants_files");
    let (seen, returned) = block_on(collect(&started.agent, invocation(&["a"], None)));
    assert_eq!((said(&seen).as_str(), returned), ("-32601", Returned::Completed));
    started.end();
}

#[test]
fn an_interrupt_cancels_and_what_comes_after_it_is_not_shown() {
    for mode in ["obeys", "wrong_reason"] {
        let started = start(mode);
        for turn in 1..=2 {
            let (seen, returned) = started.run_signalling(&[Signal::Interrupt]);
            assert_eq!((said(&seen).as_str(), returned), ("working", Returned::Interrupted));
            assert_eq!(started.told().matches("session/cancel").count(), turn, "{mode}");
        }
        assert_eq!(started.processes().len(), 1, "{mode}: the process is kept");
        started.end();
    }
}

#[test]
fn an_open_permission_is_cancelled_with_the_prompt() {
    let started = start("asks_then_obeys");
    let (_, returned) = started.run_signalling(&[Signal::Interrupt]);
    assert_eq!(returned, Returned::Interrupted);
    assert!(started.told().contains(r#""outcome":"cancelled""#), "{}", started.told());
    assert!(started.told().contains("session/cancel"));
    started.end();
}

#[test]
fn what_ignores_cancel_is_terminated_and_then_killed() {
    let started = start("ignores_cancel");
    let (_, returned) = started.run_signalling(&[Signal::Interrupt, Signal::Terminate]);
    assert_eq!(returned, Returned::Interrupted);
    started.end();

    let deaf = start_deaf("ignores_cancel");
    let (_, returned) = deaf.run_signalling(&[Signal::Interrupt, Signal::Terminate, Signal::Kill]);
    assert_eq!(returned, Returned::Interrupted);
    deaf.end();
}

#[test]
fn an_interrupt_during_the_start_ends_the_process() {
    for mode in ["says_nothing", "says_nothing_in_session_new"] {
        let started = start(mode);
        let (sink, _events) = EventSink::bounded(8);
        let returned = block_on(async {
            let mut call = Arc::clone(&started.agent).invoke(invocation(&["a"], None), sink);
            while started.processes().is_empty() {
                assert_eq!(poll_once(&mut call).await, None);
            }
            started.agent.signal(Signal::Interrupt);
            call.await
        });
        assert_eq!(returned, Returned::Interrupted);
        started.end();
    }
}

#[test]
fn a_dropped_invocation_takes_its_process_along() {
    let started = start_deaf("ignores_cancel");
    block_on(async {
        let (sink, events) = EventSink::bounded(8);
        let mut call = Arc::clone(&started.agent).invoke(invocation(&["a"], None), sink);
        while events.is_empty() {
            assert_eq!(poll_once(&mut call).await, None);
        }
    });
    started.assert_no_process();
    started.end();
}

#[test]
fn closing_an_agent_ends_its_idle_process() {
    let started = start("echo");
    block_on(collect(&started.agent, invocation(&["a"], None)));
    assert_eq!(living(&started.processes()).len(), 2, "the agent and the process it started");
    started.agent.close();
    started.assert_no_process();
    assert!(started.told().ends_with("end of input"), "it may put away what it keeps");

    for (start, graces) in [(start as fn(&str) -> Started, 1), (start_deaf, 2)] {
        let started = start("hears_no_end");
        block_on(collect(&started.agent, invocation(&["a"], None)));
        started.agent.close();
        for grace in 0..graces {
            assert_eq!(living(&started.processes()).len(), 2, "{grace}");
            block_on(started.world.somebody_sleeps());
            started.world.advance(END_GRACE);
        }
        started.assert_no_process();
    }
}

#[test]
fn signals_between_invocations_reach_no_process() {
    let started = start("echo");
    block_on(collect(&started.agent, invocation(&["a"], None)));
    [Signal::Interrupt, Signal::Terminate, Signal::Kill]
        .iter()
        .for_each(|signal| started.agent.signal(*signal));
    let (_, returned) = block_on(collect(&started.agent, invocation(&["a", "b"], None)));
    assert_eq!((returned, started.processes().len()), (Returned::Completed, 1));
    started.end();
}

fn start(mode: &str) -> Started {
    let program = std::env::current_exe().unwrap();
    start_with(mode, program.to_str().unwrap(), &[], &ManualWorld::standing())
}

/// An agent with more keys in its configuration.
fn start_configured(mode: &str, extra: Value) -> Started {
    let program = std::env::current_exe().unwrap();
    start_in(mode, program.to_str().unwrap(), &[], extra, &ManualWorld::standing())
}

/// An agent that SIGTERM does not end: what is ignored stays ignored in a program that is executed.
fn start_deaf(mode: &str) -> Started {
    let program = std::env::current_exe().unwrap();
    let script = r#"trap "" TERM; exec "$0" "$@""#;
    let args = ["-c", script, program.to_str().unwrap()];
    start_with(mode, "sh", &args, &ManualWorld::standing())
}

fn start_with(mode: &str, command: &str, args: &[&str], world: &ManualWorld) -> Started {
    start_in(mode, command, args, json!({}), world)
}

fn start_in(
    mode: &str,
    command: &str,
    args: &[&str],
    extra: Value,
    world: &ManualWorld,
) -> Started {
    let folder = TempDir::new().unwrap();
    let args: Vec<&str> =
        args.iter().copied().chain(["--exact", "agent_process", "--nocapture"]).collect();
    let mut config = json!({
        "name": "hostile", "kind": "acp", "command": command, "args": args, "cwd": folder.path(),
        "env": {MODE_VARIABLE: mode, FOLDER_VARIABLE: folder.path()},
    });
    config.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
    let config: AgentConfig = serde_json::from_value(config).unwrap();
    let environment = |name: &str| std::env::var(name).ok();
    let agents = build_with(&[config], world, &environment).unwrap();
    let factory = Arc::clone(agents.default_agent());
    let agent = block_on(factory.construct(Construction::default())).unwrap();
    Started { factory, agent, folder, world: world.clone() }
}

impl Started {
    /// Runs one invocation; after its first text or question the signals are raised, one by one.
    fn run_signalling(&self, signals: &[Signal]) -> (Vec<Seen>, Returned) {
        let (sink, events) = EventSink::bounded(8);
        let call = Arc::clone(&self.agent).invoke(invocation(&["a"], None), sink);
        let taken = async {
            let mut seen = Vec::new();
            // Kept, so that nobody answers.
            let mut replies = Vec::new();
            let mut raised = false;
            while let Ok(event) = events.recv().await {
                match event {
                    AgentEvent::Text { item, kind, text } => {
                        seen.push(Seen::Text { item, kind, text });
                    }
                    AgentEvent::Question { reply, .. } => replies.push(reply),
                    AgentEvent::Update { .. } | AgentEvent::Usage(_) => continue,
                    AgentEvent::SteerWanted { .. } | AgentEvent::SteerRead { .. } => {
                        panic!("ACP agents take no steers")
                    }
                }
                if !std::mem::replace(&mut raised, true) {
                    signals.iter().for_each(|signal| self.agent.signal(*signal));
                }
            }
            seen
        };
        let (returned, seen) = block_on(zip(call, taken));
        (seen, returned)
    }

    /// Another agent of the same kind, as after a restart of the server.
    fn again(&self, resume: Option<String>) -> Arc<dyn Agent> {
        block_on(self.factory.construct(Construction { model: None, resume })).unwrap()
    }

    fn processes(&self) -> Vec<u32> {
        processes(self.folder.path())
    }

    fn told(&self) -> String {
        told(self.folder.path())
    }

    /// Drops the agent: nothing of it may be left.
    fn end(self) {
        self.agent.close();
        self.assert_no_process();
    }

    fn assert_no_process(&self) {
        let started = Instant::now();
        while !living(&self.processes()).is_empty() {
            assert!(started.elapsed() < PATIENCE, "left: {:?}", living(&self.processes()));
            std::thread::yield_now();
        }
    }
}

fn said(seen: &[Seen]) -> String {
    let texts = seen.iter().filter_map(|seen| match seen {
        Seen::Text { kind: ItemKind::Text, text, .. } => Some(text.as_str()),
        Seen::Text { .. } | Seen::Update { .. } | Seen::Question(_) | Seen::Usage(_) => None,
    });
    texts.collect()
}

fn prompt_texts(prompt: &str) -> Vec<String> {
    let blocks: Vec<Value> = serde_json::from_str(prompt).unwrap();
    blocks.iter().map(|block| block["text"].as_str().unwrap().to_owned()).collect()
}

fn failure(returned: &Returned) -> Option<FailureKind> {
    match returned {
        Returned::Failed(failure) => Some(failure.kind),
        Returned::Completed | Returned::Interrupted => None,
    }
}
