//! `runwarden doctor` as a process: what it says of good and of broken agents and of a state directory, and
//! that it changes nothing there.

#![allow(clippy::unwrap_used, reason = "helpers of a test may panic like the test")]

#[path = "support/fake_openai.rs"]
mod fake_openai;
#[path = "support/hostile_acp.rs"]
mod hostile_acp;
#[path = "support/e2e.rs"]
mod support;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, Instant, SystemTime};

use rusqlite::Connection;
use serde_json::{Value, json};
use tempfile::TempDir;

use fake_openai::FakeOpenAi;
use hostile_acp::{FOLDER_VARIABLE, MODE_VARIABLE, be_the_agent_if_asked, living, processes};
use support::client::Client;
use support::process::{Server, Setup};

/// Longer than any agent of these tests takes to show itself or to fail.
const PATIENCE: Duration = Duration::from_secs(60);

/// Not a test of its own: the process that the doctor of the others starts.
#[test]
fn agent_process() {
    be_the_agent_if_asked();
}

fn doctor(state: &Path, flags: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_runwarden"))
        .args(["doctor", "--state"])
        .arg(state)
        .args(flags)
        .output()
        .unwrap()
}

/// The one object of `--json` and the exit code.
#[track_caller]
fn examined(state: &Path) -> (Value, Option<i32>) {
    let output = doctor(state, &["--json"]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(text.lines().count(), 1, "{text} {}", String::from_utf8_lossy(&output.stderr));
    (serde_json::from_str(&text).unwrap(), output.status.code())
}

#[track_caller]
fn finding<'a>(report: &'a Value, about: &str) -> &'a Value {
    let findings = report["findings"].as_array().unwrap();
    findings
        .iter()
        .find(|finding| finding["about"].as_str().unwrap().starts_with(about))
        .unwrap_or_else(|| panic!("nothing about {about}: {report}"))
}

/// Every file below a folder: its content, its mode and when it was changed.
fn everything(folder: &Path) -> BTreeMap<PathBuf, (Vec<u8>, u32, SystemTime)> {
    let mut found = BTreeMap::new();
    let mut waiting = vec![folder.to_owned()];
    while let Some(path) = waiting.pop() {
        let metadata = fs::symlink_metadata(&path).unwrap();
        let (mode, changed) = (metadata.permissions().mode(), metadata.modified().unwrap());
        let content = if metadata.is_dir() {
            waiting.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
            Vec::new()
        } else {
            fs::read(&path).unwrap()
        };
        found.insert(path, (content, mode, changed));
    }
    found
}

fn names<T>(found: &BTreeMap<PathBuf, T>) -> Vec<&PathBuf> {
    found.keys().collect()
}

/// A state directory with one settled run, whose server is gone; killed or asked to stop.
fn used(is_killed: bool) -> Setup {
    let mut server = Server::start();
    let mut client = Client::connect(&server);
    let session = client.new_session();
    let mut view = client.prompt(&session, "/fail");
    assert_eq!(client.follow(&mut view), "failed");
    client.wait_idle(&session, view.ended);
    if is_killed {
        server.kill9();
    } else {
        server.sigterm();
        assert_eq!(server.wait().code, Some(0));
    }
    server.setup().clone()
}

fn hostile(name: &str, mode: &str, folder: &Path) -> toml::Table {
    let program = std::env::current_exe().unwrap();
    let args = ["--exact", "agent_process", "--nocapture"];
    let mut env = toml::Table::new();
    env.insert(MODE_VARIABLE.to_owned(), mode.into());
    env.insert(FOLDER_VARIABLE.to_owned(), folder.to_str().unwrap().into());
    let mut agent = acp(name, program.to_str().unwrap());
    agent.insert("args".to_owned(), args.to_vec().into());
    agent.insert("env".to_owned(), env.into());
    agent
}

fn acp(name: &str, command: &str) -> toml::Table {
    let fields = [("name", name), ("kind", "acp"), ("command", command)];
    fields.iter().map(|(field, text)| ((*field).to_owned(), toml::Value::from(*text))).collect()
}

fn openai(name: &str, base_url: &str, key_env: Option<&str>) -> toml::Table {
    let mut fields =
        vec![("name", name), ("kind", "openai"), ("base_url", base_url), ("model", "m")];
    fields.extend(key_env.map(|variable| ("key_env", variable)));
    fields.iter().map(|(field, text)| ((*field).to_owned(), toml::Value::from(*text))).collect()
}

