//! The real server as a process: started, spoken to, killed, started again on the same state.
#![allow(dead_code, reason = "each test binary uses a part of these")]

use std::io::{BufRead, BufReader, Read};
use std::net::SocketAddr;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

/// Longer than a start, a drain or a refused start ever takes.
const PATIENCE: Duration = Duration::from_secs(30);

/// How to start a server. Clones share the state directory.
#[derive(Clone)]
pub(crate) struct Setup {
    state: PathBuf,
    _home: Option<Arc<TempDir>>,
    listen: String,
    flags: Vec<String>,
    environment: Vec<(String, String)>,
    program: PathBuf,
    user: Option<u32>,
}

/// A running server. Dropping it kills it; a failing test prints what it wrote to standard error.
pub(crate) struct Server {
    /// Where it listens.
    pub(crate) address: SocketAddr,
    /// What lets a client in.
    pub(crate) token: String,
    setup: Setup,
    process: Process,
}

/// How a process ended.
#[derive(Debug)]
pub(crate) struct Ended {
    /// Its exit code; `None` when a signal ended it.
    pub(crate) code: Option<i32>,
    /// What it wrote to standard output.
    pub(crate) stdout: String,
    /// What it wrote to standard error.
    pub(crate) stderr: String,
}

struct Process {
    child: Child,
    lines: Receiver<String>,
    stderr: Arc<Mutex<String>>,
    readers: Vec<JoinHandle<()>>,
}

impl Setup {
    /// A fresh state directory, any free port.
    pub(crate) fn fresh() -> Self {
        let home = TempDir::new().unwrap();
        let state = home.path().join("state");
        Self { _home: Some(Arc::new(home)), ..Self::on(&state) }
    }

    /// This state directory, any free port.
    pub(crate) fn on(state: &Path) -> Self {
        Self {
            state: state.to_owned(),
            _home: None,
            listen: "127.0.0.1:0".to_owned(),
            flags: Vec::new(),
            environment: Vec::new(),
            program: env!("CARGO_BIN_EXE_runwarden").into(),
            user: None,
        }
    }

    /// With these flags as well.
    pub(crate) fn flags(mut self, flags: &[&str]) -> Self {
        self.flags.extend(flags.iter().map(|&flag| flag.to_owned()));
        self
    }

    /// On this address.
    pub(crate) fn listen(mut self, address: SocketAddr) -> Self {
        self.listen = address.to_string();
        self
    }

    /// With this configuration file, kept in the state directory.
    pub(crate) fn config(self, text: &str) -> Self {
        std::fs::create_dir_all(&self.state).unwrap();
        std::fs::write(self.state.join("runwarden.toml"), text).unwrap();
        self
    }

    /// With this variable in its environment.
    pub(crate) fn variable(mut self, name: &str, value: &str) -> Self {
        self.environment.push((name.to_owned(), value.to_owned()));
        self
    }

    /// As this user, which only root may do; `program` is a copy of the server that the user may run.
    pub(crate) fn user(mut self, user: u32, program: &Path) -> Self {
        (self.user, self.program) = (Some(user), program.to_owned());
        self
    }

    /// The state directory.
    pub(crate) fn state(&self) -> &Path {
        &self.state
    }

    /// Starts the server and waits until it listens.
    ///
    /// # Panics
    /// When it does not.
    pub(crate) fn start(self) -> Server {
        let mut process = Process::spawn(&self);
        let first = process.line();
        let address = first
            .strip_prefix("runwarden listening on http://")
            .and_then(|rest| rest.strip_suffix('/'))
            .and_then(|address| address.parse().ok())
            .unwrap_or_else(|| panic!("the first line is {first:?}"));
        let token = match self.flags.iter().position(|flag| flag == "--token") {
            Some(place) => self.flags[place + 1].clone(),
            None => {
                let second = process.line();
                let opened = second.strip_prefix(&format!("open http://{address}/#token="));
                opened.unwrap_or_else(|| panic!("the second line is {second:?}")).to_owned()
            }
        };
        Server { address, token, setup: self, process }
    }

