//! Restarts with a run in flight: what `--record` wrote is exported when the server is gone.

use std::fs;
use std::path::PathBuf;

use crate::export::{Exported, WORDS, export};
use crate::support::client::{Client, LiveView};
use crate::support::process::{Server, Setup};

fn recording() -> Server {
    Setup::fresh().flags(&["--record"]).start()
}

fn running(client: &mut Client, session: &str) -> LiveView {
    let mut view = client.prompt(session, &format!("/slow {WORDS}"));
    client.follow_until(&mut view, "a few words", |view| view.text().len() > 20);
    view
}

#[test]
fn a_server_that_was_killed_with_a_run_and_the_one_behind_it() {
    let mut server = recording();
    let mut client = Client::connect(&server);
    let session = client.new_session();
    let view = running(&mut client, &session);
    let live = Exported::of(server.state(), &session);
    server.kill9();

    let left = Exported::of(server.state(), &session);
    left.holds();
    let known = live.race.choices.len();
    assert!(left.race.choices.len() >= known, "what was recorded before it was killed is there");
    assert_eq!(left.race.choices[..known], live.race.choices);
    assert_eq!(left.kinds().iter().filter(|kind| **kind == "committed").count(), 1);

    let mut server = server.restart();
    let mut client = Client::connect(&server);
    let found = Exported::of(server.state(), &session);
    found.holds();
    assert_eq!(found.kinds()[0], "recover");
    assert_eq!(client.stop(&session, &view.run)["outcome"], "already_ended");
    let found = Exported::of(server.state(), &session);
    found.holds();
    found.breaks("settled-stop-accepted", "STOP-06");
    server.kill9();
    let left = Exported::of(server.state(), &session);
    assert_eq!(left.race.to_string(), found.race.to_string(), "the newest file is read");
}

#[test]
fn a_server_that_was_asked_to_stop_with_a_run() {
    let mut server = recording();
    let mut client = Client::connect(&server);
    let session = client.new_session();
    let mut view = running(&mut client, &session);
    server.sigterm();
    assert_eq!(client.follow(&mut view), "interrupted");
    assert_eq!(server.wait().code, Some(0));
    let left = Exported::of(server.state(), &session);
    left.holds();
    assert!(left.kinds().contains(&"end_by_server"));
    left.breaks("ending-called-cancelled", "STOP-21");
}

#[test]
fn a_recording_holds_no_words_and_a_damaged_one_is_named() {
    let mut server = recording();
    let mut client = Client::connect(&server);
    let session = client.new_session();
    let mut view = client.prompt(&session, WORDS);
    assert_eq!(client.follow(&mut view), "completed");
    assert!(view.text().contains(WORDS), "the agent repeats it: {}", view.text());
    client.wait_idle(&session, view.ended);
    server.kill9();
    let folder = server.state().join("logs/records");
    let files: Vec<PathBuf> = fs::read_dir(&folder).unwrap().map(|f| f.unwrap().path()).collect();
    let [file] = &files[..] else { panic!("{files:?}") };
    let text = fs::read_to_string(file).unwrap();
    assert!(text.lines().count() > 10 && !text.contains(WORDS), "{text}");
    Exported::of(server.state(), &session).holds();

    fs::write(file, text.replacen("\"kind\":\"launched\"", "\"kind\":\"launch_failed\"", 1))
        .unwrap();
    let damaged = export(server.state(), &session, &[]);
    assert_eq!(damaged.status.code(), Some(2));
    let said = String::from_utf8(damaged.stderr).unwrap();
    assert!(said.contains(".jsonl") && said.contains("digest"), "{said}");
}
