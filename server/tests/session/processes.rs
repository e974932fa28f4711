//! Agents that are processes, behind a real server.

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::hostile_acp::{
    FOLDER_VARIABLE, MODE_VARIABLE, be_the_agent_if_asked, living, processes, told,
};
use crate::support::client::Client;
use crate::support::process::{Server, Setup};

/// STOP_FREE.
const STOP_FREE: Duration = Duration::from_secs(12);

/// Longer than the end of a killed process takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(20);

/// Not a test of its own: the process that the servers of the others start.
#[test]
fn agent_process() {
    be_the_agent_if_asked();
}

#[test]
fn a_permission_is_asked_on_the_page_and_its_answer_reaches_the_process() {
    let (server, folder) = serve("happy", "");
    let mut client = Client::connect(&server);
    let session = client.new_session();
    let mut view = client.prompt(&session, "hi");
    let question =
        client.wait_for("a question", |frame| frame.is("question_asked", "session_id", &session));
    let question = &question.data["question"];
    assert_eq!(
        (&question["kind"], &question["options"]),
        (&json!("approval"), &json!(["Allow", "Reject"]))
    );
    let answered = client.ask("answer_question", answer(&session, question));
    assert_eq!(answered.expect("question_resolved")["outcome"], "answered");
    assert_eq!(client.follow(&mut view), "completed");
    assert_eq!(view.text(), "I will look.no-1");
    client.wait_idle(&session, view.ended);
    end(server, folder.path());
}

/// REG-15 [e2e], STOP-20 [e2e]: a process that ignores `session/cancel` and SIGTERM is killed with
/// everything it started, and its session admits the next message within 12 s of the Stop.
#[test]
fn a_process_that_ignores_stop_is_killed_within_twelve_seconds() {
    let (server, folder) = serve("ignores_cancel", r#"trap "" TERM; "#);
    let mut client = Client::connect(&server);
    let session = client.new_session();
    let mut view = client.prompt(&session, "hi");
    client.follow_until(&mut view, "the text", |view| view.text() == "working");
    let asked = Instant::now();
    assert_eq!(client.stop(&session, &view.run)["outcome"], "accepted");
    assert_eq!(client.follow(&mut view), "cancelled");
    client.wait_idle(&session, view.ended);
    let first = processes(folder.path());
    await_none(&first);
    let mut next = client.prompt(&session, "again");
    let free = asked.elapsed();
    assert!(free <= STOP_FREE, "free after {free:?}");
    client.follow_until(&mut next, "the text", |view| view.text() == "working");
    assert_eq!((first.len(), processes(folder.path()).len()), (1, 2));
    end(server, folder.path());
}

#[test]
fn after_a_death_the_session_goes_on_and_the_new_process_knows_the_conversation() {
    let (server, folder) = serve("dies_midway_once", "");
    let mut client = Client::connect(&server);
    let session = client.new_session();
    let mut view = client.prompt(&session, "remember the sea");
    assert_eq!(client.follow(&mut view), "failed");
    client.wait_idle(&session, view.ended);
    let mut view = client.prompt(&session, "go on");
    assert_eq!(client.follow(&mut view), "completed");
    let prompts = told(folder.path());
    let second: Value = serde_json::from_str(prompts.lines().last().unwrap()).unwrap();
    assert_eq!(second[1]["text"], "go on");
    assert!(second[0]["text"].as_str().unwrap().contains("User: remember the sea\n"), "{second}");
    end(server, folder.path());
}

#[test]
fn what_a_stopped_agent_tells_it_used_is_added_to_its_row_and_counted_once() {
    let (server, folder) = serve("counts_late", "");
    let mut client = Client::connect(&server);
    let session = client.new_session();
    let sum = |client: &mut Client, input: u64| {
        client.wait_for("the sum", |frame| {
            frame.is("session_item", "session_id", &session)
                && frame.data["item"]["usage"]["input"] == input
                && frame.data["item"]["status"] == "idle"
        })
    };
    for turn in 1..=2_u64 {
        let mut view = client.prompt(&session, "hi");
        client.follow_until(&mut view, "the text", |view| view.text() == "working");
        assert_eq!(client.stop(&session, &view.run)["outcome"], "accepted");
        assert_eq!(client.follow(&mut view), "cancelled");
        let item = sum(&mut client, 5 * turn).data["item"].clone();
        assert_eq!(item["usage"]["output"], 3 * turn, "{item}");
    }
    let rows = client.history_page(&session)["rows"].clone();
    let answers = rows.as_array().unwrap().iter().filter(|row| row["role"] == "assistant");
    let used: Vec<&Value> = answers.map(|row| &row["usage"]["input"]).collect();
    assert_eq!(used, [5, 5]);
    end(server, folder.path());
}

/// A server whose only agent is this test's binary in `mode`, started by a shell after `first`.
fn serve(mode: &str, first: &str) -> (Server, TempDir) {
    let folder = TempDir::new().unwrap();
    let program = std::env::current_exe().unwrap();
    let script = format!(r#"{first}exec "$0" "$@""#);
    let args = [
        "-c",
        &script,
        program.to_str().unwrap(),
        "--exact",
        "processes::agent_process",
        "--nocapture",
    ];
    let mut env = toml::Table::new();
    env.insert(MODE_VARIABLE.to_owned(), mode.into());
    env.insert(FOLDER_VARIABLE.to_owned(), folder.path().to_str().unwrap().into());
    let mut agent = toml::Table::new();
    for (field, text) in [("name", "hostile"), ("kind", "acp"), ("command", "sh")] {
        agent.insert(field.to_owned(), text.into());
    }
    agent.insert("args".to_owned(), args.to_vec().into());
    agent.insert("env".to_owned(), env.into());
    let config =
        toml::Table::from_iter([("agent".to_owned(), toml::Value::Array(vec![agent.into()]))]);
    (Setup::fresh().config(&config.to_string()).start(), folder)
}

fn answer(session: &str, question: &Value) -> Value {
    json!({
        "session_id": session,
        "question_id": question["question_id"],
        "question_version": question["question_version"],
        "answer": {"choice": "Reject"},
    })
}

/// Ends the server in good order: no process of its agents may be left.
fn end(mut server: Server, folder: &Path) {
    server.sigterm();
    assert_eq!(server.wait().code, Some(0));
    let started = processes(folder);
    assert!(!started.is_empty());
    await_none(&started);
}

fn await_none(groups: &[u32]) {
    let begun = Instant::now();
    while !living(groups).is_empty() {
        assert!(begun.elapsed() < PATIENCE, "left: {:?}", living(groups));
        std::thread::yield_now();
    }
}
