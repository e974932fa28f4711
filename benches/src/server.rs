//! The server as a process on a state directory of its own.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;

use crate::Problem;

/// A token of the benchmark.
pub(crate) const TOKEN: &str = "a-token-of-the-benchmark-0123456789abcdef";

/// More runs at once than a benchmark has sessions, so that none waits for another's slot.
const CONFIGURATION: &str = "[limits]\nruns_max = 1024\nruns_per_principal_max = 1024\n";

/// A running server; dropped, it is killed and its files are gone.
pub(crate) struct Server {
    process: Child,
    /// Where it listens.
    pub(crate) address: SocketAddr,
    home: TempDir,
}

impl Server {
    /// Starts `program` and waits until it listens.
    ///
    /// # Errors
    /// When it cannot be started, or says something else than its first line.
    pub(crate) fn start(program: &Path) -> Result<Self, Problem> {
        let home = TempDir::new().map_err(Problem::io("a folder for the state"))?;
        let state = home.path().join("state");
        std::fs::create_dir(&state).map_err(Problem::io("the folder of the state"))?;
        std::fs::write(state.join("runwarden.toml"), CONFIGURATION)
            .map_err(Problem::io("the configuration"))?;
        let mut process = Command::new(program)
            .args(["--listen", "127.0.0.1:0", "--token", TOKEN, "--state"])
            .arg(&state)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(Problem::io(format!(
                "{} (build it with `cargo build --release --workspace`)",
                program.display()
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

/// The server that was built together with this program.
pub(crate) fn beside() -> PathBuf {
    let name = format!("runwarden{}", std::env::consts::EXE_SUFFIX);
    let folder = std::env::current_exe().ok().and_then(|exe| Some(exe.parent()?.to_owned()));
    folder.unwrap_or_default().join(name)
}
