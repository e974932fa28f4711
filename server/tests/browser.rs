//! The page in a real browser, in front of the real server.

#![allow(clippy::unwrap_used, reason = "helpers of a test may panic like the test")]

#[path = "support/process.rs"]
mod process;
#[path = "support/tools.rs"]
mod tools;

use std::path::{Path, PathBuf};
use std::process::Command;

use process::Setup;

/// Tests of the page's modules, which need no browser.
const OF_MODULES: [&str; 6] = [
    "diff.test.mjs",
    "projection.test.mjs",
    "reconnect.test.mjs",
    "requests.test.mjs",
    "waiting.test.mjs",
    "words.test.mjs",
];

/// Tests of the page with states that a real server is not brought into at will; they bring their own.
const OF_THE_PAGE: [&str; 1] = ["page.test.mjs"];

/// Tests of the page and the server together.
const OF_BOTH: [&str; 8] = [
    "ended.test.mjs",
    "queue.test.mjs",
    "steer.test.mjs",
    "journey.test.mjs",
    "talking.test.mjs",
    "wire.test.mjs",
    "lifecycle.test.mjs",
    "rewrite.test.mjs",
];

/// Two agents to choose from.
const AGENTS: &str = r#"
[[agent]]
name = "demo"
kind = "demo"
label = "Demo"

[[agent]]
name = "second"
kind = "demo"
label = "Second demo"
"#;

/// Longest time of one file of browser tests, in milliseconds; a calm machine needs a fifth of it.
const FILE_MS_MAX: u32 = 300_000;

#[test]
fn the_modules_of_the_page() {
    let Some(node) = tools::node() else { return };
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/browser");
    run(&mut node_tests(&node, &folder, &OF_MODULES));
}

/// Two files run at a time, each with a browser and a server of its own: they wait more than they work.
#[test]
fn the_page_in_a_browser() {
    let Some((node, folder, chromium)) = browser() else { return };
    let of_both = |test: &str| {
        let limits = if test == "ended.test.mjs" { "[limits]\nrun_max = 2000\n" } else { "" };
        let server = Setup::fresh().config(&format!("{limits}{AGENTS}")).start();
        let url = format!("http://{}/#token={}", server.address, server.token);
        run(node_tests(&node, &folder, &[test])
            .env("CHROMIUM", &chromium)
            .env("RUNWARDEN_URL", &url));
    };
    let (first, second) = OF_BOTH.split_at(OF_BOTH.len() / 2);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            run(node_tests(&node, &folder, &OF_THE_PAGE).env("CHROMIUM", &chromium));
            first.iter().copied().for_each(of_both);
        });
        scope.spawn(|| second.iter().copied().for_each(of_both));
    });
}

/// Node.js, the folder of the browser tests with its packages, and Chromium.
fn browser() -> Option<(PathBuf, PathBuf, PathBuf)> {
    let node = tools::node()?;
    let chromium = tools::chromium()?;
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/browser");
    if !folder.join("node_modules").is_dir() {
        // Whether it worked is what the next line finds out.
        let install = ["ci", "--no-audit", "--no-fund", "--loglevel=error"];
        let _ = Command::new("npm").args(install).current_dir(&folder).output();
    }
    Some((node, tools::browser_tests()?, chromium))
}

fn node_tests(node: &Path, folder: &Path, files: &[&str]) -> Command {
    let mut command = Command::new(node);
    command
        .args(["--test", "--test-concurrency=1", "--test-reporter=spec"])
        .arg(format!("--test-timeout={FILE_MS_MAX}"))
        .args(files)
        .current_dir(folder);
    command
}

fn run(command: &mut Command) {
    let output = command.output().unwrap();
    let told = String::from_utf8_lossy(&output.stdout);
    println!("{told}{}", String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "browser tests failed, see above");
}
