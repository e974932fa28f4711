//! Agents that are processes between two turns: kept, given up when there are too many, replaced when
//! they are gone, and never pressed by a run that did not call them.

#![allow(clippy::unwrap_used, reason = "helpers of a test may panic like the test")]

#[path = "support/client.rs"]
mod client;
#[path = "support/hostile_acp.rs"]
mod hostile_acp;
#[path = "support/polling.rs"]
mod polling;
#[path = "support/process.rs"]
mod process;

use std::path::Path;
use std::time::Duration;

use client::Client;
use hostile_acp::{FOLDER_VARIABLE, MODE_VARIABLE, be_the_agent_if_asked, living, processes, told};
use polling::poll;
use process::{Server, Setup};
use rustix::process::{Pid, Signal, kill_process_group};
use tempfile::TempDir;

/// Longer than the end of a killed process takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(20);

/// Not a test of its own: the process that the server talks to.
#[test]
fn agent_process() {
    be_the_agent_if_asked();
}

/// A server with one agent of this mode.
struct Kept {
    server: Server,
    client: Client,
    folder: TempDir,
}

impl Kept {
    fn start(mode: &str, kept_max: usize) -> Self {
        let folder = TempDir::new().unwrap();
        let program = std::env::current_exe().unwrap();
        let config = format!(
            "[limits]\nagents_kept_max = {kept_max}\n\
             [[agent]]\nname = 'kept'\nkind = 'acp'\ncommand = {program:?}\n\
             args = ['--exact', 'agent_process', '--nocapture']\ncwd = {path:?}\n\
             env = {{ {MODE_VARIABLE} = '{mode}', {FOLDER_VARIABLE} = {path:?} }}\n",
            path = folder.path(),
        );
        let server = Setup::fresh().config(&config).flags(&["--agent", "kept"]).start();
        let client = Client::connect(&server);
        Self { server, client, folder }
    }

    /// One turn; how it ended.
    #[track_caller]
    fn turn(&mut self, session: &str, text: &str) -> String {
        let mut view = self.client.prompt(session, text);
        self.client.follow(&mut view)
    }

    /// The leaders of all processes that ever were, in their order.
    fn started(&self) -> Vec<u32> {
        processes(self.folder.path())
    }

    /// Waits until the groups of exactly these processes live.
    #[track_caller]
    fn await_living(&self, wanted: &[u32]) {
        poll(&format!("exactly {wanted:?} live"), PATIENCE, || {
            let started = self.started().into_iter();
            let alive: Vec<u32> = started.filter(|id| !living(&[*id]).is_empty()).collect();
            (alive == wanted).then_some(())
        });
    }

    /// Ends the server; nothing of its agents is left.
    fn end(mut self) {
        self.server.sigterm();
        assert_eq!(self.server.wait().code, Some(0));
        assert_none_left(self.folder.path());
    }
}

fn assert_none_left(folder: &Path) {
    let groups = processes(folder);
    poll("no process is left", PATIENCE, || living(&groups).is_empty().then_some(()));
}

#[test]
fn one_process_serves_the_turns_of_a_session() {
    let mut kept = Kept::start("echo", 25);
    let session = kept.client.new_session();
    for text in ["one", "two", "three"] {
        assert_eq!(kept.turn(&session, text), "completed");
    }
    assert_eq!(kept.started().len(), 1);
    kept.end();
}

#[test]
fn of_too_many_idle_sessions_the_one_used_longest_ago_ends_its_process() {
    let mut kept = Kept::start("echo", 2);
    let sessions = [0; 3].map(|_| kept.client.new_session());
    for session in &sessions[..2] {
        assert_eq!(kept.turn(session, "hello"), "completed");
    }
    let [first, second] = kept.started()[..] else { panic!("two processes") };
    kept.await_living(&[first, second]);
    assert_eq!(kept.turn(&sessions[0], "again"), "completed");
    assert_eq!(kept.turn(&sessions[2], "one more"), "completed");
    let third = kept.started()[2];
    kept.await_living(&[first, third]);
    assert_eq!(kept.turn(&sessions[1], "back"), "completed");
    let fourth = kept.started()[3];
    kept.await_living(&[third, fourth]);
    kept.end();
}

#[test]
fn a_process_that_was_killed_between_turns_is_replaced_in_the_next() {
    let mut kept = Kept::start("echo", 25);
    let session = kept.client.new_session();
    assert_eq!(kept.turn(&session, "one"), "completed");
    let [first] = kept.started()[..] else { panic!("one process") };
    kill_process_group(Pid::from_raw(first.cast_signed()).unwrap(), Signal::KILL).unwrap();
    kept.await_living(&[]);
    assert_eq!(kept.turn(&session, "two"), "completed");
    assert_eq!(kept.started().len(), 2);
    assert_eq!(kept.turn(&session, "three"), "completed");
    assert_eq!(kept.started().len(), 2);
    kept.end();
}

/// Each turn is stopped as soon as it is acknowledged: some before their agent was called, some after.
#[test]
fn a_run_that_did_not_call_its_agent_does_not_press_it() {
    let mut kept = Kept::start("echo", 25);
    let session = kept.client.new_session();
    assert_eq!(kept.turn(&session, "warm"), "completed");
    for number in 0..20 {
        let mut view = kept.client.prompt(&session, &format!("turn-{number}-"));
        let answer = kept.client.stop(&session, &view.run);
        let status = kept.client.follow(&mut view);
        assert_eq!(answer["outcome"] == "accepted", status == "cancelled");
        poll("the session takes a message", PATIENCE, || {
            (kept.client.try_prompt(&session, "next").kind == "message_ack").then_some(())
        });
        kept.client.wait_for("the end", |frame| frame.kind == "stream_terminal");
    }
    let told = told(kept.folder.path());
    let calls = (0..20).filter(|number| told.contains(&format!("turn-{number}-"))).count();
    let cancels = told.matches("session/cancel").count();
    assert!(cancels <= calls, "{cancels} interrupts of {calls} calls");
    assert_eq!(kept.turn(&session, "last"), "completed");
    kept.end();
}
