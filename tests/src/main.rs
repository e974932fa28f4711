//! The command line `runwarden-conform`. Exit codes: 0 held, 1 a violation was found, 2 the call or a file
//! was wrong.

mod commands;

use std::process::ExitCode;

use clap::Parser;

use commands::{Command, Outcome};

/// Judges implementations of the Runwarden protocol.
#[derive(Debug, Parser)]
#[command(name = "runwarden-conform", version)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

fn main() -> ExitCode {
    match commands::run(Arguments::parse().command) {
        Ok(Outcome::Held) => ExitCode::SUCCESS,
        Ok(Outcome::Violated) => ExitCode::from(1),
        Err(error) => {
            eprintln!("runwarden-conform: {error}");
            ExitCode::from(2)
        }
    }
}
