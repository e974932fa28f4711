//! The server's process.

use std::process::ExitCode;

fn main() -> ExitCode {
    match runwarden::startup::settings() {
        Ok(_settings) => ExitCode::SUCCESS,
        Err(code) => code,
    }
}
