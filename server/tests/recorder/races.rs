//! Races of Stop on a live server with two clients, each exported and replayed, and broken by one changed
//! guard.

use serde_json::json;

use crate::export::{Exported, WORDS};
use crate::support::client::{Client, LiveView};
use crate::support::process::{Server, Setup};

/// Tries to meet a moment that lasts some milliseconds.
const TRIES_MAX: usize = 20;

/// What the agent that ignores Stop says last.
const DEAF: &str = "I am ended by force. ";

struct Race {
    server: Server,
    one: Client,
    other: Client,
    session: String,
}

impl Race {
    fn begin() -> Self {
        let server = Server::start();
        let mut one = Client::connect(&server);
        let session = one.new_session();
        let mut other = Client::connect(&server);
        other.open_session(&session);
        Self { server, one, other, session }
    }

    /// A run of the agent that ignores Stop, waiting.
    fn deaf_run(&mut self) -> LiveView {
        let mut view = self.one.prompt(&self.session, &format!("/wedge {WORDS}"));
        self.one.follow_until(&mut view, "the last word", |view| view.text().ends_with(DEAF));
        view
    }

    /// Asks both clients' Stops at once; the outcomes.
    fn both_stop(&mut self, run: &str) -> [String; 2] {
        let stop = json!({"session_id": self.session, "run_id": run});
        let asked = [self.one.send("stop_run", stop.clone()), self.other.send("stop_run", stop)];
        let outcome = |client: &mut Client, id: &str| {
            let data = client.reply(id).expect("stop_result");
            data["outcome"].as_str().unwrap().to_owned()
        };
        [outcome(&mut self.one, &asked[0]), outcome(&mut self.other, &asked[1])]
    }

    #[track_caller]
    fn exported(&self) -> Exported {
        Exported::of(self.server.state(), &self.session)
    }
}

#[test]
fn a_stop_before_the_first_word() {
    let Race { server, mut one, .. } = Race::begin();
    for _ in 0..TRIES_MAX {
        let session = one.new_session();
        let mut view = one.prompt(&session, WORDS);
        one.stop(&session, &view.run);
        one.follow(&mut view);
        let exported = Exported::of(server.state(), &session);
        exported.holds();
        let kinds = exported.kinds();
        let stop = kinds.iter().position(|kind| *kind == "stop").expect("the Stop");
        if view.outcome() == "cancelled" && !kinds[..stop].contains(&"produced") {
            exported.breaks("answered-before-settled", "STOP-04");
            return;
        }
    }
    panic!("no Stop came before the first word");
}

#[test]
fn two_stops_of_two_clients() {
    let mut race = Race::begin();
    let view = race.deaf_run();
    assert_eq!(race.both_stop(&view.run), ["accepted", "accepted"]);
    let exported = race.exported();
    exported.holds();
    assert_eq!(exported.kinds().iter().filter(|kind| **kind == "stop").count(), 2);
    exported.breaks("repeat-interrupts", "STOP-08");
}

#[test]
fn a_stop_and_a_message_at_once() {
    let mut race = Race::begin();
    let view = race.deaf_run();
    let run = json!({"session_id": race.session, "run_id": view.run});
    let stopped = race.one.send("stop_run", run);
    let refused = race.other.try_prompt(&race.session, WORDS).expect("message_refused");
    assert_eq!(refused["code"], "session_busy");
    assert_eq!(race.one.reply(&stopped).expect("stop_result")["outcome"], "accepted");
    // Once more, so that one is behind the Stop for sure.
    race.other.try_prompt(&race.session, WORDS).expect("message_refused");
    let exported = race.exported();
    exported.holds();
    exported.breaks("cancelling-row-ignored", "INV-EXCL");
}

#[test]
fn a_stop_behind_the_end_of_its_run() {
    let mut race = Race::begin();
    let mut view = race.one.prompt(&race.session, &format!("/fail {WORDS}"));
    assert_eq!(race.one.follow(&mut view), "failed");
    race.one.wait_idle(&race.session, view.ended);
    assert_eq!(race.both_stop(&view.run), ["already_ended", "already_ended"]);
    let exported = race.exported();
    exported.holds();
    exported.breaks("settled-stop-accepted", "STOP-06");
}

#[test]
fn a_stop_of_a_run_whose_question_is_open() {
    let mut race = Race::begin();
    let mut view = race.one.prompt(&race.session, "/ask");
    let session = race.session.clone();
    race.other.wait_for("a question", |frame| frame.is("question_asked", "session_id", &session));
    assert_eq!(race.other.stop(&session, &view.run)["outcome"], "accepted");
    assert_eq!(race.one.follow(&mut view), "cancelled");
    let exported = race.exported();
    exported.holds();
    exported.breaks("open-behind-stop", "ASK-04");
}

/// The next message, sent by another window when the one before is stopped, waits in the queue.
#[test]
fn a_stop_while_a_message_waits() {
    let mut race = Race::begin();
    let mut view = race.one.prompt(&race.session, "/slow");
    race.one.follow_until(&mut view, "a few words", |view| view.text().len() > 20);
    let queued = json!({"session_id": race.session, "text": WORDS, "when_busy": "queue",
        "idempotency_key": format!("key-{WORDS}")});
    race.other.ask("send_message", queued).expect("message_ack");
    assert_eq!(race.one.stop(&race.session, &view.run)["outcome"], "accepted");
    assert_eq!(race.one.follow(&mut view), "cancelled");
    race.exported().holds();
    let resumed = race.other.ask("resume_queue", json!({"session_id": race.session}));
    resumed.expect("queue_resumed");
    let exported = race.exported();
    exported.holds();
    assert!(exported.kinds().contains(&"resume_queue"));
}

/// A recorder that holds few steps begins in the midst of a run, and its file still replays and holds.
#[test]
fn a_file_that_begins_in_the_midst_of_a_run() {
    let server = Setup::fresh().config("[limits]\nrecord_bytes_max = 16384\n").start();
    let mut client = Client::connect(&server);
    let session = client.new_session();
    let mut view = client.prompt(&session, &format!("/flood {WORDS}"));
    assert_eq!(client.follow(&mut view), "completed");
    let mut view = client.prompt(&session, &format!("/slow {WORDS}"));
    let run = view.run.clone();
    let is_begun_within = |exported: &Exported| {
        let state = exported.race.init.as_ref().unwrap().values().next().unwrap();
        state["runs"][0]["run_id"] == *run
    };
    let mut chars = 20;
    let exported = loop {
        client.follow_until(&mut view, "words", |view| view.text().len() > chars);
        let exported = Exported::of(server.state(), &session);
        if is_begun_within(&exported) {
            break exported;
        }
        chars += 100;
        assert!(chars < 4_000, "the recorder drops nothing");
    };
    exported.holds();
    assert_eq!(client.stop(&session, &view.run)["outcome"], "accepted");
    Exported::of(server.state(), &session).holds();
}
