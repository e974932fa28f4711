//! The text of a run for many subscribers: how many frames a second arrive, how long a row takes to arrive,
//! and what the flight recorder costs.

use std::cell::Cell;
use std::rc::Rc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use rusqlite::{Connection, OpenFlags};
use serde_json::json;
use smol::Timer;

use crate::client::Client;
use crate::figures::{Durations, spread};
use crate::process::{Usage, resident_bytes};
use crate::server::{Program, Server, Setup, token};
use crate::writer::Writer;
use crate::{Problem, agent};

/// Subscribers of one session; a user has at most 64 connections.
const SUBSCRIBERS_PER_SESSION: usize = 50;

/// How long a load runs before it is measured.
const WARM_UP: Duration = Duration::from_millis(500);

/// Rows after which a subscriber is said to have so many: a part of what the agent may be ahead.
const ROWS_PER_MILESTONE: u64 = 32;

/// Milestones that subscribers may lie apart.
const MILESTONES: usize = 16;

/// What is asked of the benchmark.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Clients that read.
    #[arg(long, default_value_t = 100)]
    subscribers: usize,
    /// Rows a second of each session; without it as many as the server takes.
    #[arg(long)]
    paced: Option<u64>,
    /// The flight recorder: on, off, or both in turn.
    #[arg(long, value_enum, default_value = "both")]
    record: Record,
    /// How often each is measured.
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// How long each round is, in seconds.
    #[arg(long, default_value_t = 3)]
    seconds: u64,
}

/// Whether the flight recorder is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Record {
    On,
    Off,
    Both,
}

/// What one round measured.
#[derive(Debug, Default)]
struct Round {
    frames_per_second: f64,
    /// Clients that were told to fetch what they missed.
    gaps: usize,
    latencies: Vec<Duration>,
    server_seconds: f64,
    load_seconds: f64,
    server_bytes: u64,
}

/// Runs it and prints the figures.
///
/// # Errors
/// When the server cannot be started or answers something unexpected.
pub(crate) fn run(program: &Program, options: &Options) -> Result<bool, Problem> {
    let (mut on, mut off, mut raw) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..options.rounds {
        if options.record != Record::Off {
            on.push(round(program, options, "")?);
        }
        if options.record != Record::On {
            off.push(round(program, options, "record_bytes_max = 0\n")?);
        }
        if options.paced.is_none() {
            raw.push(raw_round(options)?);
        }
    }
    println!(
        "{} subscribers, {} rounds of {} s each, {}",
        options.subscribers,
        options.rounds,
        options.seconds,
        options.paced.map_or("flat out".to_owned(), |pace| format!("{pace} rows/s a session")),
    );
    print("flight recorder on", &on);
    print("flight recorder off", &off);
    print("raw TCP writer", &raw);
    let median =
        |rounds: &[Round]| spread(rounds.iter().map(|round| round.frames_per_second).collect()).0;
    if !on.is_empty() && !off.is_empty() && options.paced.is_none() {
        let cost = 100.0 * (1.0 - median(&on) / median(&off));
        println!("cost of the flight recorder: {cost:.1} % of the frames");
        let cpu = |rounds: &[Round]| {
            let seconds: f64 = rounds.iter().map(|round| round.server_seconds).sum();
            let frames: f64 = rounds.iter().map(|round| round.frames_per_second).sum();
            seconds / frames
        };
        println!(
            "cost of the flight recorder: {:.1} % of the server's processor time of a frame",
            100.0 * (cpu(&on) / cpu(&off) - 1.0)
        );
    }
    if !raw.is_empty() && !on.is_empty() {
        println!("ratio to the raw TCP writer: {:.2}", median(&on) / median(&raw));
    }
    Ok(true)
}

fn print(name: &str, rounds: &[Round]) {
    if rounds.is_empty() {
        return;
    }
    let of = |pick: fn(&Round) -> f64| spread(rounds.iter().map(pick).collect());
    let (median, lowest, highest) = of(|round| round.frames_per_second);
    let gaps: usize = rounds.iter().map(|round| round.gaps).sum();
    let cpu = of(|round| round.server_seconds / round.frames_per_second * 1e9).0;
    let load = of(|round| round.load_seconds / round.frames_per_second * 1e9).0;
    println!(
        "{name}: {median:.0} frames/s (median), {lowest:.0} to {highest:.0}; processor time of a frame: \
         {cpu:.0} ns, of its load {load:.0} ns; gaps {gaps}"
    );
    let latencies =
        Durations::of(rounds.iter().flat_map(|round| &round.latencies).copied().collect());
    if latencies.count() > 0 {
        println!(
            "{name}: from row produced to frame received p50 {:.2} ms, p99 {:.2} ms of {}",
            latencies.percentile_ms(50),
            latencies.percentile_ms(99),
            latencies.count()
        );
    }
    let bytes = rounds.iter().map(|round| round.server_bytes).max().unwrap_or(0);
    println!("{name}: memory of the server at most {} KiB", bytes / 1_024);
}

