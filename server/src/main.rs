//! The server's process.

use std::process::ExitCode;

use runwarden::cli::Command;
use runwarden::{app, doctor, export, startup};

fn main() -> ExitCode {
    match startup::command() {
        Ok(Command::Serve(args)) => match startup::settings(args) {
            Ok(settings) => app::run(&settings),
            Err(code) => code,
        },
        Ok(Command::Doctor(args)) => doctor::run(&args),
        Ok(Command::ExportRecord(args)) => export::run(&args),
        Err(code) => code,
    }
}
