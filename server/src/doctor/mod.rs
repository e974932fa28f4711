//! `runwarden doctor`: looks at the state directory without changing it, asks the server that runs on it, and tries
//! each configured agent.

mod agents;
mod live;
mod report;
mod state;
mod text;

use std::ffi::OsString;
use std::io::{self, Write};
use std::process::ExitCode;

use crate::cli::{DoctorArgs, ServeArgs};
use crate::config::{self, Settings};
use crate::diagnostics::{self, LEVEL_VARIABLE};
use crate::startup;
use report::Report;

/// Exit code when something was found that wants doing.
const EXIT_FOUND: u8 = 1;

/// Looks, prints what was found, and says so by the exit code: 0 all is well, 1 something was found, 2 the
/// call or the environment is wrong.
pub fn run(args: &DoctorArgs) -> ExitCode {
    let settings = match settings(args) {
        Ok(settings) => settings,
        Err(error) => return startup::report(&error),
    };
    diagnostics::start_on_stderr(std::env::var(LEVEL_VARIABLE).ok().as_deref());
    let state = match state::examine(&settings.state) {
        Ok(state) => state,
        Err(error) => return startup::report(&error),
    };
    let address = state.lease.and_then(|lease| lease.address);
    let live = address.map(|address| live::examine(&settings, address, args.token.as_deref()));
    let agents = agents::examine(&settings.agents);
    let report = Report::new(state, live, agents);
    print(&report, args.json);
    if report.findings.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(EXIT_FOUND) }
}

fn settings(args: &DoctorArgs) -> Result<Settings, config::ConfigError> {
    let environment = |name: &str| -> Option<OsString> { std::env::var_os(name) };
    let (state, config) = (args.state.clone(), args.config.clone());
    config::examine(ServeArgs { state, config, ..ServeArgs::default() }, &environment)
}

fn print(report: &Report, as_json: bool) {
    let text = if as_json {
        let object = serde_json::to_string(report).expect("a report has string keys only");
        object + "\n"
    } else {
        text::of(report)
    };
    let mut out = io::stdout().lock();
    // A closed standard output is nothing to do anything about.
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}
