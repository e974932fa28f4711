//! The OpenAI-compatible agent against an endpoint that misbehaves on command.

#![allow(clippy::unwrap_used, reason = "helpers of a test may panic like the test")]

#[path = "support/fake_openai.rs"]
mod fake_openai;
#[path = "support/invoke.rs"]
mod invoke;
#[path = "support/manual_world.rs"]
mod manual_world;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use fake_openai::{ANSWER, FakeOpenAi, MODES, Saw};
use futures_lite::future::{block_on, poll_once, zip};
use futures_rustls::TlsAcceptor;
use futures_rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use futures_rustls::rustls::ServerConfig;
use futures_rustls::rustls::crypto::ring;
use invoke::{Seen, collect, invocation};
use manual_world::ManualWorld;
use runwarden::agents::openai::{CONNECT_MAX, FIRST_BYTE_MAX};
use runwarden::agents::{AgentConfig, AgentKind, build_with};
use runwarden_protocol::instant::Duration;
use runwarden_protocol::journal::row::ItemKind;
use runwarden_protocol::session::record::Usage;
use runwarden_runtime::ports::agent::FailureKind;
use runwarden_runtime::ports::{
    Agent, AgentEvent, AgentFailure, Construction, EventSink, Returned, Signal,
};
use serde_json::json;

const KEY: &str = "sk-test-0123456789";

fn agent_of(url: &str, world: &ManualWorld, roots: Option<String>) -> Arc<dyn Agent> {
    let config = AgentConfig {
        name: "fake".into(),
        label: None,
        kind: AgentKind::Openai,
        base_url: Some(url.into()),
        model: Some("ok".into()),
        models: Vec::new(),
        key_env: Some("FAKE_KEY".into()),
        mode: None,
        command: None,
        args: Vec::new(),
        env: BTreeMap::new(),
        cwd: None,
    };
    let environment = |name: &str| match name {
        "FAKE_KEY" => Some(KEY.to_owned()),
        "SSL_CERT_FILE" => roots.clone(),
        _ => None,
    };
    let agents = build_with(&[config], world, &environment).unwrap();
    block_on(agents.default_agent().construct(Construction::default())).unwrap()
}

fn agent(server: &FakeOpenAi) -> Arc<dyn Agent> {
    agent_of(&server.base_url(), &ManualWorld::standing(), None)
}

/// Runs one invocation in `mode`; the answer's text, everything else, and how it returned.
fn run(mode: &str) -> (String, Vec<Seen>, Returned) {
    assert!(MODES.contains(&mode), "{mode}");
    let server = FakeOpenAi::start();
    let (seen, returned) = block_on(collect(&agent(&server), invocation(&["hi"], Some(mode))));
    let (text, others) = split(seen);
    (text, others, returned)
}

fn split(seen: Vec<Seen>) -> (String, Vec<Seen>) {
    let mut answer = String::new();
    let mut others = Vec::new();
    for seen in seen {
        match seen {
            Seen::Text { kind: ItemKind::Text, text, .. } => answer.push_str(&text),
            other => others.push(other),
        }
    }
    (answer, others)
}

fn failure(returned: Returned) -> AgentFailure {
    let Returned::Failed(failure) = returned else { panic!("{returned:?}") };
    failure
}

#[test]
fn an_answer_is_streamed_whatever_its_framing() {
    for mode in ["ok", "crlf", "split_utf8", "no_last_line"] {
        assert_eq!(run(mode), (ANSWER.into(), vec![], Returned::Completed), "{mode}");
    }
}

#[test]
fn the_request_carries_context_model_and_key() {
    let server = FakeOpenAi::start();
    let agent = agent(&server);
    let (_, returned) =
        block_on(collect(&agent, invocation(&["one", "fake:ok two"], Some("other"))));
    assert_eq!(returned, Returned::Completed);
    let Saw::Request { authorization, body, .. } = block_on(server.saw()) else { panic!() };
    assert_eq!(authorization, Some(format!("Bearer {KEY}")));
    let messages = json!([
        {"role": "user", "content": "one"},
        {"role": "assistant", "content": "answer"},
        {"role": "user", "content": "fake:ok two"},
    ]);
    let expected = json!({"model": "other", "messages": messages, "stream": true,
        "stream_options": {"include_usage": true}});
    assert_eq!(body, expected);
}

