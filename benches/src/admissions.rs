//! Many sessions that start, finish and stop at random, all of it durable.

use std::time::{Duration, Instant};

use fastrand::Rng;
use rusqlite::{Connection, OpenFlags};
use serde_json::json;
use smol::Timer;

use crate::Problem;
use crate::client::Client;
use crate::commits;
use crate::figures::{Durations, spread};
use crate::process::Usage;
use crate::server::{Program, Server, Setup, token};

/// Of so many turns one is left to finish by itself; the others are stopped.
const TURNS_PER_FINISH: usize = 50;

/// Longest time between the start of a run and its Stop.
const RUN_MICROS_MAX: u64 = 3_000;

/// Turns of a session before its client begins another one: the agent reads the whole conversation at each.
const TURNS_PER_SESSION: usize = 25;

/// How long the rate of single commits is measured, before and after.
const COMMITS_TIME: Duration = Duration::from_secs(3);

/// What one client measured.
#[derive(Default)]
struct Measured {
    /// For each second since the begin, the admissions in it.
    admissions: Vec<u32>,
    starts: Vec<Duration>,
    stops: Vec<Duration>,
    finished: u32,
    already_ended: u32,
    refused: u32,
}

/// What is asked of the benchmark.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Sessions at once, each with a client of its own.
    #[arg(long, default_value_t = 64)]
    sessions: usize,
    /// Users the sessions belong to; without it each session has its own. Each user has at most 64 clients, and
    /// each of them is told every change of all sessions of its user.
    #[arg(long)]
    principals: Option<usize>,
    /// How long, in seconds.
    #[arg(long, default_value_t = 60)]
    seconds: u64,
    /// Seed of what the clients do.
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

/// Runs it and prints the figures; whether nothing was admitted twice.
///
/// # Errors
/// When the server cannot be started or answers something unexpected.
pub(crate) fn run(program: Program, options: &Options) -> Result<bool, Problem> {
    let principals = options.principals.unwrap_or(options.sessions).max(1);
    let server = Server::start(&Setup { program, principals, limits: "" })?;
    let before = commits::rate(server.folder(), COMMITS_TIME)?;
    let usage = Usage::now(server.process_id());
    let measured = smol::block_on(load(&server, principals, options))?;
    let usage = Usage::now(server.process_id()).since(usage);
    let after = commits::rate(&fresh_folder(&server)?, COMMITS_TIME)?;
    let twice = admitted_twice(&server)?;
    println!(
        "{} sessions of {principals} users for {} s, seed {}",
        options.sessions, options.seconds, options.seed
    );
    println!("single commits: {before:.0}/s before, {after:.0}/s after (WAL, synchronous FULL)");
    print(&measured, options.seconds, (before + after) / 2.0, usage);
    println!("double admissions: {twice}");
    Ok(twice == 0)
}

fn print(measured: &[Measured], seconds: u64, commits: f64, usage: Usage) {
    let mut second_totals = vec![0.0; usize::try_from(seconds).unwrap_or(0)];
    for one in measured {
        for (total, admissions) in second_totals.iter_mut().zip(&one.admissions) {
            *total += f64::from(*admissions);
        }
    }
    let all = |pick: fn(&Measured) -> &Vec<Duration>| {
        Durations::of(measured.iter().flat_map(pick).copied().collect())
    };
    let (starts, stops) = (all(|one| &one.starts), all(|one| &one.stops));
    let count = |pick: fn(&Measured) -> u32| measured.iter().map(pick).sum::<u32>();
    let (median, lowest, highest) = spread(second_totals);
    println!(
        "admissions: {} in all; each second {median:.0} (median), {lowest:.0} to {highest:.0}",
        starts.count()
    );
    println!("ratio to single commits: {:.2}", median / commits);
    for (name, durations) in [("start acknowledged", &starts), ("Stop accepted", &stops)] {
        println!(
            "{name}: p50 {:.1} ms, p99 {:.1} ms of {}",
            durations.percentile_ms(50),
            durations.percentile_ms(99),
            durations.count()
        );
    }
    println!(
        "processor time of an admission: server {:.0} us, load {:.0} us",
        per_admission_us(usage.server, starts.count()),
        per_admission_us(usage.load, starts.count())
    );
    println!("finished by themselves: {}", count(|one| one.finished));
    println!("ended before their Stop: {}", count(|one| one.already_ended));
    println!("refused as busy: {}", count(|one| one.refused));
}

fn per_admission_us(time: Duration, admissions: usize) -> f64 {
    time.as_secs_f64() * 1e6 / u32::try_from(admissions.max(1)).map_or(f64::MAX, f64::from)
}