fn config(agents: Vec<toml::Table>) -> String {
    let agents = agents.into_iter().map(toml::Value::from).collect();
    toml::Table::from_iter([("agent".to_owned(), toml::Value::Array(agents))]).to_string()
}

#[test]
fn a_place_nobody_has_used_yet_is_left_alone() {
    let home = TempDir::new().unwrap();
    let state = home.path().join("state");
    let (report, code) = examined(&state);
    assert_eq!((&report["ok"], code), (&json!(true), Some(0)), "{report}");
    assert_eq!(report["state"]["exists"], false);
    assert_eq!(report["agents"][0]["name"], "demo");
    assert_eq!(report["agents"][0]["usable"], true);
    assert!(report["notes"][0].as_str().unwrap().contains("first start"), "{report}");
    assert!(!state.exists());
    let text = String::from_utf8(doctor(&state, &[]).stdout).unwrap();
    assert!(text.contains("not there yet") && text.ends_with("all is well\n"), "{text}");
}

#[test]
fn a_state_directory_at_rest_is_read_and_not_one_byte_of_it_changes() {
    let setup = used(false);
    let before = everything(setup.state());
    let (report, code) = examined(setup.state());
    assert_eq!((&report["ok"], code), (&json!(true), Some(0)), "{report}");
    let text = String::from_utf8(doctor(setup.state(), &[]).stdout).unwrap();
    assert!(text.contains("sessions 1, rows 2, runs 1"), "{text}");
    assert_eq!(everything(setup.state()), before);
    let state = &report["state"];
    assert_eq!(state["server_running"], false);
    let content = &state["sessions"]["found"]["content"];
    assert_eq!((&content["sessions"], &content["rows"]), (&json!(1), &json!(2)));
    assert_eq!((&content["is_closed"], &content["unsettled_total"]), (&json!(true), &json!(0)));
    assert_eq!(state["errors"]["found"]["open"], 1);
    let entries = state["entries"].as_array().unwrap();
    let bytes = |name: &str| {
        entries.iter().find(|entry| entry["name"] == name).unwrap()["bytes"].as_u64().unwrap()
    };
    assert_eq!(bytes("sessions.db"), before[&setup.state().join("sessions.db")].0.len() as u64);
    // The lock was given back.
    setup.start();
}

#[test]
fn what_a_killed_server_left_is_found_without_touching_it() {
    let mut server = Server::start();
    let mut client = Client::connect(&server);
    let session = client.new_session();
    let mut view = client.prompt(&session, "/slow");
    client.follow_until(&mut view, "text", |view| !view.text().is_empty());
    server.kill9();
    let setup = server.setup().clone();
    let log = setup.state().join("sessions.db-wal");
    assert!(fs::metadata(&log).unwrap().len() > 0, "a log is left");
    let before = everything(setup.state());
    let (report, code) = examined(setup.state());
    assert_eq!((&report["ok"], code), (&json!(false), Some(1)), "{report}");
    let content = &report["state"]["sessions"]["found"]["content"];
    let left = &content["unsettled"][0];
    assert_eq!((&left["session_id"], &left["run_id"]), (&json!(session), &json!(view.run)));
    assert!(left["last_seq"].as_u64() >= Some(view.seq), "{left}");
    let (looked, last, started) = (
        report["state"]["looked_at"].as_u64(),
        left["last_event_at"].as_u64(),
        left["started_at"].as_u64(),
    );
    assert!(started > Some(1_700_000_000_000) && started < last && last < looked, "{report}");
    assert_eq!((&report["state"]["lease"], &report["live"]), (&Value::Null, &Value::Null));
    let text = String::from_utf8(doctor(setup.state(), &[]).stdout).unwrap();
    assert!(text.contains(&format!("{} of {session}, pending for ", view.run)), "{text}");
    assert_eq!(content["is_closed"], false);
    let found = finding(&report, "runs without settlement");
    assert!(found["advice"].as_str().unwrap().contains("start the server"), "{found}");
    assert_eq!(everything(setup.state()), before);
    // It is as the doctor says.
    let server = setup.start();
    let (report, code) = examined(server.state());
    assert_eq!((&report["ok"], code), (&json!(true), Some(0)), "{report}");
}

