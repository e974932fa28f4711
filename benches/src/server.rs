//! The server as a process on a state directory of its own.

use std::io::{BufRead, BufReader, Write};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use sha2::{Digest, Sha256};
use tempfile::TempDir;

use crate::Problem;

/// What a server is started with.
pub(crate) struct Setup {
    /// The program, with the arguments before those of `serve`.
    pub(crate) program: Program,
    /// Users, each with a token of its own.
    pub(crate) principals: usize,
    /// More of `[limits]`, one line each.
    pub(crate) limits: &'static str,
}

/// The server to measure.
#[derive(Clone, Debug)]
pub(crate) struct Program {
    path: PathBuf,
    arguments: &'static [&'static str],
}

impl Program {
    /// This program once more: the server of the same build.
    pub(crate) fn own() -> Self {
        let path = std::env::current_exe().unwrap_or_else(|_| "runwarden-bench".into());
        Self { path, arguments: &["serve"] }
    }

    /// Another one.
    pub(crate) fn at(path: PathBuf) -> Self {
        Self { path, arguments: &["serve"] }
    }
}

/// More runs at once than a benchmark has sessions, so that none waits for another's slot.
const LIMITS: &str = "[limits]\nruns_max = 1024\nruns_per_principal_max = 1024\n";

/// A running server; dropped, it is killed and its files are gone.
pub(crate) struct Server {
    process: Child,
    /// Where it listens.
    pub(crate) address: SocketAddr,
    home: TempDir,
}

impl Server {
    /// Starts it and waits until it listens.
    ///
    /// # Errors
    /// When it cannot be started, or says something else than its first line.
    pub(crate) fn start(setup: &Setup) -> Result<Self, Problem> {
        let home = TempDir::new().map_err(Problem::io("a folder for the state"))?;
        let state = home.path().join("state");
        std::fs::create_dir(&state).map_err(Problem::io("the folder of the state"))?;
        std::fs::write(state.join("runwarden.toml"), configuration(setup))
            .map_err(Problem::io("the configuration"))?;
        let program = &setup.program;
        let mut process = Command::new(&program.path)
            .args(program.arguments)
            .args(["--listen", "127.0.0.1:0", "--state"])
            .arg(&state)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(Problem::io(format!(
                "{} (build it with `cargo build --release --workspace`)",
                program.path.display()
            )))?;
        let stdout = process.stdout.take().expect("it is piped");
        let mut line = String::new();
        let read = BufReader::new(stdout).read_line(&mut line);
        read.map_err(Problem::io("the first line of the server"))?;
        let address = line
            .trim_end()
            .strip_prefix("runwarden listening on http://")
            .and_then(|rest| rest.strip_suffix('/'))
            .and_then(|address| address.parse().ok());
        let Some(address) = address else {
            return Err(Problem::Answer { expected: "its address", answer: line });
        };
        Ok(Self { process, address, home })
    }

    /// Its session store.
    pub(crate) fn store(&self) -> PathBuf {
        self.home.path().join("state/sessions.db")
    }

    /// Writes a line to its standard input, for the agent of the load.
    ///
    /// # Errors
    /// When it is gone.
    pub(crate) fn tell(&self, line: &str) -> Result<(), Problem> {
        let mut stdin = self.process.stdin.as_ref().expect("it is piped");
        stdin.write_all(line.as_bytes()).map_err(Problem::io("the server's standard input"))
    }

    /// Its process.
    pub(crate) fn process_id(&self) -> u32 {
        self.process.id()
    }

    /// A folder on the disk it writes to.
    pub(crate) fn folder(&self) -> &Path {
        self.home.path()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The token of a principal.
pub(crate) fn token(principal: usize) -> String {
    format!("a-token-of-the-benchmark-0123456789abcdef-{principal}")
}

fn configuration(setup: &Setup) -> String {
    let mut text = format!("{LIMITS}{}", setup.limits);
    for principal in 0..setup.principals {
        let hash = Sha256::digest(token(principal));
        let hex: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
        text += &format!(
            "\n[[principal]]\nname = \"user-{principal}\"\nrole = \"owner\"\ntoken_sha256 = \"{hex}\"\n"
        );
    }
    text
}