async fn load(
    server: &Server,
    principals: usize,
    options: &Options,
) -> Result<Vec<Measured>, Problem> {
    let executor = smol::LocalExecutor::new();
    let end = Instant::now() + Duration::from_secs(options.seconds);
    let tasks: Vec<_> = (0..options.sessions)
        .map(|number| {
            let random = Rng::with_seed(options.seed ^ ((number as u64) << 32));
            let (address, token) = (server.address, token(number % principals));
            executor.spawn(async move {
                let client = Client::connect(address, &token).await?;
                work(client, end, options.seconds, random).await
            })
        })
        .collect();
    executor
        .run(async {
            let mut measured = Vec::with_capacity(tasks.len());
            for task in tasks {
                measured.push(task.await?);
            }
            Ok(measured)
        })
        .await
}

/// One client: one turn after the other, in one session after the other.
async fn work(
    mut client: Client,
    end: Instant,
    seconds: u64,
    mut random: Rng,
) -> Result<Measured, Problem> {
    let begin = end - Duration::from_secs(seconds);
    let mut measured = Measured::default();
    while Instant::now() < end {
        let session = client.create_session().await?;
        for _ in 0..TURNS_PER_SESSION {
            if Instant::now() >= end {
                break;
            }
            turn(&mut client, &session, begin, &mut random, &mut measured).await?;
        }
        client.close(&session).await?;
    }
    Ok(measured)
}

async fn turn(
    client: &mut Client,
    session: &str,
    begin: Instant,
    random: &mut Rng,
    measured: &mut Measured,
) -> Result<(), Problem> {
    let finishes = random.usize(..TURNS_PER_FINISH) == 0;
    let text = if finishes { "/fail" } else { "/count" };
    let Some((run, revision)) = start(client, session, text, measured).await? else {
        return Ok(());
    };
    let second = usize::try_from(begin.elapsed().as_secs()).unwrap_or(usize::MAX);
    if measured.admissions.len() <= second {
        measured.admissions.resize(second + 1, 0);
    }
    measured.admissions[second] += 1;
    if finishes {
        measured.finished += 1;
    } else {
        Timer::after(Duration::from_micros(random.u64(..RUN_MICROS_MAX))).await;
        stop(client, session, &run, measured).await?;
    }
    // A stopped run holds its session until its worker has come home.
    client.until_idle(session, revision).await
}

/// Starts a turn; its run and the revision of its admission, or none when the session was busy after all.
async fn start(
    client: &mut Client,
    session: &str,
    text: &str,
    measured: &mut Measured,
) -> Result<Option<(String, i64)>, Problem> {
    let asked = Instant::now();
    let fields = json!({"session_id": session, "text": text});
    let answer = client.ask("send_message", fields).await?;
    let took = asked.elapsed();
    let data = &answer["data"];
    if answer["type"] == "message_ack"
        && let (Some(run), Some(revision)) =
            (data["run_id"].as_str(), data["session_revision"].as_i64())
    {
        measured.starts.push(took);
        return Ok(Some((run.to_owned(), revision)));
    }
    if data["code"] != "session_busy" {
        return Err(Problem::Answer { expected: "message_ack", answer: answer.to_string() });
    }
    measured.refused += 1;
    Ok(None)
}

async fn stop(
    client: &mut Client,
    session: &str,
    run: &str,
    measured: &mut Measured,
) -> Result<(), Problem> {
    let asked = Instant::now();
    let fields = json!({"session_id": session, "run_id": run});
    let result = client.expect("stop_run", fields, "stop_result").await?;
    match result["outcome"].as_str() {
        Some("accepted") => measured.stops.push(asked.elapsed()),
        _ => measured.already_ended += 1,
    }
    Ok(())
}

/// Runs that were admitted before the one before them in their session had ended, as the store says.
fn admitted_twice(server: &Server) -> Result<i64, Problem> {
    let store = Connection::open_with_flags(server.store(), OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    let overlaps = "SELECT count(*) FROM (
        SELECT ended_at, lead(started_at) OVER (PARTITION BY session_id ORDER BY started_at) AS next
        FROM runs) WHERE next < ended_at";
    Ok(store.query_row(overlaps, [], |row| row.get(0))?)
}

/// A folder on the same disk, without the file of the first measurement.
fn fresh_folder(server: &Server) -> Result<std::path::PathBuf, Problem> {
    let folder = server.folder().join("after");
    std::fs::create_dir(&folder).map_err(Problem::io("a folder for the second measurement"))?;
    Ok(folder)
}