#[test]
fn reasoning_tool_calls_usage_and_a_cut_are_shown() {
    let (text, others, returned) = run("thinking");
    assert_eq!((text.as_str(), returned), (ANSWER, Returned::Completed));
    let thought = |text: &str| Seen::Text { item: 1, kind: ItemKind::Thinking, text: text.into() };
    assert_eq!(others, [thought("Let me "), thought("think.")]);

    let (_, others, _) = run("tool_call");
    let call = json!({"name": "look", "status": "requested", "input": {"at": 1}});
    let update = Seen::Update { item: 2, kind: ItemKind::Tool, value: call };
    assert_eq!(others.last(), Some(&update));

    let usage = Usage { input: Some(11), output: Some(7), cached: Some(5), ..Usage::UNKNOWN };
    assert_eq!(run("usage").1, [Seen::Usage(usage)]);

    let (text, others, returned) = run("length");
    assert_eq!((text.as_str(), returned), (ANSWER, Returned::Completed));
    assert!(matches!(&others[..], [Seen::Update { kind: ItemKind::Notice, .. }]), "{others:?}");
}

#[test]
fn each_refusal_has_its_kind() {
    for (mode, kind, part) in [
        ("rate_limit", FailureKind::RateLimited, "status 429 Too Many Requests, retry after 7"),
        ("server_error", FailureKind::Provider, "out of memory"),
        ("unauthorized", FailureKind::Unauthorized, "wrong key: Bearer [key]"),
        ("forbidden", FailureKind::Unauthorized, "not for you"),
        ("refused", FailureKind::Refused, "no such model"),
        ("redirect", FailureKind::Refused, "status 302 Found"),
    ] {
        let (text, others, returned) = run(mode);
        let failure = failure(returned);
        assert_eq!((text.as_str(), others.len(), failure.kind), ("", 0, kind), "{mode}");
        assert!(failure.detail.contains(part), "{mode}: {}", failure.detail);
        assert!(!failure.detail.contains(KEY), "{mode}: {}", failure.detail);
    }
}

#[test]
fn each_broken_stream_keeps_its_text_and_fails() {
    for (mode, kind) in [
        ("malformed", FailureKind::Malformed),
        ("error_object", FailureKind::Provider),
        ("cut", FailureKind::Malformed),
        ("cut_end", FailureKind::Malformed),
        ("huge_line", FailureKind::Malformed),
    ] {
        let (text, _, returned) = run(mode);
        assert_eq!((text.as_str(), failure(returned).kind), ("Hello from ", kind), "{mode}");
    }
}

#[test]
fn an_answer_that_is_no_http_is_malformed() {
    for mode in ["hang_up", "not_http"] {
        assert_eq!(failure(run(mode).2).kind, FailureKind::Malformed, "{mode}");
    }
}

#[test]
fn an_endpoint_where_nobody_listens_is_unreachable() {
    let agent = agent_of(&FakeOpenAi::refusing_url(), &ManualWorld::standing(), None);
    let (_, returned) = block_on(collect(&agent, invocation(&["hi"], None)));
    assert_eq!(failure(returned).kind, FailureKind::Unreachable);
}

#[test]
fn an_interrupt_closes_the_connection_at_once() {
    for mode in ["slow", "silent"] {
        let server = FakeOpenAi::start();
        let agent = agent(&server);
        let (sink, events) = EventSink::bounded(64);
        let invoked = Arc::clone(&agent).invoke(invocation(&["hi"], Some(mode)), sink);
        let interrupting = async {
            let first = events.recv().await;
            assert!(matches!(first, Ok(AgentEvent::Text { .. })), "{first:?}");
            agent.signal(Signal::Interrupt);
            Instant::now()
        };
        let (returned, interrupted_at) = block_on(zip(invoked, interrupting));
        assert_eq!(returned, Returned::Interrupted, "{mode}");
        let closed_at = block_on(server.client_closed());
        let took = closed_at.saturating_duration_since(interrupted_at);
        assert!(took < std::time::Duration::from_secs(1), "{mode}: {took:?}");
    }
}

#[test]
fn an_interrupt_ends_a_request_that_is_not_answered() {
    let server = FakeOpenAi::start();
    let agent = agent(&server);
    let (sink, _events) = EventSink::bounded(64);
    let invoked = Arc::clone(&agent).invoke(invocation(&["hi"], Some("mute")), sink);
    let interrupting = async {
        assert!(matches!(server.saw().await, Saw::Request { .. }));
        agent.signal(Signal::Interrupt);
    };
    assert_eq!(block_on(zip(invoked, interrupting)).0, Returned::Interrupted);
    block_on(server.client_closed());
}

