//! `draw FILE`: a sequence diagram of a race file.

use std::path::Path;

use super::{CommandError, Outcome, output, print, read_race};

pub(super) fn run(file: &Path, target: Option<&Path>) -> Result<Outcome, CommandError> {
    let race = read_race(file)?;
    let scene = output::scene(&race, file)?;
    let Some(path) = target else {
        print(&scene.text())?;
        return Ok(Outcome::Held);
    };
    let diagram = match path.extension().and_then(|extension| extension.to_str()) {
        Some("html" | "htm") => scene.html(),
        Some("svg") => scene.svg(),
        Some(_) | None => scene.text(),
    };
    output::write(path, &diagram)?;
    Ok(Outcome::Held)
}
