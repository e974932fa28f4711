//! Everything an agent may do wrong, over the real server.

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::json;
use tempfile::TempDir;

use super::client::{Client, LiveView};
use super::hostile_acp::told;
use super::polling::poll;
use super::process::Setup;
use super::stored::Stored;
use super::{PATIENCE, end, hostile, processes, prompt_when_free, session_of};

/// From Stop, or from the end of a run, until the session takes the next message (STOP-20).
const FREE_MAX: Duration = Duration::from_secs(12);

/// A way to misbehave, how its run ends, and how many processes it takes.
struct Case {
    mode: &'static str,
    outcome: &'static str,
    processes: usize,
}

const fn case(mode: &'static str, outcome: &'static str, processes: usize) -> Case {
    Case { mode, outcome, processes }
}

/// What ends by itself.
const OF_ITSELF: [Case; 20] = [
    case("dies_at_once", "failed", 1),
    case("dies_in_session_new", "failed", 1),
    case("names_no_session", "failed", 1),
    case("other_version", "failed", 1),
    case("wants_login", "failed", 1),
    case("dies_once", "completed", 2),
    case("dies_silently", "failed", 3),
    case("dies_in_prompt", "failed", 1),
    case("dies_in_permission", "failed", 1),
    case("dies_and_leaves_a_child", "failed", 1),
    case("answers_an_error", "failed", 1),
    case("no_reason", "failed", 1),
    case("cancelled_unasked", "failed", 1),
    case("refuses", "failed", 1),
    case("only_garbage", "failed", 1),
    case("huge_line", "failed", 1),
    case("unknown_reason", "completed", 1),
    case("two_reasons", "completed", 1),
    case("some_garbage", "completed", 1),
    case("noisy_stderr", "completed", 1),
];

/// What has to be stopped.
const STOPPED: [&str; 9] = [
    "says_nothing",
    "says_nothing_in_session_new",
    "obeys",
    "wrong_reason",
    "asks_then_obeys",
    "cleans_up_slowly",
    "floods_after_cancel",
    "ignores_cancel",
    "deaf_ignores_cancel",
];

struct Bed {
    server: super::Server,
    client: Client,
    home: TempDir,
}

impl Bed {
    fn start(modes: impl Iterator<Item = &'static str>) -> Self {
        let home = TempDir::new().unwrap();
        let mut config = "[limits]\nruns_per_principal_max = 64\n\n".to_owned();
        for mode in modes {
            std::fs::create_dir(home.path().join(mode)).unwrap();
            config.push_str(&hostile(mode, &home.path().join(mode)));
        }
        let server = Setup::fresh().config(&config).start();
        let client = Client::open(&server);
        Self { server, client, home }
    }

    fn folder(&self, mode: &str) -> std::path::PathBuf {
        self.home.path().join(mode)
    }

    /// Asks for a run until the session takes it.
    fn prompt_when_free(&mut self, session: &str) -> LiveView {
        prompt_when_free(&mut self.client, session, "next", FREE_MAX)
    }

    fn end(self, modes: impl Iterator<Item = &'static str>) {
        let folders: Vec<_> = modes.map(|mode| self.home.path().join(mode)).collect();
        end(self.server, folders.iter().map(|folder| folder.as_path()));
    }
}

/// Exactly one true terminal, the same on the wire, in the journal and in the settlement.
fn assert_one_terminal(state: &Path, run: &str, outcome: &str, mode: &str) {
    let stored = Stored::open(state).run(run).unwrap();
    let terminals: Vec<_> = stored.rows.iter().filter(|row| row.event == "terminal").collect();
    assert_eq!(terminals.len(), 1, "{mode}: {stored:#?}");
    assert_eq!(terminals[0].outcome.as_deref(), Some(outcome), "{mode}");
    assert_eq!(stored.rows.last(), Some(terminals[0]), "{mode}: a row after the terminal");
    assert_eq!(stored.outcome.as_deref(), Some(outcome), "{mode}");
}

#[test]
fn what_goes_wrong_by_itself_ends_in_one_true_terminal_and_frees_the_session() {
    let modes = || OF_ITSELF.iter().map(|case| case.mode);
    let mut bed = Bed::start(modes());
    let runs: Vec<_> = modes()
        .map(|mode| {
            let session = session_of(&mut bed.client, mode);
            let run = bed.client.prompt(&session, "begin").run;
            bed.client.ask("close_session", json!({"session_id": session}));
            (session, run)
        })
        .collect();
    for (case, (session, run)) in OF_ITSELF.iter().zip(&runs) {
        let mode = case.mode;
        assert_eq!(settled(&bed, run), case.outcome, "{mode}");
        assert_one_terminal(bed.server.state(), run, case.outcome, mode);
        assert_eq!(processes(&bed.folder(mode)).len(), case.processes, "{mode}");
        let next = bed.prompt_when_free(session);
        let ended = settled(&bed, &next.run);
        assert_one_terminal(bed.server.state(), &next.run, &ended, mode);
    }
    bed.end(modes());
}

/// The outcome of a run, once it is settled.
fn settled(bed: &Bed, run: &str) -> String {
    let stored = || Stored::open(bed.server.state()).run(run).and_then(|run| run.outcome);
    poll(&format!("{run} is settled"), PATIENCE, stored)
}

