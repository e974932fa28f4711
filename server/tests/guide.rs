//! The guide to agents: its configurations are accepted, and its commands run where the tool can be
//! installed from a package registry.

#![allow(clippy::unwrap_used, reason = "helpers of a test may panic like the test")]

#[path = "support/client.rs"]
mod client;
#[path = "support/manual_world.rs"]
mod manual_world;
#[path = "support/process.rs"]
mod process;
#[path = "support/tools.rs"]
mod tools;

use std::io::{BufRead, BufReader, Write};
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use client::Client;
use manual_world::ManualWorld;
use process::Setup;
use runwarden::agents::{AgentConfig, AgentConfigError, build_with};
use rustix::process::{Pid, Signal, kill_process_group};
use serde::Deserialize;
use serde_json::json;

/// The port that the guide's commands name.
const PORT_OF_THE_GUIDE: &str = "8080";

/// How often a command that needs the network is tried.
const NETWORK_TRIES_MAX: u32 = 4;

#[derive(Deserialize)]
struct Sections {
    agent: Vec<AgentConfig>,
}

#[test]
fn every_configuration_of_the_guide_is_accepted() {
    let page = guide();
    let sections: Vec<&str> = blocks(&page, "toml").collect();
    assert!(sections.len() >= 6, "{} configurations", sections.len());
    for section in sections {
        let configs: Sections = toml::from_str(section).unwrap_or_else(|error| {
            panic!("{section}\n{error}");
        });
        let environment = |_: &str| Some("key".to_owned());
        match build_with(&configs.agent, &ManualWorld::standing(), &environment) {
            // The agents of other projects are not installed here.
            Ok(_) | Err(AgentConfigError::Command { .. }) => {}
            Err(error) => panic!("{section}\n{error}"),
        }
    }
}

#[test]
fn the_commands_for_llama_cpp_give_an_agent_that_answers() {
    if !tools::is_slow_run("the_commands_for_llama_cpp_give_an_agent_that_answers") {
        return;
    }
    let Some(_python) = tools::python() else { return };
    let folder = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(project().join("docs"), folder.path().join("docs")).unwrap();
    let port = free_port();
    let page = guide();
    let commands = blocks(&page, "sh llama").next().unwrap().replace(PORT_OF_THE_GUIDE, &port);
    let (serve, installs) = commands.trim().rsplit_once('\n').map(|(a, b)| (b, a)).unwrap();
    for command in installs.lines() {
        run(command, folder.path());
    }
    let _model = Background::start(serve, folder.path());

    let configuration = blocks(&page, "toml").find(|text| text.contains("\"llama\"")).unwrap();
    let server = Setup::fresh().config(&configuration.replace(PORT_OF_THE_GUIDE, &port)).start();
    let mut client = Client::open(&server);
    let session = client.new_session();
    let mut view = client.prompt(&session, "Say hello.");
    client.follow(&mut view);
    let terminal = view.terminal.as_ref().unwrap();
    assert_eq!(terminal["status"], json!("completed"), "{terminal}");
    assert!(!view.text().trim().is_empty());
    assert!(terminal["usage"]["output"].as_u64().unwrap() > 0, "{terminal}");
}

#[test]
fn the_command_for_the_example_agent_installs_what_it_needs() {
    if !tools::is_slow_run("the_command_for_the_example_agent_installs_what_it_needs") {
        return;
    }
    let Some(_node) = tools::node() else { return };
    let folder = tempfile::tempdir().unwrap();
    let example = Path::new("tests/adapters/acp");
    std::fs::create_dir_all(folder.path().join(example)).unwrap();
    for file in ["package.json", "package-lock.json"] {
        let file = example.join(file);
        std::fs::copy(project().join(&file), folder.path().join(&file)).unwrap();
    }
    let page = guide();
    run(blocks(&page, "sh acp").next().unwrap(), folder.path());
    assert!(folder.path().join(example).join("node_modules/@agentclientprotocol/sdk").is_dir());
}

/// Longest time until an agent has started and answered.
const SPEAK_SECONDS_MAX: &str = "120";