#[test]
fn beside_a_running_server_it_reads_what_is_committed() {
    let server = Server::start();
    let mut client = Client::connect(&server);
    let session = client.new_session();
    let mut view = client.prompt(&session, "/slow");
    client.follow_until(&mut view, "text", |view| !view.text().is_empty());
    let before = everything(server.state());
    let (report, code) = examined(server.state());
    assert_eq!((&report["ok"], code), (&json!(true), Some(0)), "{report}");
    assert_eq!(report["state"]["server_running"], true);
    assert_eq!(report["state"]["sessions"]["found"]["content"]["unsettled_total"], 1);
    assert_eq!(report["notes"], json!(["runs going on: 1"]));
    let lease = &report["state"]["lease"];
    assert_eq!(lease["process_id"], server.process_id());
    assert_eq!(lease["address"], json!(server.address));
    assert!(lease["since_ms"].as_u64() <= report["state"]["looked_at"].as_u64(), "{lease}");
    let run = &report["live"]["status"]["runs"][0];
    assert_eq!((&run["run_id"], &run["phase"]), (&json!(view.run), &json!("running")));
    let text = String::from_utf8(doctor(server.state(), &[]).stdout).unwrap();
    let id = server.process_id();
    assert!(text.contains(&format!("running, process {id}, for ")), "{text}");
    assert!(text.contains(&format!("{} of {session}, running for ", view.run)), "{text}");
    assert!(text.contains("connections     1"), "{text}");
    let after = everything(server.state());
    assert_eq!(names(&after), names(&before));
    for name in ["sessions.db", "errors.db", "token", "lock"] {
        let path = server.state().join(name);
        assert_eq!(after[&path].0, before[&path].0, "{name}");
    }
    assert_eq!(client.stop(&session, &view.run)["outcome"], "accepted");
    assert_eq!(client.follow(&mut view), "cancelled");
}

#[test]
fn a_run_that_is_being_cancelled_is_told_with_its_age() {
    let server = Server::start();
    let mut client = Client::connect(&server);
    let session = client.new_session();
    let mut view = client.prompt(&session, "/wedge");
    client.wait_for("the call", |frame| frame.is("run_status", "phase", "running"));
    let request = client.send("stop_run", json!({"session_id": session, "run_id": view.run}));
    assert_eq!(client.reply(&request).data["outcome"], "accepted");
    let (report, code) = examined(server.state());
    let run = &report["live"]["status"]["runs"][0];
    assert_eq!((&run["phase"], &run["wedged"]), (&json!("cancelling"), &json!(false)), "{report}");
    assert_eq!(code, Some(0), "the server ends it by itself: {report}");
    let told = format!("run {} is on its way to its end: cancelling for ", view.run);
    let notes = report["notes"].as_array().unwrap();
    assert!(notes.iter().any(|note| note.as_str().unwrap().starts_with(&told)), "{report}");
    assert_eq!(client.follow(&mut view), "cancelled");
}

#[test]
fn a_server_that_cannot_be_asked_is_said_to_be_so() {
    let hash = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";
    let config = format!("[[principal]]\nname = 'ada'\nrole = 'owner'\ntoken_sha256 = '{hash}'\n");
    let server = Setup::fresh().config(&config).flags(&["--token", "to"]).start();
    let (report, code) = examined(server.state());
    assert_eq!((&report["ok"], code), (&json!(true), Some(0)), "{report}");
    assert_eq!(report["live"]["status"], Value::Null);
    assert!(report["notes"][0].as_str().unwrap().contains("--token"), "{report}");
    for (token, problem) in [("to", None), ("wrong", Some("401"))] {
        let output = doctor(server.state(), &["--json", "--token", token]);
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        let said = report["live"]["problem"].as_str();
        assert_eq!(
            said.is_some_and(|said| said.contains(problem.unwrap_or(""))),
            problem.is_some(),
            "{report}"
        );
        assert_eq!(report["live"]["status"]["state"] == "open", problem.is_none());
    }
}

/// A disk that is nearly full is a finding, in a server that runs on.
#[test]
fn too_little_free_space_wants_doing() {
    let server = Setup::fresh().config("[limits]\ndisk_low = 17592186044416\n").start();
    let (report, code) = examined(server.state());
    assert_eq!(code, Some(1), "{report}");
    assert!(finding(&report, "disk")["advice"].as_str().unwrap().contains("make room"));
}

