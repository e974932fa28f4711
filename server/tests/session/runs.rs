//! Start, stream, terminal, settled row.

use serde_json::{Value, json};

use crate::support::client::{Client, LiveView};
use crate::support::process::Server;
use crate::support::stored::{self, Stored};

/// The streamed view, the journal and the settled rows say the same, byte by byte.
#[track_caller]
pub(crate) fn assert_settled(
    server: &Server,
    client: &mut Client,
    session: &str,
    view: &LiveView,
    prompt: &str,
) {
    let stored = Stored::open(server.state());
    let journal = stored.journal(&view.run);
    let streamed: Vec<(&str, &str)> =
        view.items.iter().map(|item| (&*item.item_id, &*item.kind)).collect();
    assert_eq!(streamed, stored::items(&journal));
    for item in &view.items {
        if item.value.is_null() {
            assert_eq!(item.text, stored::item_text(&journal, &item.item_id));
        } else {
            assert_eq!(item.value, stored::item_value(&journal, &item.item_id));
        }
    }
    let terminal = journal.last().unwrap();
    assert_eq!(terminal.event, "terminal");
    assert_eq!(terminal.outcome, Some(view.outcome()));
    assert_eq!(view.terminal.as_ref().unwrap()["stream_seq"], terminal.seq);
    let earlier = &journal[..journal.len() - 1];
    assert!(earlier.iter().all(|row| row.event != "terminal"), "one terminal");

    let page = client.history_page(session);
    let rows = page["rows"].as_array().unwrap();
    let user = rows.iter().rposition(|row| row["role"] == "user").unwrap();
    assert_eq!(rows[user]["body"], prompt);
    assert_eq!(rows[user]["status"], "completed");
    let answer = &rows[user + 1];
    assert_eq!(answer["role"], "assistant");
    assert_eq!(answer["status"], view.outcome());
    assert_eq!(answer["body"], view.text());
    assert_items(answer, view);

    let messages = stored.messages(session);
    let bodies = |rows: &mut dyn Iterator<Item = Value>| rows.collect::<Vec<_>>();
    assert_eq!(
        bodies(&mut messages.iter().map(|row| json!([row.message_id, row.body]))),
        bodies(&mut rows.iter().map(|row| json!([row["message_id"], row["body"]]))),
    );
}

#[track_caller]
fn assert_items(answer: &Value, view: &LiveView) {
    let items = answer["extra"]["items"].as_array().unwrap();
    assert_eq!(items.len(), view.items.len());
    for (settled, streamed) in items.iter().zip(&view.items) {
        assert_eq!(settled["item_id"], *streamed.item_id);
        assert_eq!(settled["item_kind"], *streamed.kind);
        assert_eq!(settled["last_seq"], streamed.last_seq);
        match streamed.kind.as_str() {
            "text" => assert_eq!(settled["chars"], streamed.text.chars().count()),
            "thinking" | "interim" => assert_eq!(settled["text"], *streamed.text),
            _ => assert_eq!(settled["value"], streamed.value),
        }
    }
}

#[test]
fn a_prompt_is_streamed_and_settled_as_its_journal_says() {
    let server = Server::start();
    let mut client = Client::connect(&server);
    let session = client.new_session();
    let prompt = "Grüße, \"Welt\" \u{1F600}\n\\ zweite Zeile";
    let mut view = client.prompt(&session, prompt);
    assert_eq!(client.follow(&mut view), "completed");
    assert!(view.text().contains("Grüße, \"Welt\" \u{1F600}"), "{}", view.text());
    assert!(!view.text_of("thinking").is_empty());
    assert_eq!(view.phases.first().map(String::as_str), Some("starting"));
    assert!(view.phases.iter().any(|phase| phase == "running"), "{:?}", view.phases);
    let terminal = view.terminal.clone().unwrap();
    assert_eq!(terminal["complete"], true);
    assert_eq!(terminal["error"], Value::Null);
    assert!(terminal["usage"]["output"].as_u64() > Some(0), "{terminal}");
    assert_settled(&server, &mut client, &session, &view, prompt);

    // The next message is admitted at once, and the agent knows the first one.
    let mut next = client.prompt(&session, "/help");
    assert_ne!(next.run, view.run);
    client.follow_until(&mut next, "text", |view| !view.text().is_empty());
    assert_eq!(client.stop(&session, &next.run)["outcome"], "accepted");
    assert_eq!(client.follow(&mut next), "cancelled");
}

#[test]
fn tool_calls_are_streamed_and_settled() {
    let server = Server::start();
    let mut client = Client::connect(&server);
    let session = client.new_session();
    let mut view = client.prompt(&session, "/tool");
    assert_eq!(client.follow(&mut view), "completed");
    let kinds: Vec<&str> = view.items.iter().map(|item| &*item.kind).collect();
    assert_eq!(kinds, ["thinking", "tool", "interim", "tool", "text"]);
    for tool in view.items.iter().filter(|item| item.kind == "tool") {
        assert_eq!(tool.value["status"], "done");
        assert!(tool.value["output"].is_object(), "{}", tool.value);
    }
    assert_settled(&server, &mut client, &session, &view, "/tool");
}

#[test]
fn a_flood_loses_nothing() {
    let server = Server::start();
    let mut client = Client::connect(&server);
    let session = client.new_session();
    let mut view = client.prompt(&session, "/flood");
    assert_eq!(client.follow(&mut view), "completed");
    let terminal = view.terminal.clone().unwrap();
    assert_eq!(terminal["complete"], !view.gapped, "a gap is told by the terminal");
    if !view.gapped {
        assert_settled(&server, &mut client, &session, &view, "/flood");
    }
    let journal = Stored::open(server.state()).journal(&view.run);
    let items = stored::items(&journal);
    let text: usize = items
        .iter()
        .map(|(item_id, kind)| match *kind {
            "tool" => 0,
            _ => stored::item_text(&journal, item_id).len(),
        })
        .sum();
    assert_eq!(text, 180 * 1_024);
    let page = client.history_page(&session);
    let (answer, _) = items.iter().find(|(_, kind)| *kind == "text").unwrap();
    assert_eq!(page["rows"][1]["body"], stored::item_text(&journal, answer));
}
