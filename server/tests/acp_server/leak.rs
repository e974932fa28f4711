//! Many sessions with a process each: started, prompted, stopped, killed. Nothing of it stays.

use std::path::Path;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use tempfile::TempDir;

use super::client::Client;
use super::hostile_acp::{living, processes};
use super::polling::poll;
use super::process::{Server, Setup};
use super::seeded::Seeded;
use super::stored::Stored;
use super::{end, hostile, prompt_when_free, tools};

/// Sessions and seconds of the long test.
const LONG: (usize, u64) = (200, 60);

/// Sessions and seconds of the short one.
const SHORT: (usize, u64) = (12, 5);

/// Descriptors the server may hold at the end beyond those after the first round, of connections and
/// files that come and go.
const DESCRIPTORS_SLACK: usize = 16;

/// Memory the server may hold at the end beyond that after the first round, per session: its newest
/// journal pages, error records and the allocator's own.
const BYTES_PER_SESSION_MAX: u64 = 128 * 1_024;

/// Beside what the sessions hold.
const BYTES_SLACK: u64 = 24 * 1_024 * 1_024;

/// From the last Stop until every session takes a message again.
const FREE_MAX: Duration = Duration::from_secs(12);

/// What is held at one moment.
#[derive(Clone, Copy, Debug)]
struct Held {
    processes: usize,
    descriptors: usize,
    bytes: u64,
}

struct Bed {
    server: Server,
    client: Client,
    folder: TempDir,
    sessions: Vec<(String, Option<String>)>,
}

#[test]
fn sessions_with_a_process_each_leak_nothing() {
    let is_long = tools::is_slow_run("200 sessions for 60 s instead of 12 for 5 s");
    let (count, seconds) = if is_long { LONG } else { SHORT };
    let mut seeded = Seeded::announced("leak");
    let mut bed = Bed::start(count);
    bed.everyone("hello", "completed");
    let before = bed.held();
    assert_eq!(before.processes, count, "each session has its process");
    let until = Instant::now() + Duration::from_secs(seconds);
    let (mut prompts, mut stops, mut kills) = (0_u32, 0_u32, 0_u32);
    while Instant::now() < until {
        let place = usize::try_from(seeded.within(0..=count as u64 - 1)).unwrap();
        match seeded.within(0..=9) {
            0..=5 => prompts += u32::from(bed.prompt(place, seeded.flip())),
            6..=8 => stops += u32::from(bed.stop(place)),
            _ => kills += u32::from(bed.kill_one(&mut seeded)),
        }
    }
    println!("{prompts} prompts accepted, {stops} stops, {kills} processes killed");
    bed.settle();
    // One more round, so that each session has a process again, as it had before.
    bed.everyone("hello again", "completed");
    let after = bed.held();
    println!("before: {before:?}\nafter:  {after:?}");
    assert_eq!(after.processes, count);
    assert!(after.descriptors <= before.descriptors + DESCRIPTORS_SLACK, "{before:?} {after:?}");
    let bytes_max = before.bytes + BYTES_SLACK + count as u64 * BYTES_PER_SESSION_MAX;
    assert!(after.bytes <= bytes_max, "{before:?} {after:?}");
    assert_eq!(Stored::open_checked(bed.server.state()).unsettled(), 0);
    end(bed.server, std::iter::once(bed.folder.path()));
}

impl Bed {
    fn start(count: usize) -> Self {
        let folder = TempDir::new().unwrap();
        let limits = format!(
            "[limits]\nruns_max = {count}\nruns_per_principal_max = {count}\nagents_kept_max = {count}\n\n"
        );
        let config = limits + &hostile("light", folder.path());
        let server = Setup::fresh().config(&config).start();
        let mut client = Client::open(&server);
        let sessions = (0..count).map(|_| (client.create_session(), None)).collect();
        Self { server, client, folder, sessions }
    }

    /// Asks for a run; whether it was accepted. Half of them work until they are stopped.
    fn prompt(&mut self, place: usize, works: bool) -> bool {
        let text = if works { "work" } else { "talk" };
        let reply = self.client.try_prompt(&self.sessions[place].0, text);
        if reply.kind != "message_ack" {
            assert_eq!(reply.data["code"], "session_busy", "{}", reply.data);
            return false;
        }
        self.sessions[place].1 = reply.data["run_id"].as_str().map(str::to_owned);
        true
    }

    fn stop(&mut self, place: usize) -> bool {
        let (session, Some(run)) = self.sessions[place].clone() else { return false };
        self.client.ask("stop_run", json!({"session_id": session, "run_id": run}));
        true
    }

    /// Kills a process as the system does that runs out of memory.
    fn kill_one(&self, seeded: &mut Seeded) -> bool {
        let mut living = living(&processes(self.folder.path()));
        seeded.shuffle(&mut living);
        let Some(stat) = living.first() else { return false };
        let process: i32 = stat.split(' ').next().unwrap().parse().unwrap();
        kill_process(Pid::from_raw(process).unwrap(), Signal::KILL).is_ok()
    }

    /// Stops what runs, until nothing does.
    fn settle(&mut self) {
        for place in 0..self.sessions.len() {
            self.stop(place);
        }
        let state = self.server.state();
        let settled = || (Stored::open(state).unsettled() == 0).then_some(());
        poll("every run is settled", FREE_MAX, settled);
    }

    /// One turn in every session, all of which must take it.
    fn everyone(&mut self, text: &str, outcome: &str) {
        for (session, run) in &mut self.sessions {
            *run = Some(prompt_when_free(&mut self.client, session, text, FREE_MAX * 4).run);
        }
        let state = self.server.state();
        for (_, run) in &self.sessions {
            let run = run.as_deref().unwrap();
            let ended = || Stored::open(state).run(run).and_then(|run| run.outcome);
            assert_eq!(poll(&format!("{run} ends"), FREE_MAX * 4, ended), outcome, "{run}");
        }
    }

    fn held(&self) -> Held {
        let process = format!("/proc/{}", self.server.process_id());
        let process = Path::new(&process);
        let status = std::fs::read_to_string(process.join("status")).unwrap();
        let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        let kibibytes: u64 = resident.trim().trim_end_matches(" kB").parse().unwrap();
        Held {
            processes: living(&processes(self.folder.path())).len(),
            descriptors: std::fs::read_dir(process.join("fd")).unwrap().count(),
            bytes: kibibytes * 1_024,
        }
    }
}