/// REG-15 [e2e], STOP-20 [e2e]: whatever an agent does with `session/cancel`, the run is `cancelled` once,
/// what it says afterwards is nowhere, and within 12 s of Stop the session takes the next message. One
/// that ignores it is ended by SIGTERM, one that ignores that too by SIGKILL, with all they started.
#[test]
fn stop_frees_the_session_whatever_the_agent_does() {
    let mut bed = Bed::start(STOPPED.into_iter());
    let mut working = Vec::new();
    for mode in STOPPED {
        let session = session_of(&mut bed.client, mode);
        let mut view = bed.client.prompt(&session, "begin");
        begun(&mut bed, mode, &mut view);
        // A connection may have eight sessions open; the run goes on without.
        bed.client.ask("close_session", json!({"session_id": session}));
        working.push((mode, session, view.run));
    }
    let since = Instant::now();
    for (_, session, run) in &working {
        bed.client.send("stop_run", json!({"session_id": session, "run_id": run}));
    }
    let mut waiting: Vec<_> = working.iter().collect();
    poll("every session is free", FREE_MAX, || {
        waiting.retain(|(mode, session, _)| {
            let reply = bed.client.try_prompt(session, "next");
            if reply.kind != "message_ack" {
                assert_eq!(reply.data["code"], "session_busy", "{mode}: {}", reply.data);
                return true;
            }
            println!("{mode}: free after {} ms", since.elapsed().as_millis());
            let next = json!({"session_id": session, "run_id": reply.data["run_id"]});
            bed.client.send("stop_run", next);
            false
        });
        waiting.is_empty().then_some(())
    });
    for (mode, _, run) in &working {
        assert_one_terminal(bed.server.state(), run, "cancelled", mode);
        let stored = Stored::open(bed.server.state()).run(run).unwrap();
        let rows = stored.rows.iter().filter(|row| row.event == "text");
        let text: String = rows.map(|row| row.body.as_str()).collect();
        assert!(["", "working"].contains(&text.as_str()), "{mode}: {text}");
    }
    assert!(told(&bed.folder("obeys")).contains("session/cancel"));
    bed.end(STOPPED.into_iter());
}

/// Waits until the agent is in the middle of what it does.
fn begun(bed: &mut Bed, mode: &str, view: &mut LiveView) {
    if mode.starts_with("says_nothing") {
        let folder = bed.folder(mode);
        let started = || (!processes(&folder).is_empty()).then_some(());
        poll("its process is started", PATIENCE, started);
    } else if mode.starts_with("asks") {
        bed.client.wait_for("question", |frame| frame.kind == "question_asked");
    } else {
        bed.client.follow_until(view, "working", |view| view.text() == "working");
    }
}

/// A process that dies between two turns costs the next one nothing but its start.
#[test]
fn an_idle_agent_that_died_is_replaced() {
    let modes = ["dies_after"];
    let mut bed = Bed::start(modes.into_iter());
    let session = session_of(&mut bed.client, "dies_after");
    for turn in 1..=3 {
        let mut view = bed.prompt_when_free(&session);
        assert_eq!(bed.client.follow(&mut view), "completed");
        assert_eq!(processes(&bed.folder("dies_after")).len(), turn);
        assert_eq!(view.text().contains("The conversation so far"), turn > 1, "{}", view.text());
        super::assert_no_process(std::iter::once(bed.folder("dies_after").as_path()));
    }
    bed.end(modes.into_iter());
}

/// An agent that says it can load its sessions and then refuses, dies over it, or never answers: the first
/// two go on in a new session that is told the conversation, the last one obeys Stop.
#[test]
fn a_session_that_cannot_be_loaded_again_goes_on() {
    const MODES: [(&str, usize); 3] =
        [("refuses_load", 2), ("dies_in_load", 3), ("answers_no_load", 0)];
    let modes = || MODES.iter().map(|(mode, _)| *mode);
    let mut bed = Bed::start(modes());
    let mut sessions = Vec::new();
    for mode in modes() {
        let session = session_of(&mut bed.client, mode);
        let mut view = bed.client.prompt(&session, "remember the sea");
        assert_eq!(bed.client.follow(&mut view), "completed", "{mode}");
        sessions.push(session);
    }
    bed.server.kill9();
    bed.server = bed.server.restart();
    bed.client = Client::open(&bed.server);
    for ((mode, count), session) in MODES.iter().zip(&sessions) {
        bed.client.open_session(session);
        let mut view = bed.prompt_when_free(session);
        let folder = bed.folder(mode);
        if *mode == "answers_no_load" {
            let asked = || told(&folder).contains("session/load").then_some(());
            poll("it is asked to load", PATIENCE, asked);
            let stop = json!({"session_id": session, "run_id": view.run});
            bed.client.send("stop_run", stop);
            assert_eq!(bed.client.follow(&mut view), "cancelled");
            bed.prompt_when_free(session);
        } else {
            assert_eq!(bed.client.follow(&mut view), "completed", "{mode}");
            assert!(view.text().contains("User: remember the sea"), "{mode}: {}", view.text());
            assert_eq!(processes(&folder).len(), *count, "{mode}");
        }
        assert!(told(&folder).contains("session/load"), "{mode}");
    }
    bed.end(modes());
}