#[test]
fn damage_and_a_token_that_others_can_read_are_found() {
    let setup = used(false);
    fs::set_permissions(setup.state().join("token"), fs::Permissions::from_mode(0o644)).unwrap();
    let raw = Connection::open(setup.state().join("sessions.db")).unwrap();
    let run: i64 = raw.query_row("SELECT run_id FROM runs", [], |row| row.get(0)).unwrap();
    raw.execute("UPDATE journal SET event = 'nonsense' WHERE run_id = ?1 AND seq = 1", [run])
        .unwrap();
    raw.pragma_update(None, "journal_mode", "DELETE").unwrap();
    drop(raw);
    fs::write(
        setup.state().join("errors.db"),
        "not a database, but longer than a header".repeat(9),
    )
    .unwrap();
    let before = everything(setup.state());
    let (report, code) = examined(setup.state());
    assert_eq!(code, Some(1), "{report}");
    assert!(finding(&report, "token")["advice"].as_str().unwrap().contains("chmod 600"));
    assert!(finding(&report, "errors.db")["problem"].as_str().unwrap().contains("not made by"));
    let journal = finding(&report, "journal of run_");
    assert!(journal["problem"].as_str().unwrap().contains("row 1"), "{journal}");
    assert_eq!(everything(setup.state()), before);
    let output = doctor(setup.state(), &[]);
    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("to do") && text.contains("quarantined 1"), "{text}");
}

#[test]
fn each_agent_is_tried_and_each_broken_one_says_what_to_do() {
    let (fake, folder) = (FakeOpenAi::start(), TempDir::new().unwrap());
    let refusing = FakeOpenAi::refusing_url();
    let agents = vec![
        openai("endpoint", &fake.base_url(), None),
        hostile("process", "happy", folder.path()),
        acp("missing", "/nonexistent/agent"),
        openai("refusing", &refusing, None),
        acp("dying", "true"),
        openai("keyless", &fake.base_url(), Some("RUNWARDEN_TEST_KEY_THAT_IS_NOT_SET")),
        openai("endpoint", &fake.base_url(), None),
    ];
    let setup = Setup::fresh().config(&config(agents));
    let begun = Instant::now();
    let (report, code) = examined(setup.state());
    assert!(begun.elapsed() < PATIENCE, "all at once: {:?}", begun.elapsed());
    assert_eq!((&report["ok"], code), (&json!(false), Some(1)), "{report}");
    let agents = report["agents"].as_array().unwrap();
    let usable: Vec<bool> = agents.iter().map(|agent| agent["usable"].as_bool().unwrap()).collect();
    assert_eq!(usable, [true, true, false, false, false, false, false], "{report}");
    assert_eq!(agents[0]["profile"]["default_model"], "m");
    for (about, problem, advice) in [
        ("agent missing", "/nonexistent/agent", "[[agent]]"),
        ("agent refusing", "", "base_url"),
        ("agent dying", "", "start `true` in a shell"),
        ("agent keyless", "RUNWARDEN_TEST_KEY_THAT_IS_NOT_SET", "[[agent]]"),
        ("agent endpoint", "twice", "[[agent]]"),
    ] {
        let found = finding(&report, about);
        assert!(found["problem"].as_str().unwrap().contains(problem), "{found}");
        assert!(found["advice"].as_str().unwrap().contains(advice), "{found}");
    }
    // The process that was tried is gone with everything it started.
    let begun = Instant::now();
    let started = processes(folder.path());
    assert!(!started.is_empty());
    while !living(&started).is_empty() {
        assert!(begun.elapsed() < PATIENCE, "left: {:?}", living(&started));
        std::thread::yield_now();
    }
}

#[test]
fn a_wrong_call_or_environment_exits_with_2() {
    let home = TempDir::new().unwrap();
    let file = home.path().join("file");
    fs::write(&file, "x").unwrap();
    let wrong = home.path().join("wrong.toml");
    fs::write(&wrong, "listen = 8787").unwrap();
    for (state, flags, words) in [
        (file.as_path(), vec![], "is not a directory"),
        (home.path(), vec!["--config", wrong.to_str().unwrap()], "`listen`"),
        (home.path(), vec!["--config", "/nonexistent.toml"], "/nonexistent.toml"),
        (home.path(), vec!["--agent", "x"], "error:"),
    ] {
        let output = doctor(state, &flags);
        assert_eq!(output.status.code(), Some(2), "{flags:?}");
        assert!(output.stdout.is_empty(), "{flags:?}");
        let message = String::from_utf8(output.stderr).unwrap();
        assert!(message.contains(words), "{message}");
    }
}
