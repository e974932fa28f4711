//! A disk without room: at the start, and under a running server.

use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::json;
use tempfile::TempDir;

use crate::support::client::Client;
use crate::support::process::Setup;
use crate::support::stored::Stored;

/// A small file system of its own.
struct Disk {
    home: TempDir,
}

impl Disk {
    /// `None`, with the reason printed, where this user may not make one.
    fn of(size: &str, test: &str) -> Option<Self> {
        let home = TempDir::new().unwrap();
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &format!("size={size}"), "tmpfs"])
            .arg(home.path())
            .stderr(Stdio::null())
            .status()
            .is_ok_and(|status| status.success());
        if !mounted {
            println!("skipped: {test} needs the right to mount a small tmpfs");
        }
        mounted.then_some(Self { home })
    }

    fn state(&self) -> PathBuf {
        self.home.path().join("state")
    }

    /// Takes room until so many bytes are free; removing the file gives it back.
    fn leave(&self, bytes: u64) -> PathBuf {
        let path = self.home.path().join("ballast");
        let mut file = File::create(&path).unwrap();
        let free = || {
            let found = rustix::fs::statvfs(self.home.path()).unwrap();
            found.f_bavail * found.f_frsize
        };
        while free() > bytes {
            file.write_all(&[0; 65_536]).and_then(|()| file.flush()).unwrap();
        }
        path
    }

    /// Takes all room; removing the file gives it back.
    fn fill(&self) -> PathBuf {
        let path = self.home.path().join("ballast");
        let mut file = File::create(&path).unwrap();
        for size in [65_536, 4_096, 1] {
            let piece = vec![0; size];
            while file.write_all(&piece).and_then(|()| file.flush()).is_ok() {}
        }
        let error = file.write_all(&[0]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::StorageFull);
        path
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(self.home.path()).status();
    }
}

fn refusal(state: &Path) -> String {
    let ended = Setup::on(state).refused();
    assert_eq!(ended.code, Some(2), "{ended:?}");
    assert_eq!(ended.stderr.lines().count(), 1, "{ended:?}");
    ended.stderr
}

#[test]
fn a_full_disk_is_told_at_the_start() {
    let Some(disk) = Disk::of("64k", "a_full_disk_is_told_at_the_start") else { return };
    let ballast = disk.fill();
    let message = refusal(&disk.state());
    assert!(message.contains("no room is left"), "{message}");
    // Room for the directories and not for the stores.
    fs::remove_file(ballast).unwrap();
    let message = refusal(&disk.state());
    assert!(message.contains("no room is left"), "{message}");
    assert!(message.contains("--state"), "{message}");
}

/// LIM-05 [e2e]: while too little space is free, new runs and sessions are refused; sessions are read.
#[test]
fn a_server_that_asks_for_more_space_than_there_is_refuses_new_runs() {
    let setup = Setup::fresh();
    let server = setup.start();
    let mut client = Client::connect(&server);
    let session = client.new_session();
    let mut view = client.prompt(&session, "/fail");
    assert_eq!(client.follow(&mut view), "failed");
    drop(client);
    let mut server = server;
    server.sigterm();
    assert_eq!(server.wait().code, Some(0));
    let config = "[limits]\ndisk_low = 17592186044416\n";
    let server = server.setup().clone().config(config).start();
    let mut client = Client::connect(&server);
    client.wait_for("the state", |frame| frame.is("status", "state", "storage_low"));
    let refused = client.ask("create_session", json!({})).expect("message_refused");
    assert_eq!(refused["code"], "storage_low");
    client.open_session(&session);
    assert_eq!(client.history_page(&session)["rows"][0]["body"], "/fail");
    let refused = client.try_prompt(&session, "no room").expect("message_refused");
    assert_eq!(
        (&refused["code"], &refused["retry_after_ms"]),
        (&json!("storage_low"), &json!(30_000))
    );
}

/// The same with a run that goes on meanwhile, and with the space coming back.
#[test]
fn a_disk_that_is_nearly_full_takes_no_new_run_until_there_is_room() {
    let Some(disk) = Disk::of("24m", "a_disk_that_is_nearly_full_takes_no_new_run") else { return };
    let config = "[limits]\ndisk_low = 8388608\n";
    let server = Setup::on(&disk.state()).config(config).start();
    let mut client = Client::connect(&server);
    let session = client.new_session();
    let other = client.new_session();
    let mut asking = client.prompt(&session, "/ask");
    let asked = client.wait_for("a question", |frame| frame.kind == "question_asked");
    let mut slow = client.prompt(&other, "/slow");
    let told = |client: &mut Client, state: &str| {
        client.wait_for(state, |frame| frame.is("status", "state", state));
    };

    let ballast = disk.leave(4 * 1_024 * 1_024);
    told(&mut client, "storage_low");
    let refused = client.ask("create_session", json!({})).expect("message_refused");
    assert_eq!(refused["code"], "storage_low");
    client.follow_until(&mut slow, "more text", |view| view.text().len() > 20);
    assert_eq!(client.stop(&other, &slow.run)["outcome"], "accepted");
    assert_eq!(client.follow(&mut slow), "cancelled");
    let question = &asked.data["question"];
    let answer = json!({
        "session_id": session, "question_id": question["question_id"],
        "question_version": question["question_version"], "answer": {"options": ["Red"]},
    });
    client.ask("answer_question", answer).expect("question_resolved");
    assert_eq!(client.follow(&mut asking), "completed");
    client.wait_idle(&session, asking.ended);
    assert_eq!(client.try_prompt(&session, "no").expect("message_refused")["code"], "storage_low");

    fs::remove_file(ballast).unwrap();
    told(&mut client, "open");
    let mut next = client.prompt(&session, "/fail");
    assert_eq!(client.follow(&mut next), "failed");
}

#[test]
fn a_disk_that_fills_up_loses_nothing_that_was_accepted() {
    let Some(disk) = Disk::of("4m", "a_disk_that_fills_up_loses_nothing_that_was_accepted") else {
        return;
    };
    let server = Setup::on(&disk.state()).config("[limits]\ndisk_low = 0\n").start();
    let mut client = Client::connect(&server);
    let session = client.new_session();
    let mut view = client.prompt(&session, "/fail");
    assert_eq!(client.follow(&mut view), "failed");

    let ballast = disk.fill();
    let refused = client.try_prompt(&session, "too much").expect("message_refused");
    assert_eq!(refused["code"], "launch_failed");
    assert_eq!(client.history_page(&session)["rows"][0]["body"], "/fail");

    fs::remove_file(ballast).unwrap();
    let mut next = client.prompt(&session, "/fail");
    assert_eq!(client.follow(&mut next), "failed");
    let rows = Stored::open(server.state()).messages(&session);
    let prompts: Vec<_> = rows.iter().filter(|row| row.role == "user").collect();
    assert!(prompts.iter().all(|row| row.body.as_deref() == Some("/fail")), "{rows:?}");
    assert_eq!(prompts.len(), 2);
}
