//! Whole conversations with agents on the official libraries.

use std::path::Path;

use serde_json::json;
use tempfile::TempDir;

use super::client::{Client, LiveView};
use super::process::{Server, Setup};
use super::stored::Stored;
use super::{Agent, PATIENCE, prompt_when_free};
use super::{end, rust_agent, session_of, tools};

/// The script as the guide names it.
const SCRIPT_OF_THE_GUIDE: &str = "\"tests/adapters/acp/agent.mjs\"";

/// AGT-03 [e2e]: an agent on the Rust library shows all it does, is asked and stopped, and finds its
/// conversation again in another process after the server was killed.
#[test]
fn an_agent_on_the_rust_library() {
    let folder = TempDir::new().unwrap();
    let program = std::env::current_exe().unwrap();
    let agent = Agent {
        name: "example",
        command: program.to_str().unwrap(),
        args: &["--exact", "agent_process", "--nocapture"],
        folder: folder.path(),
        env: &[(rust_agent::VARIABLE, "1")],
    };
    converse(&agent.toml(), "Edit", folder.path());
}

/// AGT-03 [e2e]: the same with an agent of at most 80 lines on the npm library.
#[test]
fn an_agent_on_the_npm_library() {
    let Some(node) = tools::node() else { return };
    let Some(adapter) = tools::acp_adapter() else { return };
    let folder = TempDir::new().unwrap();
    let script = adapter.join("agent.mjs");
    let lines = std::fs::read_to_string(&script).unwrap().lines().count();
    assert!(lines <= 80, "the example has {lines} lines");
    // The section of the guide, with full paths: the test runs elsewhere.
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/agents.md");
    let page = std::fs::read_to_string(page).unwrap();
    let section = page.split("```").find(|block| block.contains(SCRIPT_OF_THE_GUIDE)).unwrap();
    let section = section.strip_prefix("toml\n").expect("a section of the configuration");
    let section = section
        .replace(SCRIPT_OF_THE_GUIDE, &format!("{script:?}"))
        .replace("\"node\"", &format!("{node:?}"));
    let config = format!("{section}cwd = {:?}\n", folder.path());
    converse(&config, "Edit the notes", folder.path());
}

fn converse(config: &str, planned: &str, folder: &Path) {
    let server = Setup::fresh().config(config).start();
    let mut client = Client::open(&server);
    let session = session_of(&mut client, "example");
    let view = edit(&mut client, &session, planned);
    assert!(view.text().contains("The permission: allow_always"), "{view:#?}");
    stop(&mut client, &session);
    let before = chat(&mut client, &session, "hello");
    assert_eq!(before, "You said 3 things, the last was: hello");

    let server = killed(server);
    let mut client = Client::open(&server);
    client.open_session(&session);
    // Told by its own record: nothing is repeated in front of the prompt, and nothing of it is shown.
    let after = chat(&mut client, &session, "again");
    assert_eq!(after, "You said 4 things, the last was: again");
    let stored = Stored::open_checked(server.state());
    let answers: Vec<_> =
        stored.messages(&session).into_iter().filter(|row| row.role == "assistant").collect();
    assert_eq!(answers.last().unwrap().body.as_deref(), Some(after.as_str()));
    assert_eq!(stored.unsettled(), 0);
    end(server, std::iter::once(folder));
}

fn edit(client: &mut Client, session: &str, planned: &str) -> LiveView {
    let mut view = client.prompt(session, "please edit");
    let asked = client.wait_for("question", |frame| frame.kind == "question_asked");
    let question = &asked.data["question"];
    assert_eq!(question["kind"], "approval");
    // Two options of one name stay apart.
    let options = question["options"].as_array().unwrap();
    assert_eq!((&options[0], &options[2]), (&json!("Allow"), &json!("Reject")));
    let second = options[1].as_str().unwrap();
    assert!(second.starts_with("Allow ("), "{options:?}");
    let answer = json!({
        "session_id": session, "question_id": question["question_id"],
        "question_version": question["question_version"], "answer": {"choice": second},
    });
    client.ask("answer_question", answer).expect("question_resolved");
    assert_eq!(client.follow(&mut view), "completed");
    let value = |kind: &str, field: &str| {
        let items = view.items.iter().filter(|item| item.kind == kind);
        items.map(|item| &item.value).find(|value| !value[field].is_null()).cloned()
    };
    let plan = value("notice", "plan").expect("a plan");
    assert_eq!(plan["text"], format!("Plan: 0 of 1 done; now: {planned}"));
    let tool = value("tool", "output").expect("a tool with output");
    assert_eq!((&tool["name"], &tool["status"]), (&json!("edit"), &json!("done")));
    assert_eq!(tool["output"], json!([{"path": "/notes.txt", "old": "old", "new": "new"}]));
    assert_eq!(view.text_of("thinking"), "I need to edit.");
    view
}

fn stop(client: &mut Client, session: &str) {
    let mut view = client.prompt(session, "please wait");
    client.follow_until(&mut view, "Waiting.", |view| view.text() == "Waiting.");
    let result = client.stop(session, &view.run);
    assert_eq!(result["outcome"], "accepted", "{result}");
    assert_eq!(client.follow(&mut view), "cancelled");
}

/// A prompt as soon as the session takes one; the answer.
fn chat(client: &mut Client, session: &str, text: &str) -> String {
    let mut view = prompt_when_free(client, session, text, PATIENCE);
    assert_eq!(client.follow(&mut view), "completed");
    view.text()
}

fn killed(mut server: Server) -> Server {
    server.kill9();
    server.restart()
}
