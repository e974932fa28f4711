//! The commands, one file each.

mod check;
mod list;

use std::io::{self, Write};
use std::path::PathBuf;

use clap::Subcommand;
use runwarden_conformance::claims::DeliveredError;
use runwarden_sim::records::RecordsError;

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// List the rules, the kinds of evidence they need, and how many are claimed by a test
    List {
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
    /// Audit a recorded trace: its form, its chain, and the invariants of its runs
    Check {
        /// The trace: one record in each line
        trace: PathBuf,
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
}

/// How a command ended that could be carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Everything held.
    Held,
    /// Something is broken.
    Violated,
}

/// Why a command could not be carried out.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CommandError {
    /// A file or folder cannot be read.
    #[error("{path} cannot be read: {source}")]
    Read { path: PathBuf, source: io::Error },
    /// A trace cannot be read on.
    #[error("{path}: {source}")]
    Trace { path: PathBuf, source: RecordsError },
    /// A trace shows nothing.
    #[error("{path} has no record: nothing can be judged")]
    Empty { path: PathBuf },
    /// The rules are not where the project was built.
    #[error("docs/spec is not in {path}: run this from a checkout of the project")]
    NoRules { path: PathBuf },
    /// The list of deliveries is wrong.
    #[error("docs/spec/delivered.toml: {0}")]
    Delivered(#[from] DeliveredError),
    /// A result cannot be written.
    #[error("standard output cannot be written: {0}")]
    Write(io::Error),
}

/// Carries out `command`.
pub(crate) fn run(command: Command) -> Result<Outcome, CommandError> {
    match command {
        Command::List { json } => list::run(json),
        Command::Check { trace, json } => check::run(&trace, json),
    }
}

fn print(text: &str) -> Result<(), CommandError> {
    let mut output = io::stdout().lock();
    match output.write_all(text.as_bytes()).and_then(|()| output.flush()) {
        // Whoever reads has seen enough.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        result => result.map_err(CommandError::Write),
    }
}
