//! A disk without room: at the start, and under a running server.

use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

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

#[test]
fn a_disk_that_fills_up_loses_nothing_that_was_accepted() {
    let Some(disk) = Disk::of("4m", "a_disk_that_fills_up_loses_nothing_that_was_accepted") else {
        return;
    };
    let server = Setup::on(&disk.state()).start();
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