    /// Starts the server, which is expected to end by itself.
    ///
    /// # Panics
    /// When it does not.
    pub(crate) fn refused(&self) -> Ended {
        Process::spawn(self).ended()
    }
}

impl Server {
    /// A server on a fresh state directory.
    pub(crate) fn start() -> Self {
        Setup::fresh().start()
    }

    /// How it was started.
    pub(crate) fn setup(&self) -> &Setup {
        &self.setup
    }

    /// The state directory.
    pub(crate) fn state(&self) -> &Path {
        self.setup.state()
    }

    /// Its process id.
    pub(crate) fn process_id(&self) -> u32 {
        self.process.child.id()
    }

    /// Kills it as a crash would, and waits until it is gone.
    pub(crate) fn kill9(&mut self) {
        self.process.kill();
    }

    /// Asks it to stop; [`Server::wait`] waits for the end.
    pub(crate) fn sigterm(&self) {
        kill_process(Pid::from_child(&self.process.child), Signal::TERM).unwrap();
    }

    /// Waits until it has ended by itself.
    ///
    /// # Panics
    /// When it does not.
    pub(crate) fn wait(&mut self) -> Ended {
        self.process.ended()
    }

    /// Starts it again on the same state directory; the old process is killed if it still runs. The port
    /// is another one.
    pub(crate) fn restart(mut self) -> Self {
        self.process.kill();
        self.setup.clone().start()
    }

    /// What it has written to standard error so far.
    pub(crate) fn stderr(&self) -> String {
        self.process.stderr.lock().unwrap().clone()
    }
}

impl Process {
    fn spawn(setup: &Setup) -> Self {
        let mut command = Command::new(&setup.program);
        if let Some(user) = setup.user {
            command.uid(user).gid(user);
        }
        let mut child = command
            .args(["--listen", &setup.listen, "--state"])
            .arg(&setup.state)
            .args(&setup.flags)
            .envs(setup.environment.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let (sender, lines) = channel();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let read_lines = std::thread::spawn(move || {
            // The end of the stream ends the channel; a test that no longer listens misses nothing.
            for line in stdout.lines().map_while(Result::ok) {
                let _ = sender.send(line);
            }
        });
        let stderr = Arc::new(Mutex::new(String::new()));
        let (text, mut pipe) = (stderr.clone(), child.stderr.take().unwrap());
        let read_errors = std::thread::spawn(move || {
            let mut bytes = [0; 4_096];
            while let Ok(count @ 1..) = pipe.read(&mut bytes) {
                text.lock().unwrap().push_str(&String::from_utf8_lossy(&bytes[..count]));
            }
        });
        Self { child, lines, stderr, readers: vec![read_lines, read_errors] }
    }

    fn line(&mut self) -> String {
        match self.lines.recv_timeout(PATIENCE) {
            Ok(line) => line,
            Err(RecvTimeoutError::Timeout) => panic!("no line on standard output"),
            Err(RecvTimeoutError::Disconnected) => {
                let ended = self.ended();
                panic!("ended with {:?} instead of a line: {}", ended.code, ended.stderr);
            }
        }
    }

    fn ended(&mut self) -> Ended {
        let (mut stdout, limit) = (String::new(), Instant::now() + PATIENCE);
        loop {
            let rest = limit.saturating_duration_since(Instant::now());
            match self.lines.recv_timeout(rest) {
                Ok(line) => stdout += &(line + "\n"),
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => panic!("the server does not end"),
            }
        }
        let code = self.child.wait().unwrap().code();
        self.readers.drain(..).for_each(|reader| reader.join().unwrap());
        Ended { code, stdout, stderr: self.stderr.lock().unwrap().clone() }
    }

    fn kill(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
        self.readers.drain(..).for_each(|reader| reader.join().unwrap());
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
        if std::thread::panicking() {
            eprintln!("standard error of the server:\n{}", self.stderr.lock().unwrap());
        }
    }
}
