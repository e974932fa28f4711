//! `runwarden record export`: what the flight recorder has of a session as a race file; from the running server,
//! else from what `--record` wrote.

mod error;
mod live;
mod recorded;

use std::ffi::OsString;
use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use runwarden_protocol::ids::SessionId;

use crate::cli::{ExportArgs, ServeArgs};
use crate::config::{self, Settings};
use crate::startup;
use crate::state_dir;
use error::ExportError;

/// Exit code when the steps do not lead to where the machine is.
const EXIT_DIFFERS: u8 = 1;

/// Exports and says so by the exit code: 0 a file was written, 1 the recorded steps do not lead to the state of
/// the live machine, 2 the call or the environment is wrong.
pub fn run(args: &ExportArgs) -> ExitCode {
    match export(args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error @ ExportError::Differs(_)) => {
            startup::report(&error);
            ExitCode::from(EXIT_DIFFERS)
        }
        Err(error) => startup::report(&error),
    }
}

fn export(args: &ExportArgs) -> Result<(), ExportError> {
    let session_id: SessionId =
        args.session.parse().map_err(|_| ExportError::SessionId(args.session.clone()))?;
    let settings = settings(args)?;
    let race = match state_dir::address_of(&settings.state)? {
        Some(address) => live::fetch(&settings, address, args.token.as_deref(), session_id)?,
        None if state_dir::is_in_use(&settings.state)? => return Err(ExportError::Starting),
        None => recorded::read(&settings.state, session_id)?,
    };
    write(args.output.as_deref(), &race)
}

fn settings(args: &ExportArgs) -> Result<Settings, config::ConfigError> {
    let environment = |name: &str| -> Option<OsString> { std::env::var_os(name) };
    let (state, config) = (args.state.clone(), args.config.clone());
    config::examine(ServeArgs { state, config, ..ServeArgs::default() }, &environment)
}

fn write(target: Option<&Path>, race: &str) -> Result<(), ExportError> {
    let Some(path) = target else {
        let mut out = io::stdout().lock();
        return out
            .write_all(race.as_bytes())
            .and_then(|()| out.flush())
            .map_err(|source| ExportError::Write { path: "standard output".into(), source });
    };
    fs::write(path, race).map_err(|source| ExportError::Write { path: path.to_owned(), source })
}
