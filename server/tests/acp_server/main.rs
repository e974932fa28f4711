//! The server with agents that are processes: whole turns, everything they do wrong, and what is left of
//! them.

#![allow(clippy::unwrap_used, reason = "helpers of a test may panic like the test")]

#[path = "../support/client.rs"]
mod client;
#[path = "../support/hostile_acp.rs"]
mod hostile_acp;
mod journey;
mod leak;
mod misbehaviour;
#[path = "../support/polling.rs"]
mod polling;
#[path = "../support/process.rs"]
mod process;
#[path = "../support/rust_agent.rs"]
mod rust_agent;
#[path = "../support/seeded.rs"]
mod seeded;
#[path = "../support/stored.rs"]
mod stored;
#[path = "../support/tools.rs"]
mod tools;

use std::path::Path;
use std::time::Duration;

use client::{Client, LiveView};
use hostile_acp::{FOLDER_VARIABLE, MODE_VARIABLE, living, processes};
use polling::poll;
use process::Server;
use serde_json::json;

/// Longer than the end of a killed process takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(20);

/// Not a test of its own: the process that the server talks to.
#[test]
fn agent_process() {
    hostile_acp::be_the_agent_if_asked();
    rust_agent::be_the_agent_if_asked();
}

/// The configuration of one agent.
struct Agent<'a> {
    name: &'a str,
    command: &'a str,
    args: &'a [&'a str],
    folder: &'a Path,
    env: &'a [(&'a str, &'a str)],
}

impl Agent<'_> {
    fn toml(&self) -> String {
        let Self { name, command, args, folder, env } = self;
        let env: Vec<_> = env.iter().map(|(name, value)| format!("{name} = {value:?}")).collect();
        let env = env.join(", ");
        format!(
            "[[agent]]\nname = {name:?}\nkind = \"acp\"\ncommand = {command:?}\nargs = {args:?}\n\
             cwd = {folder:?}\nenv = {{ {env} }}\n\n"
        )
    }
}

/// An agent of this mode that leaves its notes in the folder.
fn hostile(mode: &str, folder: &Path) -> String {
    let program = std::env::current_exe().unwrap();
    let program = program.to_str().unwrap();
    let own = ["--exact", "agent_process", "--nocapture"];
    let folder_text = folder.to_str().unwrap();
    let (name, is_deaf) = (mode, mode.starts_with("deaf_"));
    let mode = mode.trim_start_matches("deaf_");
    // What is ignored stays ignored in a program that is executed.
    let script = r#"trap "" TERM; exec "$0" "$@""#;
    let deaf: Vec<&str> = ["-c", script, program].into_iter().chain(own).collect();
    let (command, args): (&str, &[&str]) = if is_deaf { ("sh", &deaf) } else { (program, &own) };
    let env = [(MODE_VARIABLE, mode), (FOLDER_VARIABLE, folder_text)];
    Agent { name, command, args, folder, env: &env }.toml()
}

/// Makes a session of this agent and opens it; its id.
fn session_of(client: &mut Client, agent: &str) -> String {
    let created = client.ask("create_session", json!({"agent": agent})).expect("session_created");
    let session = created["session_id"].as_str().unwrap().to_owned();
    client.open_session(&session);
    session
}

/// A prompt as soon as the session takes one.
fn prompt_when_free(client: &mut Client, session: &str, text: &str, limit: Duration) -> LiveView {
    poll(&format!("{session} takes a message"), limit, || {
        let reply = client.try_prompt(session, text);
        if reply.kind == "message_ack" {
            return Some(LiveView::of(reply.data["run_id"].as_str().unwrap()));
        }
        assert_eq!(reply.data["code"], "session_busy", "{}", reply.data);
        None
    })
}

/// Waits until no process of these folders is left.
fn assert_no_process<'a>(folders: impl Iterator<Item = &'a Path>) {
    let groups: Vec<u32> = folders.flat_map(processes).collect();
    poll("no process is left", PATIENCE, || living(&groups).is_empty().then_some(()));
}

/// Ends the server as an operator does; whatever its agents were doing, nothing of them is left.
fn end<'a>(mut server: Server, folders: impl Iterator<Item = &'a Path>) {
    server.sigterm();
    assert_eq!(server.wait().code, Some(0));
    assert_no_process(folders);
}
