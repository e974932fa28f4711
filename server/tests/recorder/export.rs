//! The command `runwarden record export`, and what its file shows.

use std::path::Path;
use std::process::{Command, Output};

use runwarden_sim::machines::Registry;
use runwarden_sim::race::{Label, Race};
use runwarden_sim::replay::{Replayed, replay};
use serde_json::Value;

/// What a person or an agent said in these tests, and nothing else that a file holds.
pub(crate) const WORDS: &str = "quetzalcoatl";

/// An exported race file.
pub(crate) struct Exported {
    pub(crate) race: Race,
}

/// Runs the command.
pub(crate) fn export(state: &Path, session: &str, flags: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_runwarden"))
        .args(["record", "export", "--session", session, "--state"])
        .arg(state)
        .args(flags)
        .output()
        .unwrap()
}

impl Exported {
    /// Exports a session into a file, and reads it.
    #[track_caller]
    pub(crate) fn of(state: &Path, session: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("incident.race");
        let output = export(state, session, &["-o", path.to_str().unwrap()]);
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
        assert!(output.stdout.is_empty());
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(!text.contains(WORDS), "a body is in the file: {text}");
        let race = Race::parse(text.as_bytes()).unwrap();
        assert_eq!(race.to_string(), text);
        Self { race }
    }

    /// Kinds of the recorded inputs, in order.
    pub(crate) fn kinds(&self) -> Vec<&str> {
        self.inputs().map(|input| input["kind"].as_str().unwrap()).collect()
    }

    /// The recorded inputs.
    pub(crate) fn inputs(&self) -> impl Iterator<Item = &Value> {
        self.race.choices.iter().map(|choice| match &choice.label {
            Label::Input(input) => input,
            Label::Named { .. } => panic!("a flight recorder writes inputs"),
        })
    }

    /// The file replays to the digest of the live session and breaks nothing.
    #[track_caller]
    pub(crate) fn holds(&self) {
        let replayed = play(&self.race);
        assert_eq!(replayed.violation, None, "{}", self.race);
        assert!(replayed.is_met);
        assert_eq!(replayed.digest, self.race.digest, "{}", self.race);
    }

    /// With one guard changed the same file ends in a violation of this rule.
    #[track_caller]
    pub(crate) fn breaks(&self, variant: &str, rule: &str) {
        let mut race = self.race.clone();
        race.variant = Some(variant.parse().unwrap());
        let replayed = play(&race);
        let found = replayed.violation.as_ref().map(|violation| violation.invariant);
        assert_eq!(found, Some(rule), "{variant}: {:?}\n{}", replayed.violation, self.race);
        assert!(!replayed.is_met);
    }
}

fn play(race: &Race) -> Replayed {
    replay(race, &Registry::product(), |_| {}).unwrap_or_else(|error| panic!("{error}"))
}
