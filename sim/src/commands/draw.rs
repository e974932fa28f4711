//! `draw FILE`: a sequence diagram of a race file.

use std::path::Path;

use runwarden_sim::draw;
use runwarden_sim::machines::Registry;
use runwarden_sim::replay::replay;

use super::{CommandError, Outcome, print, read_race};

pub(super) fn run(file: &Path, output: Option<&Path>) -> Result<Outcome, CommandError> {
    let race = read_race(file)?;
    let mut records = Vec::with_capacity(race.choices.len());
    replay(&race, &Registry::product(), |record| records.push(record.clone()))
        .map_err(|source| CommandError::Replay { path: file.to_owned(), source })?;
    let diagram = draw::text(&records);
    match output {
        Some(path) => std::fs::write(path, diagram)
            .map_err(|source| CommandError::Write { path: path.to_owned(), source })?,
        None => print(&diagram)?,
    }
    Ok(Outcome::Held)
}
