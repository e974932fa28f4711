//! `draw FILE`: a sequence diagram of a race file.

use std::path::Path;

use super::{CommandError, Outcome, failure, print, read_race};

pub(super) fn run(file: &Path, output: Option<&Path>) -> Result<Outcome, CommandError> {
    let race = read_race(file)?;
    let scene = failure::scene(&race, file)?;
    let Some(path) = output else {
        print(&scene.text())?;
        return Ok(Outcome::Held);
    };
    let diagram = match path.extension().and_then(|extension| extension.to_str()) {
        Some("html" | "htm") => scene.html(),
        Some("svg") => scene.svg(),
        Some(_) | None => scene.text(),
    };
    failure::write(path, &diagram)?;
    Ok(Outcome::Held)
}
