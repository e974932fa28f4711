//! The JSON Schema of protocol 1, generated from the types (`docs/spec/schema.json`).

use schemars::generate::SchemaSettings;
use serde_json::{Value, json};

use super::close::Close;
use super::codes::Code;
use super::envelope::Received;
use super::frames::Frame;
use super::structures::ServerStatus;

/// The schema of every action, frame, structure, code and close of protocol 1, as a JSON document.
///
/// An action may leave out a nullable field; a frame carries all its fields (2.2).
pub fn schema() -> Value {
    let mut from_client = SchemaSettings::draft2020_12().for_deserialize().into_generator();
    let mut from_server = SchemaSettings::draft2020_12().for_serialize().into_generator();
    let properties = json!({
        "action": from_client.subschema_for::<Received>(),
        "frame": from_server.subschema_for::<Frame>(),
        "code": from_server.subschema_for::<Code>(),
        "close": from_server.subschema_for::<Close>(),
        "status": from_server.subschema_for::<ServerStatus>(),
    });
    let mut definitions = from_client.take_definitions(true);
    definitions.extend(from_server.take_definitions(true));
    let mut schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Runwarden protocol 1",
        "description": "Each property describes one kind of thing that goes over the wire.",
        "type": "object",
        "properties": properties,
        "$defs": definitions,
    });
    // The order does not depend on how the build represents a JSON object.
    schema.sort_all_objects();
    schema
}
