//! The server's process.

use std::process::ExitCode;

fn main() -> ExitCode {
    match runwarden::startup::settings() {
        Ok(settings) => runwarden::app::run(&settings),
        Err(code) => code,
    }
}
