//! Steers on their way to the store.

use runwarden_protocol::journal::row::{RowEvent, SteerFate};
use runwarden_protocol::run::steer::SettledSteer;
use serde_json::Value;

/// A steer that a settlement settles, with its words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SteerEnd {
    /// The steer and its fate.
    pub steer: SettledSteer,
    /// Its words.
    pub text: String,
}

impl SteerEnd {
    /// Event and body of its row. One that is given back is stored with its words (STR-07).
    pub fn row(&self) -> (RowEvent, String) {
        let SettledSteer { steer_id, fate } = self.steer;
        let words = match fate {
            SteerFate::Consumed => Value::Null,
            SteerFate::Returned => Value::from(self.text.as_str()),
        };
        (RowEvent::SteerSettled { steer_id, fate }, words.to_string())
    }
}
