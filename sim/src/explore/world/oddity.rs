//! Odd states, made of a state that was reached.

use runwarden_protocol::journal::run_journal::JOURNAL_BYTES_MAX;
use runwarden_protocol::run::guards::Guards;
use serde_json::{Value, json};

use super::World;
use super::conditions::Oddity;

/// Bytes the journal lacks to its bound.
const MISSING_BYTES: u64 = 1 << 10;

impl<G: Guards> World<G> {
    /// This world with what is odd in it.
    ///
    /// # Panics
    /// When run 1 is not held.
    #[must_use]
    pub fn with_oddity(mut self) -> Self {
        let Some(oddity) = self.conditions.oddity else { return self };
        let mut state = serde_json::to_value(&self.lineage).expect("a machine has a JSON form");
        let run = &mut state["runs"][0];
        assert!(run.is_object(), "an oddity needs run 1");
        match oddity {
            Oddity::NoChannel => run["live"] = Value::Bool(false),
            Oddity::NearlyFullJournal => {
                run["journal"]["journal_bytes"] = json!(JOURNAL_BYTES_MAX - MISSING_BYTES);
            }
        }
        self.lineage = serde_json::from_value(state).expect("only values were changed");
        self
    }
}