fn round(program: &Program, options: &Options, limits: &'static str) -> Result<Round, Problem> {
    let sessions = options.subscribers.div_ceil(SUBSCRIBERS_PER_SESSION).max(1);
    let server = Server::start(&Setup { program: program.clone(), principals: sessions, limits })?;
    let (mut round, arrivals) = smol::block_on(async {
        let executor = smol::LocalExecutor::new();
        executor.run(measure(&executor, &server, sessions, options)).await
    })?;
    if options.paced.is_some() {
        round.latencies = latencies(&server.store(), &arrivals)?;
    }
    Ok(round)
}

/// When which row of which run arrived, in microseconds of wall time.
type Arrivals = Vec<(String, i64, u64)>;

async fn measure<'s>(
    executor: &smol::LocalExecutor<'s>,
    server: &'s Server,
    sessions: usize,
    options: &Options,
) -> Result<(Round, Arrivals), Problem> {
    let counts = Rc::new(Counts::default());
    let mut owners = Vec::new();
    let mut readers = Vec::new();
    for number in 0..sessions {
        let token = token(number);
        let mut owner = Client::connect(server.address, &token).await?;
        let session = owner.create_session_of(agent::NAME).await?;
        let share = (options.subscribers - number).div_ceil(sessions);
        let progress = Rc::new(Progress::new(number, share));
        for _ in 1..share {
            let mut client = Client::connect(server.address, &token).await?;
            client.open(&session).await?;
            let reader = Reader::new(&counts, Some((server, progress.clone())), options);
            readers.push(executor.spawn(reader.read(client)));
        }
        owners.push((owner, session, progress));
    }
    for (number, (mut owner, session, progress)) in owners.into_iter().enumerate() {
        let text = agent::prompt(number, options.paced);
        let fields = json!({"session_id": session, "text": text});
        owner.expect("send_message", fields, "message_ack").await?;
        let reader = Reader::new(&counts, Some((server, progress)), options);
        readers.push(executor.spawn(reader.read(owner)));
    }
    Timer::after(WARM_UP).await;
    let (begin, before) = (Instant::now(), counts.frames.get());
    let usage = Usage::now(server.process_id());
    Timer::after(Duration::from_secs(options.seconds)).await;
    let (frames, took) = (counts.frames.get() - before, begin.elapsed());
    let usage = Usage::now(server.process_id()).since(usage);
    let server_bytes = resident_bytes(server.process_id());
    counts.is_over.set(true);
    let mut arrivals = Vec::new();
    for reader in readers {
        arrivals.extend(reader.await?);
    }
    let round = Round {
        frames_per_second: f64::from(u32::try_from(frames).unwrap_or(u32::MAX))
            / took.as_secs_f64(),
        gaps: counts.gaps.get(),
        latencies: Vec::new(),
        server_seconds: usage.server.as_secs_f64() / took.as_secs_f64(),
        load_seconds: usage.load.as_secs_f64() / took.as_secs_f64(),
        server_bytes,
    };
    Ok((round, arrivals))
}

#[derive(Default)]
struct Counts {
    frames: Cell<u64>,
    gaps: Cell<usize>,
    is_over: Cell<bool>,
}

/// How far the subscribers of a run are.
struct Progress {
    run: usize,
    subscribers: usize,
    /// How many reached each of the newest milestones.
    reached: [Cell<usize>; MILESTONES],
}

impl Progress {
    fn new(run: usize, subscribers: usize) -> Self {
        Self { run, subscribers, reached: Default::default() }
    }

    /// A subscriber has so many rows; the last one to reach a milestone lets the agent go on.
    fn reach(&self, server: &Server, rows: u64) -> Result<(), Problem> {
        let milestone = usize::try_from(rows / ROWS_PER_MILESTONE).unwrap_or(0) % MILESTONES;
        let reached = &self.reached[milestone];
        reached.set(reached.get() + 1);
        if reached.get() < self.subscribers {
            return Ok(());
        }
        reached.set(0);
        server.tell(&agent::grant(self.run, rows))
    }
}

/// Reads what one subscriber is sent.
struct Reader<'s> {
    counts: Rc<Counts>,
    progress: Option<(&'s Server, Rc<Progress>)>,
    notes_arrivals: bool,
    rows: u64,
    arrivals: Arrivals,
}

