//! What surrounds every action and frame (2.2).

use schemars::JsonSchema;
use serde::Serialize;

use super::actions::Action;
use super::limits::ECHO_CHARS_MAX;

/// A JSON object whose content this protocol does not interpret.
pub type JsonObject = serde_json::Map<String, serde_json::Value>;

/// An action with the id its reply will carry.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, JsonSchema)]
pub struct Received {
    /// Correlates the reply; null where the action has none.
    pub request_id: Option<String>,
    /// What is wanted.
    #[serde(flatten)]
    pub action: Action,
}

impl Received {
    /// The action as a client sends it.
    pub fn to_text(&self) -> String {
        serde_json::to_string(self).expect("every action has string keys and no fallible value")
    }
}

/// Whether a text is a safe id: 1 to 128 characters, none of Unicode category Cc (2.2, ENV-6).
pub fn is_safe(text: &str) -> bool {
    let chars = text.chars().take(ECHO_CHARS_MAX + 1).count();
    (1..=ECHO_CHARS_MAX).contains(&chars) && !text.chars().any(char::is_control)
}

/// The text as it may be echoed: itself when safe, else none (ENV-6).
pub fn echo(text: Option<&str>) -> Option<String> {
    text.filter(|text| is_safe(text)).map(str::to_owned)
}
