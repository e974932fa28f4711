//! Many at once: one wins, the others are told, nothing is answered twice.

use serde_json::{Value, json};

use crate::support::client::{Client, Frame, LiveView};
use crate::support::process::Server;
use crate::support::stored::Stored;

const WINDOWS: usize = 8;

/// Windows that all have the session open.
fn windows(server: &Server) -> (String, Vec<Client>) {
    let mut clients: Vec<Client> = (0..WINDOWS).map(|_| Client::connect(server)).collect();
    let session = clients[0].create_session();
    for client in &mut clients {
        client.open_session(&session);
    }
    (session, clients)
}

/// Each window sends before any reads its reply.
fn at_once(clients: &mut [Client], action: &str, fields: &Value) -> Vec<Frame> {
    let sent: Vec<String> =
        clients.iter_mut().map(|client| client.send(action, fields.clone())).collect();
    clients.iter_mut().zip(sent).map(|(client, request)| client.reply(&request)).collect()
}

#[test]
fn of_many_starts_one_is_accepted_and_the_others_name_its_run() {
    let server = Server::start();
    let (session, mut clients) = windows(&server);
    let fields = json!({"session_id": session, "text": "/slow"});
    let replies = at_once(&mut clients, "send_message", &fields);
    let (accepted, refused): (Vec<_>, Vec<_>) =
        replies.into_iter().partition(|frame| frame.kind == "message_ack");
    assert_eq!(accepted.len(), 1, "{accepted:?}");
    let run = accepted[0].data["run_id"].as_str().unwrap().to_owned();
    for frame in refused {
        let refused = frame.expect("message_refused");
        assert_eq!((&refused["code"], &refused["run_id"]), (&json!("session_busy"), &json!(run)));
    }

    // All press Stop: each is accepted, or told how the run ended; every window sees one terminal.
    let fields = json!({"session_id": session, "run_id": run});
    for frame in at_once(&mut clients, "stop_run", &fields) {
        let stopped = frame.expect("stop_result");
        let outcome = (stopped["outcome"].as_str().unwrap(), stopped["status"].as_str());
        assert!(
            matches!(outcome, ("accepted", None) | ("already_ended", Some("cancelled"))),
            "{stopped}"
        );
    }
    let mut views = Vec::new();
    for client in &mut clients {
        let mut view = LiveView::of(&run);
        assert_eq!(client.follow(&mut view), "cancelled");
        views.push(view.items);
    }
    assert!(views.iter().all(|items| *items == views[0]));
    let rows = Stored::open(server.state()).messages(&session);
    assert_eq!(rows.iter().filter(|row| row.role == "user").count(), 1);
    assert_eq!(rows.iter().filter(|row| row.marker.is_some()).count(), 1);
    for client in &mut clients {
        client.ask("list_questions", json!({"session_id": session})).expect("questions_list");
        assert!(client.arrived("stream_terminal").is_empty());
    }
}

#[test]
fn of_many_answers_one_counts() {
    let server = Server::start();
    let (session, mut clients) = windows(&server);
    let view = clients[0].prompt(&session, "/ask");
    let asked = clients[1].wait_for("a question", |frame| frame.kind == "question_asked");
    let question = &asked.data["question"];
    let fields = json!({
        "session_id": session,
        "question_id": question["question_id"],
        "question_version": question["question_version"],
        "answer": {"options": ["Green"]},
    });
    let replies = at_once(&mut clients, "answer_question", &fields);
    let counted = replies.iter().filter(|frame| frame.kind == "question_resolved").count();
    let gone = replies.iter().filter(|frame| frame.data["code"] == "gone").count();
    assert_eq!((counted, gone), (1, WINDOWS - 1), "{replies:?}");
    for client in &mut clients {
        let mut view = LiveView::of(&view.run);
        assert_eq!(client.follow(&mut view), "completed");
        assert_eq!(view.text().matches("Thank you").count(), 1);
        // Each window is told once: by its reply or by a push.
        let told = client.arrived("question_resolved").len();
        assert!(told <= 1, "told {told} times");
    }
}

#[test]
fn requests_behind_each_other_are_each_answered_once() {
    let server = Server::start();
    let mut client = Client::connect(&server);
    let session = client.new_session();
    let mut view = client.prompt(&session, "/slow");
    let page = json!({"session_id": session, "generation": 1, "latest": true});
    let stream = json!({"session_id": session, "entity_id": view.run});
    let mut sent = Vec::new();
    for _ in 0..15 {
        sent.push((client.send("list_sessions", json!({})), "sessions_list"));
        sent.push((client.send("load_history", page.clone()), "history_page"));
        sent.push((client.send("get_stream", stream.clone()), "stream_state"));
        sent.push((client.send("list_user_errors", json!({})), "user_errors_list"));
    }
    let stop = client.send("stop_run", json!({"session_id": session, "run_id": view.run}));
    assert_eq!(client.reply(&stop).expect("stop_result")["outcome"], "accepted");
    let mut states = Vec::new();
    for (request, kind) in &sent {
        let frame = client.reply(request);
        assert_eq!(&frame.kind, kind, "{}", frame.data);
        if *kind == "stream_state" && frame.data["status"] == "running" {
            states.push(frame);
        }
    }
    // The newest state stands for all rows before it.
    states.sort_by_key(|frame| frame.arrival);
    view.apply(states.last().expect("a state of the running run"));
    assert_eq!(client.follow(&mut view), "cancelled");
    client.ask("close_session", json!({"session_id": session})).expect("session_closed");
    for kind in ["sessions_list", "history_page", "stream_state", "user_errors_list"] {
        assert!(client.arrived(kind).is_empty(), "{kind} twice");
    }
    let rows = Stored::open(server.state()).messages(&session);
    let body = rows.iter().find(|row| row.role == "assistant").and_then(|row| row.body.clone());
    assert_eq!(body.unwrap_or_default(), view.text());
}
