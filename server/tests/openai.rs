//! The server in front of an OpenAI-compatible endpoint that misbehaves on command.

#![allow(clippy::unwrap_used, reason = "helpers of a test may panic like the test")]

#[path = "support/client.rs"]
mod client;
#[path = "support/fake_openai.rs"]
mod fake_openai;
#[path = "support/process.rs"]
mod process;

use std::time::{Duration, Instant};

use client::{Client, LiveView};
use fake_openai::{ANSWER, FakeOpenAi, Saw};
use process::{Server, Setup};
use serde_json::{Value, json};

/// What no client may ever see.
const KEY: &str = "sk-canary-5f3a9d";

/// A secret of the environment that the server does not even use.
const OTHER_SECRET: &str = "canary-of-the-environment-77c1";

/// Longest time from a Stop to the end of the request to the endpoint.
const CLOSE_MAX: Duration = Duration::from_secs(2);

/// Modes in which a turn fails, and whether the same message may succeed later.
const FAILURES: [(&str, bool); 14] = [
    ("rate_limit", true),
    ("server_error", true),
    ("unauthorized", false),
    ("forbidden", false),
    ("refused", false),
    ("redirect", false),
    ("malformed", true),
    ("error_object", true),
    ("cut", true),
    ("cut_end", true),
    ("hang_up", true),
    ("huge_line", true),
    ("not_http", true),
    ("unreachable", true),
];

/// Modes that end a turn after half of the answer.
const AFTER_HALF: [&str; 5] = ["malformed", "error_object", "cut", "cut_end", "huge_line"];

fn start(base_url: &str, limits: &str) -> Server {
    let unreachable = FakeOpenAi::refusing_url();
    let config = format!(
        "[[agent]]\nname = \"fake\"\nkind = \"openai\"\nbase_url = \"{base_url}\"\nmodel = \"ok\"\n\
         key_env = \"FAKE_KEY\"\n\n\
         [[agent]]\nname = \"nobody\"\nkind = \"openai\"\nbase_url = \"{unreachable}\"\n\
         model = \"ok\"\n\n{limits}"
    );
    Setup::fresh()
        .config(&config)
        .variable("FAKE_KEY", KEY)
        .variable("FAKE_OTHER_SECRET", OTHER_SECRET)
        .start()
}

/// Makes and opens a session with this agent.
fn session_with(client: &mut Client, agent: &str) -> String {
    let created = client.ask("create_session", json!({"agent": agent})).expect("session_created");
    let session = created["session_id"].as_str().unwrap().to_owned();
    client.open_session(&session);
    session
}

/// Runs one turn to its end.
fn turn(client: &mut Client, session: &str, prompt: &str) -> LiveView {
    let mut view = client.prompt(session, prompt);
    client.follow(&mut view);
    view
}

fn terminal(view: &LiveView) -> &Value {
    view.terminal.as_ref().unwrap()
}

/// The next complete request the endpoint got.
fn next_request(fake: &FakeOpenAi) -> (Option<String>, Value) {
    loop {
        let seen = smol::block_on(async { fake.saw().await });
        if let Saw::Request { authorization, body, .. } = seen {
            return (authorization, body);
        }
    }
}

#[test]
fn an_answer_is_streamed_and_settled_with_its_usage() {
    let fake = FakeOpenAi::start();
    let server = start(&fake.base_url(), "");
    let mut client = Client::connect(&server);
    for mode in ["ok", "thinking", "usage", "crlf", "split_utf8", "no_last_line"] {
        let session = session_with(&mut client, "fake");
        let view = turn(&mut client, &session, &format!("fake:{mode}"));
        let ended = terminal(&view);
        assert_eq!(ended["status"], "completed", "{mode}: {ended}");
        assert_eq!(view.text(), ANSWER, "{mode}");
        let thinking = if mode == "thinking" { "Let me think." } else { "" };
        assert_eq!(view.text_of("thinking"), thinking, "{mode}");
        let page = client.history_page(&session);
        assert_eq!(page["rows"][1]["body"], ANSWER, "{mode}");
        assert_eq!(page["rows"][1]["agent"], "fake", "{mode}");
        let item = client.wait_for("the idle item", |frame| {
            frame.is("session_item", "session_id", &session)
                && frame.data["item"]["status"] == "idle"
                && frame.data["item"]["message_count"] == 2
        });
        for usage in [&ended["usage"], &item.data["item"]["usage"], &page["rows"][1]["usage"]] {
            let read = |name: &str| usage[name].as_u64();
            let read = (read("input"), read("output"), read("cached"));
            let expected =
                if mode == "usage" { (Some(11), Some(7), Some(5)) } else { (None, None, None) };
            assert_eq!(read, expected, "{mode}: {usage}");
        }
        client.ask("close_session", json!({"session_id": session})).expect("session_closed");
    }
}

