//! How fast status, start and Stop are answered while many streams of active runs are open.

use std::time::{Duration, Instant};

use futures_lite::future::or;
use serde_json::json;
use smol::Timer;

use crate::client::Client;
use crate::figures::Durations;
use crate::server::{Program, Server, Setup, token};
use crate::{Problem, agent};

/// Streams of one user, who has at most 64 connections.
const STREAMS_PER_USER: usize = 50;

/// Rows a second of each stream.
const PACE: u64 = 20;

/// Clients of each user that ask.
const ASKERS_PER_USER: usize = 2;

/// Between two questions of a client.
const PAUSE: Duration = Duration::from_millis(5);

/// The bound of OBS-04, in milliseconds.
const ANSWER_MS_MAX: f64 = 250.0;

/// What is asked of the benchmark.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Streams of active runs.
    #[arg(long, default_value_t = 100)]
    streams: usize,
    /// How long, in seconds.
    #[arg(long, default_value_t = 10)]
    seconds: u64,
}

/// How long each answer took.
#[derive(Debug, Default)]
struct Measured {
    status: Vec<Duration>,
    starts: Vec<Duration>,
    stops: Vec<Duration>,
}

/// A stream: its run goes on.
struct Stream {
    client: Client,
    session: String,
    run: String,
}

/// Runs it and prints the figures; whether each kind of answer keeps the bound of OBS-04.
///
/// # Errors
/// When the server cannot be started or answers something unexpected.
pub(crate) fn run(program: Program, options: &Options) -> Result<bool, Problem> {
    let users = options.streams.div_ceil(STREAMS_PER_USER).max(1);
    let server = Server::start(&Setup { program, principals: users, limits: "" })?;
    let measured = smol::block_on(async {
        let executor = smol::LocalExecutor::new();
        executor.run(measure(&executor, &server, users, options)).await
    })?;
    println!(
        "{} streams of active runs, {PACE} rows/s each, {} s",
        options.streams, options.seconds
    );
    let mut is_held = true;
    let kinds = [("status", measured.status), ("start", measured.starts), ("Stop", measured.stops)];
    for (name, durations) in kinds {
        let durations = Durations::of(durations);
        let p99 = durations.percentile_ms(99);
        println!(
            "{name} answered: p50 {:.1} ms, p99 {p99:.1} ms of {}",
            durations.percentile_ms(50),
            durations.count()
        );
        is_held &= durations.count() > 0 && p99 <= ANSWER_MS_MAX;
    }
    println!(
        "bound of the 99th percentiles: {ANSWER_MS_MAX:.0} ms, {}",
        if is_held { "held" } else { "passed" }
    );
    Ok(is_held)
}

async fn measure<'s>(
    executor: &smol::LocalExecutor<'s>,
    server: &'s Server,
    users: usize,
    options: &Options,
) -> Result<Measured, Problem> {
    let mut streams = Vec::with_capacity(options.streams);
    for number in 0..options.streams {
        streams.push(begin_stream(server, &token(number % users)).await?);
    }
    let known: Vec<_> =
        streams.iter().map(|stream| (stream.session.clone(), stream.run.clone())).collect();
    let readers: Vec<_> = streams.into_iter().map(|stream| executor.spawn(read(stream))).collect();
    let end = Instant::now() + Duration::from_secs(options.seconds);
    let askers: Vec<_> = (0..users * ASKERS_PER_USER)
        .map(|number| {
            let user = number % users;
            // Streams were dealt to the users in turn.
            let own = known.iter().skip(user).step_by(users).cloned().collect();
            executor.spawn(ask(server, token(user), own, end))
        })
        .collect();
    let mut measured = Measured::default();
    for asker in askers {
        let one = asker.await?;
        measured.status.extend(one.status);
        measured.starts.extend(one.starts);
        measured.stops.extend(one.stops);
    }
    for reader in readers {
        let over = async {
            Timer::after(Duration::ZERO).await;
            Ok(())
        };
        or(reader, over).await?;
    }
    Ok(measured)
}

async fn begin_stream(server: &Server, token: &str) -> Result<Stream, Problem> {
    let mut client = Client::connect(server.address, token).await?;
    let session = client.create_session_of(agent::NAME).await?;
    let fields = json!({"session_id": session, "text": agent::prompt(0, Some(PACE))});
    let ack = client.expect("send_message", fields, "message_ack").await?;
    let run = ack["run_id"].as_str().unwrap_or_default().to_owned();
    Ok(Stream { client, session, run })
}

/// Reads until the stream breaks, which it must not.
async fn read(mut stream: Stream) -> Result<(), Problem> {
    loop {
        let frame = stream.client.next().await?;
        if frame.starts_with(b"{\"type\":\"stream_terminal\"") {
            let answer = String::from_utf8_lossy(frame).into_owned();
            return Err(Problem::Answer { expected: "more of the stream", answer });
        }
    }
}

/// Asks for the list, for the state of each stream in turn, and starts and stops a run of its own.
async fn ask(
    server: &Server,
    token: String,
    streams: Vec<(String, String)>,
    end: Instant,
) -> Result<Measured, Problem> {
    let mut client = Client::connect(server.address, &token).await?;
    let session = client.create_session().await?;
    let mut measured = Measured::default();
    for (stream_session, stream_run) in streams.iter().cycle() {
        if Instant::now() >= end {
            break;
        }
        let asked = Instant::now();
        client.expect("list_sessions", json!({}), "sessions_list").await?;
        measured.status.push(asked.elapsed());
        let asked = Instant::now();
        let fields = json!({"session_id": stream_session, "entity_id": stream_run});
        client.expect("get_stream", fields, "stream_state").await?;
        measured.status.push(asked.elapsed());
        let asked = Instant::now();
        let fields = json!({"session_id": session, "text": "/count"});
        let ack = client.expect("send_message", fields, "message_ack").await?;
        measured.starts.push(asked.elapsed());
        let asked = Instant::now();
        let fields = json!({"session_id": session, "run_id": ack["run_id"]});
        client.expect("stop_run", fields, "stop_result").await?;
        measured.stops.push(asked.elapsed());
        let revision = ack["session_revision"].as_i64().unwrap_or_default();
        client.until_idle(&session, revision).await?;
        Timer::after(PAUSE).await;
    }
    Ok(measured)
}
