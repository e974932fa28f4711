//! `runwarden-bench`: benchmarks of the whole server, as a process, over its wire.

mod admissions;
mod client;
mod commits;
mod figures;
mod server;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::{Parser, Subcommand};

/// Benchmarks of the Runwarden server.
#[derive(Parser)]
struct Arguments {
    /// The server to measure; without it the one beside this program.
    #[arg(long, global = true)]
    server: Option<PathBuf>,
    #[command(subcommand)]
    benchmark: Benchmark,
}

#[derive(Subcommand)]
enum Benchmark {
    /// Sessions that start, finish and stop at random: durable admissions a second, and how fast a Stop is
    /// answered.
    Admissions {
        /// Sessions, each with a client of its own.
        #[arg(long, default_value_t = 64)]
        sessions: usize,
        /// How long, in seconds.
        #[arg(long, default_value_t = 60)]
        seconds: u64,
        /// Seed of what the clients do.
        #[arg(long, default_value_t = 1)]
        seed: u64,
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
    /// The connection.
    #[error("the connection to the server is gone: {0}")]
    Connection(#[from] Box<async_tungstenite::tungstenite::Error>),
    /// The store beside the server.
    #[error("the store: {0}")]
    Store(#[from] rusqlite::Error),
}

impl Problem {
    fn io(what: impl Into<String>) -> impl FnOnce(std::io::Error) -> Self {
        let what = what.into();
        move |error| Self::Io { what, error }
    }
}

impl From<async_tungstenite::tungstenite::Error> for Problem {
    fn from(error: async_tungstenite::tungstenite::Error) -> Self {
        Self::Connection(Box::new(error))
    }
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let program = arguments.server.unwrap_or_else(server::beside);
    let result = match arguments.benchmark {
        Benchmark::Admissions { sessions, seconds, seed } => {
            admissions::run(&program, sessions, Duration::from_secs(seconds), seed)
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
