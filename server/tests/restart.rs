//! The server killed and stopped at any moment, and started again on what it left.

#![allow(clippy::unwrap_used, reason = "helpers of a test may panic like the test")]

#[path = "support/client.rs"]
mod client;
#[path = "support/process.rs"]
mod process;
#[path = "support/seeded.rs"]
mod seeded;
#[path = "support/stored.rs"]
mod stored;
#[path = "support/tools.rs"]
mod tools;

use std::time::{Duration, Instant};

use client::{Client, Frame, LiveView};

use process::Server;
use seeded::Seeded;
use serde_json::{Value, json};
use stored::{Message, Stored, StoredRun, item_text, item_value};

/// Kills of the long test.
const KILLS: usize = 20;

/// Kills of the short test.
const KILLS_SHORT: usize = 4;

/// Longest stop of a server that has nothing to do.
const IDLE_STOP_MAX: Duration = Duration::from_secs(2);

/// Types of the frames that show a run.
const SHOWING: [&str; 5] =
    ["run_status", "stream_text", "stream_update", "stream_note", "stream_terminal"];

/// What the server is doing when it is killed.
#[derive(Clone, Copy, Debug)]
enum Moment {
    Admission,
    Streaming,
    Flood,
    Tool,
    Question,
    Stop,
    Settlement,
}

const MOMENTS: [Moment; 7] = [
    Moment::Admission,
    Moment::Streaming,
    Moment::Flood,
    Moment::Tool,
    Moment::Question,
    Moment::Stop,
    Moment::Settlement,
];

/// A turn that a kill cut off.
struct Turn {
    session: String,
    prompt: String,
    key: String,
    /// The run, once the client was told.
    run: Option<String>,
    /// What the client was shown.
    view: LiveView,
}

#[test]
fn a_killed_server_loses_nothing_and_repeats_nothing() {
    let kills = if tools::is_slow_run("20 kills instead of 4") { KILLS } else { KILLS_SHORT };
    let mut seeded = Seeded::announced("restart");
    let mut server = Server::start();
    let mut turns = Vec::new();
    let mut moments = Vec::new();
    for number in 0..kills {
        if moments.is_empty() {
            moments = MOMENTS.to_vec();
            seeded.shuffle(&mut moments);
        }
        let moment = moments.pop().unwrap();
        let mut client = Client::connect(&server);
        let mut turn = Turn::new(&mut client, number, moment, &mut seeded);
        reach(&mut client, &mut turn, moment, &mut seeded);
        server.kill9();
        turn.take_rest(&mut client);
        println!("kill {number}: {moment:?}, rows shown: {}", turn.view.seq);
        let before =
            turn.run.as_deref().map(|run| Stored::open_checked(server.state()).run(run).unwrap());
        server = server.restart();
        check_settled(&server, &turn, before.as_ref());
        check_next(&server, &turn);
        turns.push(turn);
    }
    server.sigterm();
    assert_eq!(server.wait().code, Some(0));
    let stored = Stored::open_checked(server.state());
    assert_eq!(stored.unsettled(), 0);
    for turn in &turns {
        let transcript = stored.messages(&turn.session);
        assert_eq!(prompts_of(&transcript), [&*turn.prompt, "/slow"], "{}", turn.session);
    }
}

