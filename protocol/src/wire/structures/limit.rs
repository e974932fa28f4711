//! The limit that refused something.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A named limit of the specification and its value (RATE-6).
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct Limit {
    /// Its name in the table of constants.
    pub name: String,
    /// Largest value allowed.
    pub max: i64,
}
