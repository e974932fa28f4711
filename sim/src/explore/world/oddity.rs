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
    /// When what it is made of is not there: run 1, or a wakeup.
    #[must_use]
    pub fn with_oddity(mut self) -> Self {
        let Some(oddity) = self.conditions.oddity else { return self };
        let mut state = serde_json::to_value(&self.lineage).expect("a machine has a JSON form");
        match oddity {
            Oddity::NoChannel => run_of(&mut state)["live"] = Value::Bool(false),
            Oddity::NearlyFullJournal => {
                let bytes = JOURNAL_BYTES_MAX - MISSING_BYTES;
                run_of(&mut state)["journal"]["journal_bytes"] = json!(bytes);
            }
            Oddity::TwoTurnsFailed => {
                state["wakeups"]["failures"] = json!(2);
                self.fail_wakeup_turns(2);
            }
        }
        self.lineage = serde_json::from_value(state).expect("only values were changed");
        self
    }
}

fn run_of(state: &mut Value) -> &mut Value {
    let run = &mut state["runs"][0];
    assert!(run.is_object(), "this oddity needs run 1");
    run
}