#[test]
fn dropping_an_invocation_closes_its_connection() {
    let server = FakeOpenAi::start();
    let agent = agent(&server);
    let (sink, events) = EventSink::bounded(64);
    let invoked = smol::spawn(agent.invoke(invocation(&["hi"], Some("slow")), sink));
    block_on(async {
        assert!(events.recv().await.is_ok());
        drop(invoked);
        server.client_closed().await;
    });
}

#[test]
fn an_invocation_ends_when_the_run_takes_no_more_events() {
    let server = FakeOpenAi::start();
    let agent = agent(&server);
    let (sink, events) = EventSink::bounded(1);
    let invoked = agent.invoke(invocation(&["hi"], Some("slow")), sink);
    let closing = async {
        assert!(events.recv().await.is_ok());
        events.close();
    };
    assert_eq!(block_on(zip(invoked, closing)).0, Returned::Interrupted);
    block_on(server.client_closed());
}

#[test]
fn a_run_that_takes_no_events_for_now_holds_the_answer_back() {
    let server = FakeOpenAi::start();
    let agent = agent(&server);
    let (sink, events) = EventSink::bounded(1);
    let mut invoked = agent.invoke(invocation(&["hi"], None), sink);
    block_on(async {
        while !events.is_full() {
            assert_eq!(poll_once(&mut invoked).await, None);
            futures_lite::future::yield_now().await;
        }
        assert_eq!(poll_once(&mut invoked).await, None);
        assert_eq!(events.len(), 1);
    });
}

#[test]
fn a_response_that_does_not_begin_in_time_is_given_up() {
    let server = FakeOpenAi::start();
    let world = ManualWorld::standing();
    let agent = agent_of(&server.base_url(), &world, None);
    let (sink, _events) = EventSink::bounded(64);
    let mut invoked = agent.invoke(invocation(&["hi"], Some("mute")), sink);
    block_on(async {
        let requested = async {
            assert!(matches!(server.saw().await, Saw::Request { .. }));
            None
        };
        let returned = futures_lite::future::or(async { Some((&mut invoked).await) }, requested);
        assert_eq!(returned.await, None);
        let just_before = FIRST_BYTE_MAX.as_micros() - 1;
        world.advance(Duration::from_micros(just_before));
        assert_eq!(poll_once(&mut invoked).await, None);
        world.advance(Duration::from_micros(1));
        assert_eq!(failure(invoked.await).kind, FailureKind::Unreachable);
        server.client_closed().await;
    });
}

#[test]
fn a_handshake_that_does_not_end_in_time_is_given_up() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("https://{}/v1", listener.local_addr().unwrap());
    let world = ManualWorld::standing();
    let agent = agent_of(&url, &world, None);
    let (sink, _events) = EventSink::bounded(64);
    let mut invoked = agent.invoke(invocation(&["hi"], None), sink);
    block_on(async {
        assert_eq!(poll_once(&mut invoked).await, None);
        world.advance(Duration::from_micros(CONNECT_MAX.as_micros() - 1));
        assert_eq!(poll_once(&mut invoked).await, None);
        world.advance(Duration::from_micros(1));
        assert_eq!(failure(invoked.await).kind, FailureKind::Unreachable);
    });
}

#[test]
fn tls_works_with_a_trusted_certificate_only() {
    let made = rcgen::generate_simple_self_signed(vec!["127.0.0.1".to_owned()]).unwrap();
    let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(made.signing_key.serialize_der()));
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key)
        .unwrap();
    let server = FakeOpenAi::start_tls(TlsAcceptor::from(Arc::new(config)));
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("roots.pem");
    std::fs::write(&file, made.cert.pem()).unwrap();

    let roots = Some(file.to_str().unwrap().to_owned());
    let trusting = agent_of(&server.base_url(), &ManualWorld::standing(), roots);
    let (seen, returned) = block_on(collect(&trusting, invocation(&["hi"], None)));
    assert_eq!((split(seen).0.as_str(), returned), (ANSWER, Returned::Completed));

    let (_, returned) = block_on(collect(&agent(&server), invocation(&["hi"], None)));
    let failure = failure(returned);
    assert_eq!(failure.kind, FailureKind::Unreachable);
    assert!(failure.detail.contains("certificate"), "{}", failure.detail);
}