/// ENV-9 [e2e], ENV-10 [e2e]: whatever an endpoint says or does, a turn that fails carries registered text
/// only; key, addresses and the endpoint's words reach no frame and not standard output, and the diagnostic
/// log has the detail under the correlation id, without the key.
#[test]
fn a_turn_that_fails_says_so_safely_and_the_session_goes_on() {
    let fake = FakeOpenAi::start();
    let mut server = start(&fake.base_url(), "");
    let mut client = Client::connect(&server);
    let mut correlations = Vec::new();
    for (mode, retryable) in FAILURES {
        let agent = if mode == "unreachable" { "nobody" } else { "fake" };
        let session = session_with(&mut client, agent);
        let view = turn(&mut client, &session, &format!("fake:{mode}"));
        let ended = terminal(&view);
        assert_eq!(ended["status"], "failed", "{mode}: {ended}");
        assert_eq!(ended["reason"], Value::Null, "{mode}");
        let error = &ended["error"];
        assert_eq!(error["code"], "turn_failed", "{mode}: {error}");
        assert_eq!(error["retryable"], retryable, "{mode}");
        assert_eq!(error["session_id"], session.as_str(), "{mode}");
        assert_eq!(error.as_object().unwrap().len(), 12, "{mode}: {error}");
        correlations.push((mode, error["correlation_id"].as_str().unwrap().to_owned()));
        let half = if AFTER_HALF.contains(&mode) { "Hello from " } else { "" };
        assert_eq!(view.text(), half, "{mode}");
        if agent == "fake" {
            let next = turn(&mut client, &session, "fake:ok");
            assert_eq!((next.outcome().as_str(), next.text().as_str()), ("completed", ANSWER));
        }
        client.ask("close_session", json!({"session_id": session})).expect("session_closed");
    }
    let listed = client.ask("list_user_errors", json!({})).expect("user_errors_list");
    assert_eq!(listed["errors"].as_array().unwrap().len(), FAILURES.len());
    client.ask("list_sessions", json!({})).expect("sessions_list");

    let address = fake.base_url().replace("http://", "").replace("/v1", "");
    let words =
        ["slow down", "out of memory", "wrong key", "not for you", "no such model", "overloaded"];
    server.sigterm();
    let ended = server.wait();
    let shown = client.everything().to_owned() + &ended.stdout;
    for word in [KEY, OTHER_SECRET, &*address].iter().chain(&words) {
        assert!(!shown.contains(word), "{word} was shown");
    }
    let log = std::fs::read_to_string(server.state().join("logs/runwarden.log")).unwrap();
    for (mode, correlation) in correlations {
        assert!(log.contains(&correlation), "{mode}: {correlation} is not in the log");
    }
    assert!(log.contains("out of memory"), "the detail is in the log");
    assert!(!log.contains(KEY) && !ended.stderr.contains(KEY), "the key is in the log");
}

#[test]
fn an_endpoint_that_falls_silent_fails_its_turn() {
    let fake = FakeOpenAi::start();
    let server = start(&fake.base_url(), "[limits]\nagent_silence_max = 1500\n");
    let mut client = Client::connect(&server);
    for (mode, text) in [("silent", "Hello from "), ("mute", "")] {
        let session = session_with(&mut client, "fake");
        let view = turn(&mut client, &session, &format!("fake:{mode}"));
        let ended = terminal(&view);
        assert_eq!(ended["status"], "failed", "{mode}: {ended}");
        assert_eq!(ended["reason"], "agent_silent", "{mode}: {ended}");
        assert_eq!(ended["error"]["code"], "turn_failed", "{mode}: {ended}");
        assert_eq!(view.text(), text, "{mode}");
        smol::block_on(fake.client_closed());
        let next = turn(&mut client, &session, "fake:ok");
        assert_eq!(next.outcome(), "completed", "{mode}");
    }
}

#[test]
fn a_stop_closes_the_request_at_once() {
    let fake = FakeOpenAi::start();
    let server = start(&fake.base_url(), "");
    let mut client = Client::connect(&server);
    for mode in ["slow", "silent", "mute"] {
        let session = session_with(&mut client, "fake");
        let mut view = client.prompt(&session, &format!("fake:{mode}"));
        next_request(&fake);
        if mode != "mute" {
            client.follow_until(&mut view, "text", |view| !view.text().is_empty());
        }
        let began = Instant::now();
        assert_eq!(client.stop(&session, &view.run)["outcome"], "accepted");
        let closed_at = smol::block_on(fake.client_closed());
        let took = closed_at.saturating_duration_since(began);
        assert!(took < CLOSE_MAX, "{mode}: {took:?}");
        assert_eq!(client.follow(&mut view), "cancelled", "{mode}");
        assert_eq!(terminal(&view)["error"], Value::Null);
        let shown = view.text();
        let next = turn(&mut client, &session, "fake:ok");
        assert_eq!(next.outcome(), "completed", "{mode}");
        let (_, body) = next_request(&fake);
        let mut expected = vec![("user".to_owned(), format!("fake:{mode}"))];
        if !shown.is_empty() {
            expected.push(("assistant".to_owned(), shown));
        }
        expected.push(("user".to_owned(), "fake:ok".to_owned()));
        assert_eq!(messages(&body), expected, "{mode}");
    }
}

/// The endpoint is sent the whole transcript of the session, the prompt last, each message once; the same
/// after the server was killed.
#[test]
fn an_endpoint_is_sent_the_whole_conversation() {
    let fake = FakeOpenAi::start();
    let mut server = start(&fake.base_url(), "");
    let mut client = Client::connect(&server);
    let session = session_with(&mut client, "fake");
    let mut expected = Vec::new();
    for (number, mode) in ["ok", "cut", "thinking", "refused", "ok"].into_iter().enumerate() {
        if number == 3 {
            server = server.restart();
            client = Client::connect(&server);
            client.open_session(&session);
        }
        let prompt = format!("fake:{mode} number {number}: ä€😀");
        let view = turn(&mut client, &session, &prompt);
        let (authorization, body) = next_request(&fake);
        assert_eq!(authorization, Some(format!("Bearer {KEY}")));
        assert_eq!((&body["model"], &body["stream"]), (&json!("ok"), &json!(true)));
        expected.push(("user".to_owned(), prompt));
        assert_eq!(messages(&body), expected, "turn {number}");
        let answer = view.text();
        if !answer.is_empty() {
            expected.push(("assistant".to_owned(), answer));
        }
    }
}

fn messages(body: &Value) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let messages = body["messages"].as_array().unwrap().iter();
    messages.map(|message| (text(&message["role"]), text(&message["content"]))).collect()
}
