//! The command line `runwarden-sim`. Exit codes: 0 held, 1 a violation was found, 2 the call or a file was
//! wrong.

mod commands;

use std::process::ExitCode;

use clap::Parser;

use commands::{Command, Outcome};

/// Replays and draws what a Runwarden server did.
#[derive(Debug, Parser)]
#[command(name = "runwarden-sim", version)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

fn main() -> ExitCode {
    match commands::run(Arguments::parse().command) {
        Ok(Outcome::Held) => ExitCode::SUCCESS,
        Ok(Outcome::Violated) => ExitCode::from(1),
        Err(error) => {
            eprintln!("runwarden-sim: {error}");
            ExitCode::from(2)
        }
    }
}