/// RST-12 [e2e], ACT-17 [e2e]: SIGTERM ends the runs that go on `interrupted` with reason `shutdown`, also
/// of an agent that ignores it; every client sees that terminal before the close 1001; nothing is left to
/// settle.
#[test]
fn a_stopped_server_ends_its_runs_before_it_closes() {
    let mut server = Server::start();
    let mut clients = ["/slow", "/wedge", "/ask"].map(|prompt| {
        let mut client = Client::connect(&server);
        let session = client.new_session();
        let mut view = client.prompt(&session, prompt);
        client.follow_until(&mut view, "text", |view| !view.text().is_empty());
        (client, session, prompt, view)
    });
    let mut watcher = Client::connect(&server);
    watcher.open_session(&clients[0].1);
    server.sigterm();
    for (client, _, prompt, view) in &mut clients {
        assert_eq!(client.follow(view), "interrupted", "{prompt}");
        assert_eq!(view.terminal.as_ref().unwrap()["reason"], "shutdown", "{prompt}");
        assert_eq!(client.closed(), (1001, "stopping".to_owned()), "{prompt}");
    }
    let seen = watcher.wait_for("stream_terminal", |frame| frame.kind == "stream_terminal");
    assert_eq!(seen.data["reason"], "shutdown");
    assert_eq!(watcher.closed().0, 1001);
    let ended = server.wait();
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);

    let stored = Stored::open_checked(server.state());
    assert_eq!(stored.unsettled(), 0);
    for (_, session, prompt, view) in &clients {
        let run = stored.run(&view.run).unwrap();
        assert_eq!(run.outcome.as_deref(), Some("interrupted"));
        assert_eq!(run.reason.as_deref(), Some("shutdown"));
        check_shown(view, &run);
        check_transcript(&stored.messages(session), prompt, &run);
    }
    drop(stored);
    let server = server.restart();
    let mut client = Client::connect(&server);
    for (_, session, prompt, view) in &clients {
        assert_eq!(Stored::open_checked(server.state()).recoveries_of(&view.run), 0);
        client.open_session(session);
        let page = client.history_page(session);
        assert_eq!(page["rows"][0]["body"], *prompt);
        send_and_stop(&mut client, session, "/slow");
    }
}

#[test]
fn a_stopped_server_without_work_ends_at_once() {
    let mut server = Server::start();
    let mut client = Client::connect(&server);
    let session = client.new_session();
    send_and_stop(&mut client, &session, "/slow");
    let began = Instant::now();
    server.sigterm();
    assert_eq!(client.closed(), (1001, "stopping".to_owned()));
    assert_eq!(server.wait().code, Some(0));
    assert!(began.elapsed() < IDLE_STOP_MAX, "{:?}", began.elapsed());
    let transcript = Stored::open_checked(server.state()).messages(&session);
    assert_eq!(prompts_of(&transcript), ["/slow"]);
}

#[test]
fn a_server_that_is_stopped_before_anyone_came_starts_again() {
    let mut server = Server::start();
    for _ in 0..2 {
        server.sigterm();
        assert_eq!(server.wait().code, Some(0));
        let stored = Stored::open_checked(server.state());
        assert_eq!(stored.unsettled(), 0);
        drop(stored);
        server = server.restart();
    }
}

impl Turn {
    /// Opens a new session and sends a prompt; waits for the answer unless the answer is the moment.
    fn new(client: &mut Client, number: usize, moment: Moment, seeded: &mut Seeded) -> Self {
        let session = client.new_session();
        let prompt = match moment {
            Moment::Admission | Moment::Streaming => format!("Prompt {number}: ä€😀, kept once."),
            Moment::Flood => "/flood".to_owned(),
            Moment::Tool => "/tool".to_owned(),
            Moment::Question => "/ask".to_owned(),
            Moment::Stop if seeded.flip() => "/wedge".to_owned(),
            Moment::Stop => "/slow".to_owned(),
            Moment::Settlement => "/fail".to_owned(),
        };
        let key = format!("key-{number}");
        let mut turn = Self { session, prompt, key, run: None, view: LiveView::default() };
        let request_id = client.send("send_message", turn.action());
        if !matches!(moment, Moment::Admission) {
            turn.take_ack(&client.reply(&request_id));
        }
        turn
    }

    fn action(&self) -> Value {
        json!({"session_id": self.session, "text": self.prompt, "idempotency_key": self.key})
    }

    fn take_ack(&mut self, frame: &Frame) {
        let ack = frame.clone().expect("message_ack");
        let run = ack["run_id"].as_str().unwrap().to_owned();
        self.view = LiveView::of(&run);
        self.run = Some(run);
    }

