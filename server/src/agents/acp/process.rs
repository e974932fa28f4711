//! The process of an agent, and the group of everything it starts.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Command as StdCommand, Stdio};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

use runwarden_runtime::ports::World;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use smol::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};

use super::command::AcpCommand;
use super::lines::Lines;

/// Most bytes of a line of standard error that are logged.
pub const STDERR_LINE_BYTES_MAX: usize = 2_048;

/// Most lines of standard error of one process that are logged; further ones are read and dropped.
pub const STDERR_LINES_MAX: usize = 1_000;

/// How long the agents that are left at the end of the server have to end after SIGTERM.
pub const SHUTDOWN_GRACE: Duration = Duration::from_secs(1);

/// How often it is looked whether they have.
const SHUTDOWN_LOOK: Duration = Duration::from_millis(10);

/// The process groups of the agents of a server, for its end. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct Processes {
    groups: Arc<Mutex<Vec<Weak<Group>>>>,
}

/// A process group with the agent's process as its leader. Dropping it kills all of it.
#[derive(Debug)]
pub(super) struct Group {
    leader: Pid,
    is_over: Mutex<bool>,
}

/// The ends that are spoken to.
pub(super) struct Pipes {
    /// What the agent reads.
    pub(super) stdin: ChildStdin,
    /// What the agent writes.
    pub(super) stdout: ChildStdout,
}

/// Starts the process of the agent `name` in a group of its own. A task waits for its end and then
/// kills what it left behind; another logs its standard error.
///
/// # Errors
/// What the system reports.
pub(super) fn start<W: World>(
    world: &W,
    processes: &Processes,
    name: &str,
    command: &AcpCommand,
) -> io::Result<(Arc<Group>, Pipes)> {
    let mut started = StdCommand::new(&command.program);
    started.args(&command.args).envs(&command.env).current_dir(&command.cwd).process_group(0);
    let mut started = Command::from(started);
    started.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = started.kill_on_drop(true).spawn()?;
    let leader = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let leader = leader.expect("the id of a process is a positive i32");
    let group = Arc::new(Group { leader, is_over: Mutex::new(false) });
    processes.note(&group);
    let pipe = "all three pipes were asked for";
    let pipes =
        Pipes { stdin: child.stdin.take().expect(pipe), stdout: child.stdout.take().expect(pipe) };
    let stderr = child.stderr.take().expect(pipe);
    world.spawn(log_stderr(name.to_owned(), leader, stderr));
    world.spawn(await_end(name.to_owned(), child, Arc::clone(&group)));
    tracing::info!(agent = name, process = leader.as_raw_nonzero(), "an agent's process started");
    Ok((group, pipes))
}

impl Processes {
    /// Ends every process of every agent that is left: by SIGTERM, and what is there after
    /// [`SHUTDOWN_GRACE`] by SIGKILL. Blocks as long.
    pub fn end_all(&self) {
        let mut groups = self.groups.lock().unwrap_or_else(PoisonError::into_inner);
        let groups: Vec<_> = groups.drain(..).filter_map(|group| group.upgrade()).collect();
        groups.iter().for_each(|group| group.terminate());
        let until = Instant::now() + SHUTDOWN_GRACE;
        while Instant::now() < until && groups.iter().any(|group| group.is_running()) {
            std::thread::sleep(SHUTDOWN_LOOK);
        }
        groups.iter().for_each(|group| group.kill());
    }

    fn note(&self, group: &Arc<Group>) {
        let mut groups = self.groups.lock().unwrap_or_else(PoisonError::into_inner);
        groups.retain(|group| group.strong_count() > 0);
        groups.push(Arc::downgrade(group));
    }
}

impl Group {
    /// Asks every process of the group to end (SIGTERM).
    pub(super) fn terminate(&self) {
        self.send(Signal::TERM);
    }

    /// Ends every process of the group (SIGKILL).
    pub(super) fn kill(&self) {
        self.send(Signal::KILL);
    }

    /// Whether its leader has ended.
    pub(super) fn is_over(&self) -> bool {
        *self.is_over.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether its leader runs, also when nobody waits for its end any more.
    fn is_running(&self) -> bool {
        let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        !self.is_over() && matches!(waitid(WaitId::Pid(self.leader), look), Ok(None))
    }

    fn send(&self, signal: Signal) {
        let is_over = self.is_over.lock().unwrap_or_else(PoisonError::into_inner);
        // Once it is over the number may name a stranger's group.
        if !*is_over {
            // An empty group is what is wanted.
            let _ = kill_process_group(self.leader, signal);
        }
    }

    /// The leader is gone: what it started goes too. Its number stays taken while the group has
    /// members.
    fn end(&self) {
        self.kill();
        *self.is_over.lock().unwrap_or_else(PoisonError::into_inner) = true;
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.kill();
    }
}

async fn await_end(agent: String, mut child: Child, group: Arc<Group>) {
    let status = child.status().await;
    group.end();
    let process = group.leader.as_raw_nonzero();
    match status {
        Ok(status) => tracing::info!(agent, process, %status, "an agent's process ended"),
        Err(error) => tracing::warn!(agent, process, %error, "an agent's process is lost"),
    }
}

async fn log_stderr(agent: String, leader: Pid, stderr: ChildStderr) {
    let process = leader.as_raw_nonzero();
    let mut lines = Lines::new(stderr, STDERR_LINE_BYTES_MAX);
    let mut count = 0_usize;
    while let Ok(Some(line)) = lines.next().await {
        count = count.saturating_add(1);
        if count <= STDERR_LINES_MAX {
            let text = String::from_utf8_lossy(&line.bytes);
            tracing::info!(agent, process, cut = line.is_cut, stderr = ?text, "an agent wrote");
        } else if count == STDERR_LINES_MAX + 1 {
            tracing::warn!(agent, process, "an agent wrote too much; the rest is not logged");
        }
    }
}
