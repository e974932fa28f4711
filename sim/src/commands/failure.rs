//! What is left of a violation: a race file, a page, and a text that says how to see it again.

use std::path::{Path, PathBuf};

use runwarden_sim::draw::Scene;
use runwarden_sim::race::{Expectation, Race};

use super::CommandError;

/// Where race files and pages of violations go unless somebody says otherwise.
pub(super) const FOLDER: &str = "target/races";

/// Writes `race` and its page into `folder` and returns the path of the file and the report.
pub(super) fn keep(
    folder: &Path,
    id: &str,
    race: &Race,
) -> Result<(PathBuf, String), CommandError> {
    let file = folder.join(format!("{}.race", name(id, race)));
    let page = file.with_extension("html");
    std::fs::create_dir_all(folder)
        .map_err(|source| CommandError::Write { path: folder.to_owned(), source })?;
    write(&file, &race.to_string())?;
    let scene = scene(race, &file)?;
    write(&page, &scene.html())?;
    let report = report(race, &file, Some(&page))?;
    Ok((file, report))
}

/// A text diagram with the rule, the command that replays it and the path of the page.
pub(super) fn report(
    race: &Race,
    file: &Path,
    page: Option<&Path>,
) -> Result<String, CommandError> {
    let mut text = scene(race, file)?.text();
    text.push_str(&format!("  replay: runwarden-sim replay {}\n", file.display()));
    match page {
        Some(page) => text.push_str(&format!("  page:   {}\n", page.display())),
        None => text.push_str(&format!(
            "  page:   runwarden-sim draw {} -o {}\n",
            file.display(),
            file.with_extension("html").display()
        )),
    }
    Ok(text)
}

pub(super) fn scene(race: &Race, file: &Path) -> Result<Scene, CommandError> {
    Scene::of(race).map_err(|source| CommandError::Replay { path: file.to_owned(), source })
}

pub(super) fn write(path: &Path, text: &str) -> Result<(), CommandError> {
    std::fs::write(path, text)
        .map_err(|source| CommandError::Write { path: path.to_owned(), source })
}

/// `race-04-invocation-unchecked-inv-reg`, for instance.
fn name(id: &str, race: &Race) -> String {
    let machines = race.variant.as_ref().map_or("real", |variant| variant.as_str());
    let rule = match &race.expect {
        Expectation::Ok => "ok",
        Expectation::Violation(id) => id.as_str(),
    };
    format!("{id}-{machines}-{rule}").to_lowercase()
}
