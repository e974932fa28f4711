//! The commands, one file each.

mod draw;
mod explore;
mod hunt;
mod list;
mod meta;
mod output;
mod replay;
mod run;
mod shrink;
mod woven;

use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use clap::Subcommand;
use runwarden_sim::explore::BudgetError;
use runwarden_sim::failure::KeepError;
use runwarden_sim::race::{FILE_BYTES_MAX, NameError, Problem, Race, RaceError};
use runwarden_sim::replay::ReplayError;
use runwarden_sim::setting::{Setting, SettingError};
use runwarden_sim::woven::WovenSetting;
use serde_json::Value;

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// List the scenarios this release can run
    List {
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
    /// Search every order of everything that can happen in a scenario's scope
    Explore(explore::Arguments),
    /// Run one schedule of a scenario, decided by its seed
    Run(run::Arguments),
    /// Run random schedules in wide scopes and shrink what they break
    Hunt(hunt::Arguments),
    /// Replay a race file and check what it expects
    Replay {
        /// The race file
        file: PathBuf,
        /// With the machines of this faulty variant, in place of those of the file
        #[arg(long)]
        variant: Option<String>,
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
    /// Find the shortest schedule that breaks what a race file breaks
    Shrink {
        /// The race file
        file: PathBuf,
        /// Where to write the shrunk race file
        #[arg(short, long)]
        output: PathBuf,
        /// With the machines of this faulty variant, in place of those of the file
        #[arg(long)]
        variant: Option<String>,
    },
    /// Run one schedule in two processes and compare their records
    Meta(meta::Arguments),
    /// Draw a race file as a sequence diagram
    Draw {
        /// The race file
        file: PathBuf,
        /// Where to write it: .html for a page, .svg for a picture, else plain text; without it, text on
        /// standard output
        #[arg(short, long)]
        output: Option<PathBuf>,
    },
}

/// A ring, as the command line names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum RingName {
    /// Pure machines and links
    Explore,
    /// The drivers in one process
    Weave,
    /// The drivers on several simulated hosts
    Turmoil,
}

impl RingName {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Explore => "explore",
            Self::Weave => "weave",
            Self::Turmoil => "turmoil",
        }
    }

    /// The ring `chosen`, else explore where it has the scenario and the variant, else weave.
    fn of(
        chosen: Option<Self>,
        scenario: &str,
        variant: Option<&str>,
    ) -> Result<Self, CommandError> {
        match chosen {
            Some(Self::Turmoil) => Err(CommandError::Ring("turmoil")),
            Some(ring @ (Self::Explore | Self::Weave)) => Ok(ring),
            None if Setting::find(scenario, variant).is_ok() => Ok(Self::Explore),
            None if WovenSetting::find(scenario, variant).is_ok() => Ok(Self::Weave),
            None => Ok(Self::Explore),
        }
    }
}

/// How a command ended that could be carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Everything held.
    Held,
    /// A violation was found, or not the one that was expected.
    Violated,
}

/// Why a command could not be carried out.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CommandError {
    /// A file cannot be read.
    #[error("{path} cannot be read: {source}")]
    Read { path: PathBuf, source: io::Error },
    /// A file is no race file.
    #[error("{path}: {source}")]
    Race { path: PathBuf, source: RaceError },
    /// A file cannot be replayed.
    #[error("{path}: {source}")]
    Replay { path: PathBuf, source: ReplayError },
    /// A violation cannot be written down.
    #[error(transparent)]
    Keep(#[from] KeepError),
    /// The file breaks no rule.
    #[error("{path} breaks no rule when it is replayed, so there is nothing to shrink")]
    NothingToShrink { path: PathBuf },
    /// There is no such scenario or variant.
    #[error(transparent)]
    Setting(#[from] SettingError),
    /// The ring is not in this release.
    #[error("this release runs schedules in rings `explore` and `weave`, not in `{0}`")]
    Ring(&'static str),
    /// The second process cannot be run.
    #[error("this program cannot be run a second time: {0}")]
    Process(io::Error),
    /// The variant has no name that a file can hold.
    #[error("--variant: {0}")]
    Variant(#[from] NameError),
    /// The scope is no scope.
    #[error("--scope: {0}")]
    Scope(Problem),
    /// The scope is too large.
    #[error("--scope: {0}")]
    Budget(BudgetError),
    /// A result cannot be written.
    #[error("{path} cannot be written: {source}")]
    Write { path: PathBuf, source: io::Error },
}

/// Carries out `command`.
pub(crate) fn run(command: Command) -> Result<Outcome, CommandError> {
    match command {
        Command::List { json } => list::run(json),
        Command::Explore(arguments) => explore::run(&arguments),
        Command::Run(arguments) => run::run(&arguments),
        Command::Hunt(arguments) => hunt::run(&arguments),
        Command::Shrink { file, output, variant } => {
            shrink::run(&file, variant.as_deref(), &output)
        }
        Command::Meta(arguments) => meta::run(&arguments),
        Command::Replay { file, variant, json } => replay::run(&file, variant.as_deref(), json),
        Command::Draw { file, output } => draw::run(&file, output.as_deref()),
    }
}

/// Reads a race file and gives it the machines of `variant`, if one is named.
fn read_varied(path: &Path, variant: Option<&str>) -> Result<Race, CommandError> {
    let mut race = read_race(path)?;
    if let Some(name) = variant {
        race.variant = Some(name.parse()?);
    }
    Ok(race)
}

fn read_race(path: &Path) -> Result<Race, CommandError> {
    let failed = |source| CommandError::Read { path: path.to_owned(), source };
    let file = std::fs::File::open(path).map_err(failed)?;
    let mut bytes = Vec::new();
    // One byte more than a file may have, so that the parser sees that it is too large.
    file.take(FILE_BYTES_MAX as u64 + 1).read_to_end(&mut bytes).map_err(failed)?;
    Race::parse(&bytes).map_err(|source| CommandError::Race { path: path.to_owned(), source })
}

fn print_json(object: &Value) -> Result<(), CommandError> {
    print(&format!("{object}\n"))
}

fn print(text: &str) -> Result<(), CommandError> {
    let mut output = io::stdout().lock();
    match output.write_all(text.as_bytes()).and_then(|()| output.flush()) {
        // Whoever reads has seen enough.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        result => {
            result.map_err(|source| CommandError::Write { path: "standard output".into(), source })
        }
    }
}
