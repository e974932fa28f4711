//! Many sessions that start, finish and stop at random, all of it durable.

use std::path::Path;
use std::time::{Duration, Instant};

use runwarden_sim::random::Random;
use rusqlite::{Connection, OpenFlags};
use serde_json::{Value, json};
use smol::Timer;

use crate::Problem;
use crate::client::Client;
use crate::commits;
use crate::figures::{Durations, spread};
use crate::server::Server;

/// Of so many turns one is left to finish by itself; the others are stopped.
const TURNS_PER_FINISH: usize = 50;

/// Longest time between the start of a run and its Stop.
const RUN_MICROS_MAX: usize = 3_000;

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

/// Runs it and prints the figures; whether nothing was admitted twice.
///
/// # Errors
/// When the server cannot be started or answers something unexpected.
pub(crate) fn run(
    program: &Path,
    sessions: usize,
    duration: Duration,
    seed: u64,
) -> Result<bool, Problem> {
    let server = Server::start(program)?;
    let before = commits::rate(server.folder(), COMMITS_TIME)?;
    let measured = smol::block_on(load(&server, sessions, duration, seed))?;
    let after = commits::rate(&fresh_folder(&server)?, COMMITS_TIME)?;
    let twice = admitted_twice(&server)?;
    let mut second_totals = vec![0.0; usize::try_from(duration.as_secs()).unwrap_or(0)];
    for one in &measured {
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
    println!("{sessions} sessions for {} s, seed {seed}", duration.as_secs());
    println!("single commits: {before:.0}/s before, {after:.0}/s after (WAL, synchronous FULL)");
    println!(
        "admissions: {} in all; each second {median:.0} (median), {lowest:.0} to {highest:.0}",
        starts.count()
    );
    println!("ratio to single commits: {:.2}", median / ((before + after) / 2.0));
    for (name, durations) in [("start acknowledged", &starts), ("Stop accepted", &stops)] {
        println!(
            "{name}: p50 {:.1} ms, p99 {:.1} ms of {}",
            durations.percentile_ms(50),
            durations.percentile_ms(99),
            durations.count()
        );
    }
    println!("finished by themselves: {}", count(|one| one.finished));
    println!("ended before their Stop: {}", count(|one| one.already_ended));
    println!("refused as busy: {}", count(|one| one.refused));
    println!("double admissions: {twice}");
    Ok(twice == 0)
}

async fn load(
    server: &Server,
    sessions: usize,
    duration: Duration,
    seed: u64,
) -> Result<Vec<Measured>, Problem> {
    let executor = smol::LocalExecutor::new();
    let begin = Instant::now();
    let tasks: Vec<_> = (0..sessions as u64)
        .map(|number| {
            executor.spawn(work(server, begin, duration, Random::new(seed ^ (number << 32))))
        })
        .collect();
    executor
        .run(async {
            let mut measured = Vec::with_capacity(sessions);
            for task in tasks {
                measured.push(task.await?);
            }
            Ok(measured)
        })
        .await
}

/// One client with its session: one turn after the other.
async fn work(
    server: &Server,
    begin: Instant,
    duration: Duration,
    mut random: Random,
) -> Result<Measured, Problem> {
    let mut client = Client::connect(server.address).await?;
    let created = client.expect("create_session", json!({}), "session_created").await?;
    let session = created["session_id"].clone();
    let open = json!({"session_id": session, "generation": 1});
    client.expect("open_session", open, "session_manifest").await?;
    let mut measured = Measured::default();
    while begin.elapsed() < duration {
        let finishes = random.one_in(TURNS_PER_FINISH);
        let text = if finishes { "/fail" } else { "/slow" };
        let Some(run) = start(&mut client, &session, text, &mut measured).await? else { continue };
        let second = usize::try_from(begin.elapsed().as_secs()).unwrap_or(usize::MAX);
        if measured.admissions.len() <= second {
            measured.admissions.resize(second + 1, 0);
        }
        measured.admissions[second] += 1;
        if finishes {
            measured.finished += 1;
        } else {
            let pause = u64::try_from(random.below(RUN_MICROS_MAX)).expect("it is small");
            Timer::after(Duration::from_micros(pause)).await;
            stop(&mut client, &session, &run, &mut measured).await?;
        }
        // A stopped run holds its session until its worker has come home.
        while !client.is_idle {
            client.until(|_| true).await?;
        }
    }
    Ok(measured)
}

/// Starts a turn; its run, or none when the session was busy after all.
async fn start(
    client: &mut Client,
    session: &Value,
    text: &str,
    measured: &mut Measured,
) -> Result<Option<Value>, Problem> {
    let asked = Instant::now();
    let fields = json!({"session_id": session, "text": text});
    let mut answer = client.ask("send_message", fields).await?;
    let took = asked.elapsed();
    client.is_idle = false;
    if answer["type"] == "message_ack" {
        measured.starts.push(took);
        return Ok(Some(answer["data"]["run_id"].take()));
    }
    if answer["data"]["code"] != "session_busy" {
        return Err(Problem::Answer { expected: "message_ack", answer: answer.to_string() });
    }
    measured.refused += 1;
    client.until(|_| true).await?;
    Ok(None)
}

async fn stop(
    client: &mut Client,
    session: &Value,
    run: &Value,
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
