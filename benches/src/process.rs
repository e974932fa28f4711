//! What the system says of processes.

use std::fs;
use std::time::Duration;

/// Time of one clock tick, in which Linux counts processor time.
const TICK: Duration = Duration::from_millis(10);

/// Processor time that server and load have used.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Usage {
    /// Of the server.
    pub(crate) server: Duration,
    /// Of this process.
    pub(crate) load: Duration,
}

impl Usage {
    /// As of now; zero where the system does not say.
    pub(crate) fn now(server: u32) -> Self {
        Self { server: processor_time(server), load: processor_time(std::process::id()) }
    }

    /// What was used since.
    pub(crate) fn since(self, earlier: Self) -> Self {
        Self {
            server: self.server.saturating_sub(earlier.server),
            load: self.load.saturating_sub(earlier.load),
        }
    }
}

/// User and system time of a process with its threads.
fn processor_time(process: u32) -> Duration {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    // The name of the program comes before, in parentheses.
    let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
    let ticks: u32 = fields.skip(11).take(2).filter_map(|field| field.parse::<u32>().ok()).sum();
    TICK * ticks
}

/// Memory that a process holds; zero where the system does not say.
pub(crate) fn resident_bytes(process: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap_or_default();
    let kib: u64 = line.trim().trim_end_matches(" kB").parse().unwrap_or(0);
    kib * 1_024
}