    /// Takes in what was on its way when the server died.
    fn take_rest(&mut self, client: &mut Client) {
        client.closed();
        if self.run.is_none()
            && let Some(&frame) = client.arrived("message_ack").first()
        {
            self.take_ack(frame);
        }
        let arrived = SHOWING.iter().flat_map(|kind| client.arrived(kind));
        let mut rest: Vec<&Frame> = arrived.filter(|frame| self.view.concerns(frame)).collect();
        rest.sort_by_key(|frame| frame.arrival);
        rest.into_iter().for_each(|frame| self.view.apply(frame));
    }
}

/// Brings the server to a moment of the seed's choice.
fn reach(client: &mut Client, turn: &mut Turn, moment: Moment, seeded: &mut Seeded) {
    let session = turn.session.clone();
    let view = &mut turn.view;
    let mut rows = |client: &mut Client, most: u64| {
        let wanted = seeded.within(1..=most);
        client.follow_until(view, "rows", |view| view.seq >= wanted || view.terminal.is_some());
    };
    let pause_micros_max = match moment {
        Moment::Admission => 4_000,
        Moment::Streaming => {
            rows(client, 30);
            40_000
        }
        Moment::Flood => {
            rows(client, 400);
            5_000
        }
        Moment::Tool => {
            rows(client, 12);
            40_000
        }
        Moment::Question => {
            let asked = client.wait_for("question", |frame| frame.kind == "question_asked");
            if seeded.flip() {
                let question = &asked.data["question"];
                let fields = json!({
                    "session_id": session, "question_id": question["question_id"],
                    "question_version": question["question_version"],
                    "answer": {"choice": "Green"},
                });
                client.send("answer_question", fields);
            }
            60_000
        }
        Moment::Stop => {
            rows(client, 2);
            client.send("stop_run", json!({"session_id": session, "run_id": turn.run}));
            10_000
        }
        Moment::Settlement => {
            client.follow_until(view, "text", |view| view.text().ends_with("because "));
            60_000
        }
    };
    // The pause chooses the moment; nothing is waited for.
    std::thread::sleep(Duration::from_micros(seeded.within(0..=pause_micros_max)));
}

/// The turn is settled from its journal: everything durable is there exactly once, and everything that was
/// shown is durable.
fn check_settled(server: &Server, turn: &Turn, before: Option<&StoredRun>) {
    let stored = Stored::open_checked(server.state());
    assert_eq!(stored.unsettled(), 0);
    let mut client = Client::connect(server);
    let manifest = client.open_session(&turn.session);
    assert_eq!(manifest["running"], json!({}), "nothing runs after a restart");
    let Some(before) = before else {
        // The client was told nothing: the turn was accepted or it was not.
        assert!(stored.runs_of(&turn.session) <= 1);
        assert!(prompts_of(&stored.messages(&turn.session)).len() <= 1);
        return;
    };
    let run_id = turn.run.as_deref().unwrap();
    let run = stored.run(run_id).unwrap();
    let outcome = run.outcome.as_deref().unwrap();
    assert_eq!(outcome, before.outcome.as_deref().unwrap_or("interrupted"));
    assert_eq!(run.terminal(), Some(outcome));
    assert_eq!(run.rows[..before.rows.len()], before.rows, "a durable row changed");
    let added = usize::from(before.terminal().is_none());
    assert_eq!(run.rows.len(), before.rows.len() + added, "rows were added");
    assert_eq!(stored.recoveries_of(run_id), added);
    check_shown(&turn.view, &run);
    let transcript = stored.messages(&turn.session);
    check_transcript(&transcript, &turn.prompt, &run);
    check_page(&client.history_page(&turn.session), &transcript);

    let state = client.get_stream(&turn.session, run_id, None).expect("stream_state");
    assert_eq!(
        (&state["status"], &state["replay"]["state"]),
        (&json!(outcome), &json!("complete"))
    );
    assert_eq!(state["stream_seq"], run.rows.len());
    let items = state["items"].as_array().unwrap();
    for item in items {
        let (id, last) = (item["item_id"].as_str().unwrap(), item["last_seq"].as_u64().unwrap());
        match item["text"].as_str() {
            Some(text) => assert_eq!(text, item_text(run.rows_to(last), id), "{id}"),
            None => assert_eq!(item["value"], item_value(run.rows_to(last), id), "{id}"),
        }
    }
    let shown = turn.view.items.iter().map(|item| &*item.item_id);
    let known: Vec<&Value> = items.iter().map(|item| &item["item_id"]).collect();
    assert!(shown.clone().all(|id| known.contains(&&json!(id))), "{known:?}");
}

