//! `runwarden-bench`: benchmarks of the whole server, as a process, over its wire.

mod admissions;
mod agent;
mod appends;
mod client;
mod commits;
mod fanout;
mod figures;
mod idle;
mod observe;
mod process;
mod server;
mod wire;
mod writer;

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::{Parser, Subcommand};
use runwarden::cli::ServeArgs;
use runwarden::{app, startup};

use server::Program;

/// Benchmarks of the Runwarden server.
#[derive(Parser)]
struct Arguments {
    /// The server to measure; without it the one of the same build.
    #[arg(long, global = true)]
    server: Option<PathBuf>,
    #[command(subcommand)]
    benchmark: Benchmark,
}

#[derive(Subcommand)]
enum Benchmark {
    /// Sessions that start, finish and stop at random: durable admissions a second, and how fast a Stop is
    /// answered.
    Admissions(admissions::Options),
    /// The text of a run for many subscribers: frames a second, how long a row takes to arrive, and what the
    /// flight recorder costs.
    FanOut(fanout::Options),
    /// How fast status, start and Stop are answered while many streams of active runs are open.
    Observe(observe::Options),
    /// What a connection that does nothing costs the server.
    Idle(idle::Options),
    /// Only writes, to so many clients.
    #[command(hide = true)]
    WriteRaw {
        /// How many.
        clients: usize,
    },
    /// The server of this build, as `runwarden serve`.
    #[command(hide = true)]
    Serve(ServeArgs),
    /// Runs that append rows to their journals beside sessions that change: rows a second, transactions, syncs. It
    /// opens a store itself and starts no server.
    Appends {
        /// Runs, each with one batch on its way.
        #[arg(long, default_value_t = 64)]
        runs: u64,
        /// Rows of a batch.
        #[arg(long, default_value_t = 4)]
        rows: usize,
        /// Bytes of a row.
        #[arg(long, default_value_t = 200)]
        bytes: usize,
        /// How long, in seconds.
        #[arg(long, default_value_t = 10)]
        seconds: u64,
    },
}

/// What kept a benchmark from its end.
#[derive(Debug, thiserror::Error)]
enum Problem {
    /// A file or process.
    #[error("{what}: {error}")]
    Io {
        /// Of what.
        what: String,
        /// Why.
        error: std::io::Error,
    },
    /// The server answered something else.
    #[error("the server was expected to answer {expected} and said: {answer}")]
    Answer {
        /// What was expected.
        expected: &'static str,
        /// What came.
        answer: String,
    },
    /// The store beside the server.
    #[error("the store: {0}")]
    Store(#[from] rusqlite::Error),
    /// The store of a benchmark without a server.
    #[error(transparent)]
    Journal(#[from] runwarden_runtime::ports::StoreFailure),
}

impl Problem {
    fn io(what: impl Into<String>) -> impl FnOnce(std::io::Error) -> Self {
        let what = what.into();
        move |error| Self::Io { what, error }
    }
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let program = arguments.server.map_or_else(Program::own, Program::at);
    let result = match arguments.benchmark {
        Benchmark::Admissions(options) => admissions::run(program, &options),
        Benchmark::FanOut(options) => fanout::run(&program, &options),
        Benchmark::Observe(options) => observe::run(program, &options),
        Benchmark::Idle(options) => idle::run(&program, &options),
        Benchmark::WriteRaw { clients } => return writer::run(clients),
        Benchmark::Serve(args) => {
            return match startup::settings(args) {
                Ok(settings) => {
                    app::run_with(&settings, vec![Arc::new(agent::LoadFactory::listening())])
                }
                Err(code) => code,
            };
        }
        Benchmark::Appends { runs, rows, bytes, seconds } => {
            appends::run(&appends::Load { runs, rows, bytes }, Duration::from_secs(seconds))
        }
    };
    match result {
        Ok(is_sound) => ExitCode::from(u8::from(!is_sound)),
        Err(problem) => {
            eprintln!("{problem}");
            ExitCode::from(2)
        }
    }
}