/// How a command of the guide begins that installs an agent.
const INSTALLS: &str = "npm install -g ";

#[test]
fn the_agents_that_npm_installs_speak_the_protocol_as_they_are_configured() {
    if !tools::is_slow_run("the_agents_that_npm_installs_speak_the_protocol_as_they_are_configured")
    {
        return;
    }
    let Some(_node) = tools::node() else { return };
    let folder = tempfile::tempdir().unwrap();
    let page = guide();
    let named = blocks(&page, "toml").find(|text| text.contains(INSTALLS)).unwrap();
    let mut spoke = 0;
    for paragraph in named.split("\n\n") {
        let Some(at) = paragraph.find(INSTALLS) else { continue };
        let (install, section) = paragraph[at..].split_once('\n').unwrap();
        let prefix = folder.path().display();
        run(&format!("npm_config_prefix='{prefix}' {install}"), folder.path());
        let section: toml::Value = toml::from_str(section).unwrap();
        assert!(speaks(&section["agent"][0], folder.path()), "{paragraph}");
        spoke += 1;
    }
    assert!(spoke >= 5, "{spoke} agents");
}

/// Whether an agent that was installed in a folder takes up the protocol.
fn speaks(agent: &toml::Value, folder: &Path) -> bool {
    let args = agent.get("args").and_then(toml::Value::as_array);
    let args = args.into_iter().flatten().filter_map(toml::Value::as_str);
    let command = folder.join("bin").join(agent["command"].as_str().unwrap());
    let mut process = Command::new("timeout")
        .arg(SPEAK_SECONDS_MAX)
        .arg(command)
        .args(args)
        .env("HOME", folder)
        .current_dir(folder)
        .process_group(0)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let hello = json!({
        "jsonrpc": "2.0", "id": 0, "method": "initialize",
        "params": {"protocolVersion": 1, "clientCapabilities": {}},
    });
    let mut input = process.stdin.take().unwrap();
    writeln!(input, "{hello}").unwrap();
    let lines = BufReader::new(process.stdout.take().unwrap()).lines().map_while(Result::ok);
    let process = Background(process);
    let answer = lines
        .filter_map(|line| serde_json::from_str::<serde_json::Value>(&line).ok())
        .find(|message| message["id"] == 0);
    drop((input, process));
    answer.is_some_and(|answer| answer["result"]["protocolVersion"] == 1)
}

fn guide() -> String {
    std::fs::read_to_string(project().join("docs/agents.md")).unwrap()
}

fn project() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// The blocks of a page that are marked with these words.
fn blocks<'a>(page: &'a str, marked: &'a str) -> impl Iterator<Item = &'a str> {
    page.split("\n```").skip(1).step_by(2).filter_map(move |block| {
        let (mark, text) = block.split_once('\n')?;
        (mark == marked).then_some(text)
    })
}

/// Runs a command of the guide to its end, again if a package registry hiccups.
fn run(command: &str, folder: &Path) {
    let mut shell = Command::new("sh");
    let shell = shell.args(["-ec", command]).current_dir(folder);
    let is_done = (0..NETWORK_TRIES_MAX).any(|_| shell.status().unwrap().success());
    assert!(is_done, "failed {NETWORK_TRIES_MAX} times: {command}");
}

fn free_port() -> String {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    listener.local_addr().unwrap().port().to_string()
}

/// A command of the guide that goes on; ended with what it started when the test ends.
struct Background(Child);

impl Background {
    /// Starts it and waits until it says where it listens.
    fn start(command: &str, folder: &Path) -> Self {
        let mut shell = Command::new("sh");
        shell.args(["-ec", command]).current_dir(folder).process_group(0);
        let mut started = Self(shell.stdout(Stdio::piped()).spawn().unwrap());
        let lines = BufReader::new(started.0.stdout.take().unwrap()).lines();
        let said = lines.map_while(Result::ok).find(|line| line.starts_with("listening on "));
        assert!(said.is_some(), "it ended before it listened: {command}");
        started
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        let group = Pid::from_child(&self.0);
        let _ = kill_process_group(group, Signal::KILL);
        let _ = self.0.wait();
    }
}