/// The session takes the next message at once; the cut-off one, sent again, is still there once.
fn check_next(server: &Server, turn: &Turn) {
    let mut client = Client::connect(server);
    client.open_session(&turn.session);
    let ack = client.ask("send_message", turn.action()).expect("message_ack");
    let again = ack["run_id"].as_str().unwrap();
    match &turn.run {
        Some(run) => assert_eq!(again, run, "the key names another run"),
        None => end_run(&mut client, &turn.session, again),
    }
    send_and_stop(&mut client, &turn.session, "/slow");
    let stored = Stored::open_checked(server.state());
    assert_eq!(prompts_of(&stored.messages(&turn.session)), [&*turn.prompt, "/slow"]);
}

/// Sends a prompt to an open session, which accepts it at once, and stops its run.
fn send_and_stop(client: &mut Client, session: &str, prompt: &str) {
    let view = client.prompt(session, prompt);
    assert_eq!(client.stop(session, &view.run)["outcome"], "accepted");
    wait_terminal(client, &view.run);
}

/// Stops a run unless it has ended, and waits for its end.
fn end_run(client: &mut Client, session: &str, run: &str) {
    let stopped = client.stop(session, run);
    match stopped["outcome"].as_str().unwrap() {
        "accepted" => wait_terminal(client, run),
        outcome => assert_eq!(outcome, "already_ended"),
    }
}

fn wait_terminal(client: &mut Client, run: &str) {
    client.wait_for("stream_terminal", |frame| frame.is("stream_terminal", "entity_id", run));
}

/// What a client was shown is what the journal holds, byte for byte.
fn check_shown(view: &LiveView, run: &StoredRun) {
    assert!(view.seq <= run.rows.len() as u64, "row {} was shown and is not stored", view.seq);
    for item in &view.items {
        let id = &*item.item_id;
        if item.value.is_null() {
            assert_eq!(item.text, item_text(run.rows_to(item.last_seq), id), "{id}");
        } else {
            assert_eq!(item.value, item_value(run.rows_to(item.last_seq), id), "{id}");
        }
    }
    if view.terminal.is_some() {
        assert_eq!(Some(&*view.outcome()), run.outcome.as_deref());
    }
}

/// The transcript of a session with one turn: prompt, answer as journaled, marker, each once (RST-04).
fn check_transcript(transcript: &[Message], prompt: &str, run: &StoredRun) {
    let outcome = run.outcome.as_deref().unwrap();
    let text = run.text();
    let mut expected = vec![("user", "completed", Some(prompt), None)];
    if run.rows.iter().any(|row| row.item_id.is_some()) {
        expected.push(("assistant", outcome, Some(&*text), None));
    }
    if ["interrupted", "cancelled"].contains(&outcome) {
        expected.push(("system", outcome, None, Some(outcome)));
    }
    let rows = transcript
        .iter()
        .map(|row| (&*row.role, &*row.status, row.body.as_deref(), row.marker.as_deref()));
    assert_eq!(rows.collect::<Vec<_>>(), expected);
}

/// The page a client reads shows the stored transcript.
fn check_page(page: &Value, transcript: &[Message]) {
    let shown: Vec<Message> = page["rows"].as_array().unwrap().iter().map(message_of).collect();
    assert_eq!(shown, transcript);
}

fn message_of(row: &Value) -> Message {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    Message {
        message_id: text(&row["message_id"]).unwrap(),
        role: text(&row["role"]).unwrap(),
        status: text(&row["status"]).unwrap(),
        body: text(&row["body"]),
        marker: text(&row["extra"]["marker"]),
    }
}

fn prompts_of(transcript: &[Message]) -> Vec<&str> {
    let users = transcript.iter().filter(|message| message.role == "user");
    users.map(|message| message.body.as_deref().unwrap()).collect()
}
