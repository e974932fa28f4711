//! What is left of a violation: a race file, a page, and a text that says how to see it again.

use std::io;
use std::path::{Path, PathBuf};

use crate::draw::Scene;
use crate::race::{Expectation, Race};
use crate::replay::ReplayError;
use crate::scenarios::list;
use crate::setting::Setting;
use crate::shrink::shrink;

/// Where race files and pages of violations go unless somebody says otherwise.
pub const FOLDER: &str = "target/races";

/// A violation that was written down.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    /// The race file.
    pub file: PathBuf,
    /// The diagram in text, with the rule, the command that replays it and the path of the page.
    pub report: String,
}

/// Why a violation cannot be written down.
#[derive(Debug, thiserror::Error)]
pub enum KeepError {
    /// A file or folder cannot be written.
    #[error("{path} cannot be written: {source}")]
    Write {
        /// Which one.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The file cannot be replayed.
    #[error(transparent)]
    Replay(#[from] ReplayError),
}

/// Writes `race` and its page into `folder`, which is made if it is missing.
///
/// # Errors
/// [`KeepError`] when a file cannot be written.
pub fn keep(folder: &Path, race: &Race) -> Result<Kept, KeepError> {
    let file = folder.join(format!("{}.race", name(race)));
    let page = file.with_extension("html");
    std::fs::create_dir_all(folder)
        .map_err(|source| KeepError::Write { path: folder.to_owned(), source })?;
    write(&file, &race.to_string())?;
    write(&page, &Scene::of(race)?.html())?;
    let report = report(race, &file, Some(&page))?;
    Ok(Kept { file, report })
}

/// What a test says about a schedule that broke a rule: it is shrunk, written into `folder` and drawn.
pub fn message(folder: &Path, setting: Setting, labels: &[String]) -> String {
    let Some(shrunk) = shrink(setting, labels) else {
        return "the schedule breaks no rule when it is taken again".to_owned();
    };
    let race = shrunk.setting.race(0, &shrunk.labels());
    match keep(folder, &race) {
        Ok(kept) => format!("{}\n\n{}", shrunk.broken, kept.report),
        Err(error) => format!("{}; {error}", shrunk.broken),
    }
}

/// A text diagram with the rule, the command that replays it and the path of the page.
///
/// # Errors
/// [`ReplayError`] when the file cannot be replayed.
pub fn report(race: &Race, file: &Path, page: Option<&Path>) -> Result<String, ReplayError> {
    let mut text = Scene::of(race)?.text();
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

fn write(path: &Path, text: &str) -> Result<(), KeepError> {
    std::fs::write(path, text).map_err(|source| KeepError::Write { path: path.to_owned(), source })
}

/// `race-04-invocation-unchecked-inv-reg`, for instance.
fn name(race: &Race) -> String {
    let slug = race.scenario.as_str();
    let id = list().iter().find(|listed| listed.name == slug).map_or(slug, |listed| listed.id);
    let machines = race.variant.as_ref().map_or("real", |variant| variant.as_str());
    let rule = match &race.expect {
        Expectation::Ok => "ok",
        Expectation::Violation(id) => id.as_str(),
    };
    format!("{id}-{machines}-{rule}").to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_says_how_to_see_its_violation_again() {
        let folder = tempfile::tempdir().unwrap();
        let setting = Setting::find("RACE-04", Some("invocation-unchecked")).unwrap();
        let labels = [
            "worker-1 fault nothing(run_1)",
            "client-a send stop_run(run_1)",
            "worker-1 answer invocation_asked(run_1)",
        ];
        let text = message(folder.path(), setting, &labels.map(str::to_owned));
        let file = folder.path().join("race-04-invocation-unchecked-inv-reg.race");
        let replayed = format!("replay: runwarden-sim replay {}", file.display());
        for said in ["INV-REG broken", "!! INV-REG", "client-a", &replayed, ".html"] {
            assert!(text.contains(said), "{said}: {text}");
        }
        assert!(file.exists() && file.with_extension("html").exists());
        let real = Setting { variant: None, ..setting };
        assert!(
            message(folder.path(), real, &labels.map(str::to_owned)).contains("breaks no rule")
        );
        let unwritable = file.join("below-a-file");
        let text = message(&unwritable, setting, &labels.map(str::to_owned));
        assert!(text.contains("cannot be written"), "{text}");
    }
}
