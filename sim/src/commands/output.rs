//! Writing files, and what they hold.

use std::path::Path;

use runwarden_sim::draw::Scene;
use runwarden_sim::race::Race;

use super::CommandError;

pub(super) fn scene(race: &Race, file: &Path) -> Result<Scene, CommandError> {
    Scene::of(race).map_err(|source| CommandError::Replay { path: file.to_owned(), source })
}

pub(super) fn write(path: &Path, text: &str) -> Result<(), CommandError> {
    std::fs::write(path, text)
        .map_err(|source| CommandError::Write { path: path.to_owned(), source })
}
