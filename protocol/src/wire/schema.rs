//! The JSON Schema of protocol 1, generated from the types (`docs/spec/schema.json`).

use schemars::JsonSchema;
use serde::Serialize;

use super::actions::Action;
use super::close::Close;
use super::codes::Code;
use super::frames::Frame;

/// The schema of every action, frame, structure, code and close of protocol 1, as a JSON document.
pub fn schema() -> serde_json::Value {
    schemars::schema_for!(Protocol).to_value()
}

/// Everything that may go over the wire in protocol 1.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "Runwarden protocol 1")]
struct Protocol {
    /// A message from client to server, beside its nullable `request_id`.
    action: Action,
    /// A message from server to client.
    frame: Frame,
    /// A registered code.
    code: Code,
    /// A close of a connection.
    close: Close,
}
