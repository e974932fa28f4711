//! Opening a session, with or without what the client already has.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::fields::{FieldRefusal, Fields, ReadFields};

/// Subscribes to a session.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "OpenSessionFields", into = "OpenSessionFields")]
#[schemars(with = "OpenSessionFields")]
pub struct OpenSession {
    /// Session concerned.
    pub session_id: String,
    /// Open generation of the client.
    pub generation: i64,
    /// What the client has from before.
    pub known: Option<KnownState>,
}

/// What a client has of a session from before.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct KnownState {
    /// Identity of the store it came from.
    pub store_id: String,
    /// Revision of the session.
    pub session_revision: i64,
    /// Newest seq of each entity, at most 64 entries.
    pub stream_seqs: BTreeMap<String, i64>,
    /// Version of the projections.
    pub schema_version: i64,
}

/// Some known values are null and some are not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("send all four known values or none of them")]
pub struct KnownValuesIncomplete;

impl ReadFields for OpenSession {
    fn read(fields: &Fields<'_>) -> Result<Self, FieldRefusal> {
        let wire = OpenSessionFields {
            session_id: fields.id("session_id")?,
            generation: fields.integer("generation")?,
            known_store_id: fields.optional_id("known_store_id")?,
            known_session_revision: fields.optional_integer("known_session_revision")?,
            known_stream_seqs: fields.optional_known_seqs("known_stream_seqs")?,
            known_schema_version: fields.optional_integer("known_schema_version")?,
        };
        let missing = wire.missing();
        Self::try_from(wire).map_err(|_| FieldRefusal::outside(missing))
    }
}

/// Subscribes to a session; the four known values are all null or none is.
#[derive(Clone, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "OpenSession")]
struct OpenSessionFields {
    /// Session concerned.
    session_id: String,
    /// Open generation of the client.
    generation: i64,
    /// Identity of the store the known values came from.
    known_store_id: Option<String>,
    /// Revision of the session the client has.
    known_session_revision: Option<i64>,
    /// Newest seq of each entity the client has, at most 64 entries.
    known_stream_seqs: Option<BTreeMap<String, i64>>,
    /// Version of the projections the client has.
    known_schema_version: Option<i64>,
}

impl OpenSessionFields {
    /// Name of the first known value that is null.
    fn missing(&self) -> &'static str {
        if self.known_store_id.is_none() {
            "known_store_id"
        } else if self.known_session_revision.is_none() {
            "known_session_revision"
        } else if self.known_stream_seqs.is_none() {
            "known_stream_seqs"
        } else {
            "known_schema_version"
        }
    }
}

impl TryFrom<OpenSessionFields> for OpenSession {
    type Error = KnownValuesIncomplete;

    fn try_from(fields: OpenSessionFields) -> Result<Self, KnownValuesIncomplete> {
        let known = match (
            fields.known_store_id,
            fields.known_session_revision,
            fields.known_stream_seqs,
            fields.known_schema_version,
        ) {
            (None, None, None, None) => None,
            (Some(store_id), Some(session_revision), Some(stream_seqs), Some(schema_version)) => {
                Some(KnownState { store_id, session_revision, stream_seqs, schema_version })
            }
            _ => return Err(KnownValuesIncomplete),
        };
        Ok(Self { session_id: fields.session_id, generation: fields.generation, known })
    }
}

impl From<OpenSession> for OpenSessionFields {
    fn from(open: OpenSession) -> Self {
        let mut fields = Self {
            session_id: open.session_id,
            generation: open.generation,
            known_store_id: None,
            known_session_revision: None,
            known_stream_seqs: None,
            known_schema_version: None,
        };
        if let Some(known) = open.known {
            fields.known_store_id = Some(known.store_id);
            fields.known_session_revision = Some(known.session_revision);
            fields.known_stream_seqs = Some(known.stream_seqs);
            fields.known_schema_version = Some(known.schema_version);
        }
        fields
    }
}
