//! The guide to reproduction: its commands run, in order, against a server and the simulator.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::SystemTime;

use serde_json::json;

use crate::support::client::Client;
use crate::support::process::Setup;

/// Where the guide's commands find the two programs.
struct Programs(tempfile::TempDir);

impl Programs {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let server = env!("CARGO_BIN_EXE_runwarden");
        symlink(server, folder.path().join("runwarden")).unwrap();
        symlink(simulator(), folder.path().join("runwarden-sim")).unwrap();
        Self(folder)
    }

    fn run(&self, block: &str, folder: &Path, environment: &[(&str, &str)]) -> Output {
        let path = std::env::var("PATH").unwrap();
        Command::new("sh")
            .args(["-ec", block])
            .current_dir(folder)
            .env("PATH", format!("{}:{path}", self.0.path().display()))
            .envs(environment.iter().copied())
            .output()
            .unwrap()
    }

    /// Runs all blocks that are marked with these words; what they print.
    #[track_caller]
    fn follow(&self, marked: &str, folder: &Path, environment: &[(&str, &str)]) -> Vec<String> {
        let page = fs::read_to_string(project().join("docs/reproduce.md")).unwrap();
        let done = |block: &str| {
            let output = self.run(block, folder, environment);
            let (out, err) = (output.stdout, String::from_utf8(output.stderr).unwrap());
            let out = String::from_utf8(out).unwrap();
            assert!(output.status.success(), "{block}\n{out}\n{err}");
            out
        };
        blocks(&page, marked).map(done).collect()
    }
}

#[test]
fn a_seed_and_a_race_file_are_what_the_guide_says() {
    let folder = tempfile::tempdir().unwrap();
    let said = Programs::new().follow("sh reproduce", folder.path(), &[]);
    let [_, _, race] = &said[..] else { panic!("{said:?}") };
    assert!(race.contains("STOP-08 broken") && race.contains("exit code 1"), "{race}");
    assert!(race.contains("expected STOP-08: met"), "{race}");
    assert!(folder.path().join("two-stops.html").is_file());
}

#[test]
fn an_incident_becomes_a_test_as_the_guide_says() {
    let home = tempfile::tempdir().unwrap();
    // Where the command looks without flags.
    let server = Setup::on(&home.path().join("runwarden")).start();
    let (mut one, mut other) = (Client::connect(&server), Client::connect(&server));
    let session = one.new_session();
    other.open_session(&session);
    let mut view = one.prompt(&session, "/wedge");
    one.follow_until(&mut view, "the last word", |view| view.text().ends_with("by force. "));
    let stop = json!({"session_id": session, "run_id": view.run});
    for client in [&mut one, &mut other] {
        assert_eq!(
            client.ask("stop_run", stop.clone()).expect("stop_result")["outcome"],
            "accepted"
        );
    }

    let folder = tempfile::tempdir().unwrap();
    let state_home = home.path().to_str().unwrap();
    let environment = [("XDG_STATE_HOME", state_home), ("SESSION", &*session)];
    let said = Programs::new().follow("sh incident", folder.path(), &environment);
    let [exported, replayed, varied, shrunk, mended] = &said[..] else { panic!("{said:?}") };
    assert!(exported.is_empty(), "{exported}");
    assert!(replayed.contains("no invariant broken") && !replayed.contains("another path"));
    assert!(varied.contains("STOP-08 broken") && varied.contains("exit code 1"), "{varied}");
    assert!(
        shrunk.contains("inputs became") && shrunk.contains("expected STOP-08: met"),
        "{shrunk}"
    );
    assert!(mended.contains("expected ok: met"), "{mended}");
    for file in ["incident.html", "small.svg"] {
        assert!(folder.path().join(file).is_file(), "{file}");
    }
}

/// The simulator of this build, which tests of the whole workspace have built beside the server; of any other
/// test, cargo builds it.
fn simulator() -> PathBuf {
    let built = Path::new(env!("CARGO_BIN_EXE_runwarden")).with_file_name("runwarden-sim");
    let sources = ["protocol/src", "runtime/src", "sim/src"].map(|folder| project().join(folder));
    let is_fresh =
        changed(&built).is_some_and(|at| sources.iter().all(|folder| newest(folder) <= at));
    if !is_fresh {
        let manifest = project().join("Cargo.toml");
        let mut cargo = Command::new(env!("CARGO"));
        let cargo =
            cargo.args(["build", "-q", "-p", "runwarden-sim", "--manifest-path"]).arg(manifest);
        if built.parent().is_some_and(|folder| folder.ends_with("release")) {
            cargo.arg("--release");
        }
        assert!(cargo.status().unwrap().success(), "the simulator can be built");
    }
    built
}

fn changed(file: &Path) -> Option<SystemTime> {
    fs::metadata(file).and_then(|metadata| metadata.modified()).ok()
}

/// When the last file below this folder was changed.
fn newest(folder: &Path) -> SystemTime {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let times =
        entries.map(|path| if path.is_dir() { newest(&path) } else { changed(&path).unwrap() });
    times.max().unwrap()
}

fn project() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// The blocks of a page that are marked with these words.
fn blocks<'a>(page: &'a str, marked: &'a str) -> impl Iterator<Item = &'a str> {
    page.split("\n```").skip(1).step_by(2).filter_map(move |block| {
        let (mark, text) = block.split_once('\n')?;
        (mark == marked).then_some(text)
    })
}