impl<'s> Reader<'s> {
    fn new(
        counts: &Rc<Counts>,
        progress: Option<(&'s Server, Rc<Progress>)>,
        options: &Options,
    ) -> Self {
        Self {
            counts: counts.clone(),
            // A load with a pace asks for nothing.
            progress: progress.filter(|_| options.paced.is_none()),
            notes_arrivals: options.paced.is_some(),
            rows: 0,
            arrivals: Vec::new(),
        }
    }

    /// Counts frames of text until the time is over; of a load with a pace it notes when each came.
    async fn read(mut self, mut client: Client) -> Result<Arrivals, Problem> {
        while !self.counts.is_over.get() {
            let text = client.next().await?;
            if text.starts_with(b"{\"type\":\"stream_text\"") {
                self.counts.frames.set(self.counts.frames.get() + 1);
                self.rows += 1;
                if self.notes_arrivals {
                    self.arrivals.extend(arrival(text));
                }
                if let Some((server, progress)) = &self.progress
                    && self.rows.is_multiple_of(ROWS_PER_MILESTONE)
                {
                    progress.reach(server, self.rows)?;
                }
            } else if text.starts_with(b"{\"type\":\"sync_required\"") {
                self.counts.gaps.set(self.counts.gaps.get() + 1);
            }
        }
        Ok(self.arrivals)
    }
}

fn arrival(text: &[u8]) -> Option<(String, i64, u64)> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).ok()?;
    let text = std::str::from_utf8(text).ok()?;
    let behind = |name: &str| text.find(name).map(|at| &text[at + name.len()..]);
    let run = behind("\"entity_id\":\"")?.split('"').next()?.to_owned();
    let seq = behind("\"stream_seq\":")?.split([',', '}']).next()?.parse().ok()?;
    Some((run, seq, u64::try_from(now.as_micros()).ok()?))
}

/// How long each row took from when it was produced, as the journal says, until it arrived.
fn latencies(store: &std::path::Path, arrivals: &Arrivals) -> Result<Vec<Duration>, Problem> {
    let store = Connection::open_with_flags(store, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    let mut produced = std::collections::HashMap::new();
    let mut rows = store.prepare("SELECT run_id, seq, created_at FROM journal")?;
    let mut rows = rows.query([])?;
    while let Some(row) = rows.next()? {
        let run: i64 = row.get(0)?;
        let run = format!("run_{:016x}", run.cast_unsigned() ^ (1 << 63));
        produced.insert((run, row.get::<_, i64>(1)?), row.get::<_, i64>(2)?);
    }
    let latency = |(run, seq, at): &(String, i64, u64)| {
        let produced = u64::try_from(*produced.get(&(run.clone(), *seq))?).ok()?;
        Some(Duration::from_micros(at.saturating_sub(produced)))
    };
    Ok(arrivals.iter().filter_map(latency).collect())
}

/// The same bytes from a program that does nothing but write them.
fn raw_round(options: &Options) -> Result<Round, Problem> {
    let writer = Writer::start(options.subscribers)?;
    smol::block_on(async {
        let executor = smol::LocalExecutor::new();
        executor.run(measure_raw(&executor, &writer, options)).await
    })
}

async fn measure_raw(
    executor: &smol::LocalExecutor<'_>,
    writer: &Writer,
    options: &Options,
) -> Result<Round, Problem> {
    let counts = Rc::new(Counts::default());
    let mut readers = Vec::new();
    for _ in 0..options.subscribers {
        let client = Client::without_upgrade(writer.address).await?;
        readers.push(executor.spawn(Reader::new(&counts, None, options).read(client)));
    }
    Timer::after(WARM_UP).await;
    let (begin, before) = (Instant::now(), counts.frames.get());
    let usage = Usage::now(writer.process_id());
    Timer::after(Duration::from_secs(options.seconds)).await;
    let (frames, took) = (counts.frames.get() - before, begin.elapsed());
    let usage = Usage::now(writer.process_id()).since(usage);
    counts.is_over.set(true);
    for reader in readers {
        reader.await?;
    }
    Ok(Round {
        frames_per_second: f64::from(u32::try_from(frames).unwrap_or(u32::MAX))
            / took.as_secs_f64(),
        server_seconds: usage.server.as_secs_f64() / took.as_secs_f64(),
        load_seconds: usage.load.as_secs_f64() / took.as_secs_f64(),
        server_bytes: resident_bytes(writer.process_id()),
        ..Round::default()
    })
}
