//! `docs/spec/scenarios.toml`: the scenarios of the catalogues.

use serde::Deserialize;

use super::Id;

/// Rings a scenario may name.
const RINGS: [&str; 3] = ["explore", "weave", "turmoil"];

/// One row.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// Its id, RACE or FAULT.
    pub id: String,
    /// Its name on command lines.
    pub slug: String,
    /// Its heading in the catalogue.
    pub title: String,
    /// Ids of the rules it proves.
    pub rules: Vec<String>,
    /// The delivery it belongs to.
    pub issue: u32,
    /// Where it runs.
    pub rings: Vec<String>,
    /// Names of its faulty variants; empty until it is delivered.
    pub variants: Vec<String>,
}

/// Why `scenarios.toml` cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ScenarioError {
    /// It is not TOML, or a row has another shape.
    #[error("scenarios.toml: {0}")]
    Malformed(String),
    /// A row names an id that is none.
    #[error("scenarios.toml: {row}: {text:?} is no id")]
    Id {
        /// Id of the row.
        row: String,
        /// What stands there.
        text: String,
    },
    /// A row names no ring, or one that does not exist.
    #[error("scenarios.toml: {0}: rings are some of explore, weave and turmoil")]
    Rings(String),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    scenario: Vec<Scenario>,
}

/// Reads the rows of the file.
///
/// # Errors
/// [`ScenarioError`] naming the row.
pub fn scenarios(text: &str) -> Result<Vec<Scenario>, ScenarioError> {
    let file: File =
        toml::from_str(text).map_err(|error| ScenarioError::Malformed(error.to_string()))?;
    for row in &file.scenario {
        for text in std::iter::once(&row.id).chain(&row.rules) {
            if text.parse::<Id>().is_err() {
                return Err(ScenarioError::Id { row: row.id.clone(), text: text.clone() });
            }
        }
        if row.rings.is_empty() || row.rings.iter().any(|ring| !RINGS.contains(&ring.as_str())) {
            return Err(ScenarioError::Rings(row.id.clone()));
        }
    }
    Ok(file.scenario)
}
