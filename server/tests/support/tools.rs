//! What a test needs beyond Rust and a C compiler: time, a browser, Node.js.
//!
//! A test that runs long begins with `if !tools::is_slow_run("name") { return; }`, a test that needs a
//! tool with `let Some(node) = tools::node() else { return };`. Both say on standard output that the
//! test is skipped and how to run it.
#![allow(dead_code, reason = "each test binary uses a part of these")]

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// With the value 1 the long tests run.
pub(crate) const SLOW: &str = "RUNWARDEN_SLOW";

/// With the value 1 a missing tool fails the test instead of skipping it.
pub(crate) const REQUIRE_TOOLS: &str = "RUNWARDEN_REQUIRE_TOOLS";

/// Path of a Chromium that is not on `PATH` under a usual name.
pub(crate) const CHROMIUM: &str = "CHROMIUM";

const CHROMIUM_NAMES: [&str; 4] =
    ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];

/// Whether the long tests run; says otherwise that `test` is skipped.
pub(crate) fn is_slow_run(test: &str) -> bool {
    let is_slow = is_set(SLOW);
    if !is_slow {
        println!("skipped: {test} runs long; set {SLOW}=1 to run it");
    }
    is_slow
}

/// The path of Node.js, or `None` when the test is to be skipped.
///
/// # Panics
/// When Node.js is missing and [`REQUIRE_TOOLS`] is set.
pub(crate) fn node() -> Option<PathBuf> {
    required(on_path(&["node", "nodejs"]), "Node.js (`node`) is not on PATH: install nodejs")
}

/// The path of Chromium, or `None` when the test is to be skipped.
///
/// # Panics
/// When Chromium is missing and [`REQUIRE_TOOLS`] is set.
pub(crate) fn chromium() -> Option<PathBuf> {
    let named = std::env::var_os(CHROMIUM).map(PathBuf::from).filter(|path| path.is_file());
    required(
        named.or_else(|| on_path(&CHROMIUM_NAMES)),
        "Chromium is not on PATH: install chromium, or set CHROMIUM to its path",
    )
}

/// The path of Python, or `None` when the test is to be skipped.
///
/// # Panics
/// When Python is missing and [`REQUIRE_TOOLS`] is set.
pub(crate) fn python() -> Option<PathBuf> {
    required(on_path(&["python3"]), "Python is not on PATH: install python3 and python3-venv")
}

/// The folder of the browser tests with its packages, or `None` when the test is to be skipped.
///
/// # Panics
/// When the packages are missing and [`REQUIRE_TOOLS`] is set.
pub(crate) fn browser_tests() -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/browser");
    let is_installed = folder.join("node_modules/playwright-core").is_dir();
    required(
        is_installed.then_some(folder),
        "the packages of the browser tests are missing: `npm ci --prefix server/tests/browser`",
    )
}

/// The folder of the example agent with its packages, or `None` when the test is to be skipped.
///
/// # Panics
/// When the packages are missing and [`REQUIRE_TOOLS`] is set.
pub(crate) fn acp_adapter() -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/adapters/acp");
    let is_installed = folder.join("node_modules/@agentclientprotocol/sdk").is_dir();
    required(
        is_installed.then_some(folder),
        "the packages of the example agent are missing: `npm ci --prefix tests/adapters/acp`",
    )
}

fn required(found: Option<PathBuf>, what_to_do: &str) -> Option<PathBuf> {
    if found.is_none() {
        assert!(!is_set(REQUIRE_TOOLS), "{what_to_do}");
        println!("skipped: {what_to_do}");
    }
    found
}

fn is_set(variable: &str) -> bool {
    std::env::var_os(variable).is_some_and(|value| value == OsStr::new("1"))
}

fn on_path(names: &[&str]) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let folders: Vec<_> = std::env::split_paths(&path).collect();
    names
        .iter()
        .flat_map(|name| folders.iter().map(move |folder| folder.join(name)))
        .find(|candidate| candidate.is_file())
}
