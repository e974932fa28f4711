//! Actions on sessions as a whole.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::fields::{FieldRefusal, Fields, ReadFields};

/// Lists sessions.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct ListSessions {
    /// Text to look for, at most 256 characters.
    pub query: Option<String>,
    /// Only archived, or only others; null = both.
    pub archived: Option<bool>,
    /// Where to go on, from an earlier answer.
    pub cursor: Option<String>,
    /// Entries wanted, 1 to 100; null = 100.
    pub limit: Option<i64>,
}

impl ReadFields for ListSessions {
    fn read(fields: &Fields<'_>) -> Result<Self, FieldRefusal> {
        Ok(Self {
            query: fields.optional_title("query")?,
            archived: fields.optional_boolean("archived")?,
            cursor: fields.optional_cursor("cursor")?,
            limit: fields.optional_list_limit("limit")?,
        })
    }
}

/// Makes a session.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct CreateSession {
    /// Title, at most 256 characters.
    pub title: Option<String>,
    /// Name of the agent; null = the default.
    pub agent: Option<String>,
    /// Name of the model; null = the agent's default.
    pub model: Option<String>,
    /// Names one intended effect (1 to 128 characters).
    pub idempotency_key: Option<String>,
}

impl ReadFields for CreateSession {
    fn read(fields: &Fields<'_>) -> Result<Self, FieldRefusal> {
        Ok(Self {
            title: fields.optional_title("title")?,
            agent: fields.optional_id("agent")?,
            model: fields.optional_id("model")?,
            idempotency_key: fields.optional_key("idempotency_key")?,
        })
    }
}

/// Changes a session; a null changes nothing.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct UpdateSession {
    /// Session concerned.
    pub session_id: String,
    /// Title, at most 256 characters.
    pub title: Option<String>,
    /// Whether the session is archived.
    pub archived: Option<bool>,
    /// Name of the agent.
    pub agent: Option<String>,
    /// Name of the model.
    pub model: Option<String>,
    /// Whether other principals may read the session.
    pub shared: Option<bool>,
    /// Names one intended effect (1 to 128 characters).
    pub idempotency_key: Option<String>,
}

impl ReadFields for UpdateSession {
    fn read(fields: &Fields<'_>) -> Result<Self, FieldRefusal> {
        Ok(Self {
            session_id: fields.id("session_id")?,
            title: fields.optional_title("title")?,
            archived: fields.optional_boolean("archived")?,
            agent: fields.optional_id("agent")?,
            model: fields.optional_id("model")?,
            shared: fields.optional_boolean("shared")?,
            idempotency_key: fields.optional_key("idempotency_key")?,
        })
    }
}

/// Deletes a session.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct DeleteSession {
    /// Session concerned.
    pub session_id: String,
    /// Names one intended effect (1 to 128 characters).
    pub idempotency_key: Option<String>,
}

impl ReadFields for DeleteSession {
    fn read(fields: &Fields<'_>) -> Result<Self, FieldRefusal> {
        Ok(Self {
            session_id: fields.id("session_id")?,
            idempotency_key: fields.optional_key("idempotency_key")?,
        })
    }
}

/// Ends the subscription to a session.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct CloseSession {
    /// Session concerned.
    pub session_id: String,
}

impl ReadFields for CloseSession {
    fn read(fields: &Fields<'_>) -> Result<Self, FieldRefusal> {
        Ok(Self { session_id: fields.id("session_id")? })
    }
}

/// Lists the branches of a session.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct ListBranches {
    /// Session concerned.
    pub session_id: String,
}

impl ReadFields for ListBranches {
    fn read(fields: &Fields<'_>) -> Result<Self, FieldRefusal> {
        Ok(Self { session_id: fields.id("session_id")? })
    }
}

/// Moves the head of a session.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct SetHead {
    /// Session concerned.
    pub session_id: String,
    /// Row to end in.
    pub head_id: String,
    /// Head the client saw.
    pub expected_head_id: Option<String>,
    /// Names one intended effect (1 to 128 characters).
    pub idempotency_key: Option<String>,
}

impl ReadFields for SetHead {
    fn read(fields: &Fields<'_>) -> Result<Self, FieldRefusal> {
        Ok(Self {
            session_id: fields.id("session_id")?,
            head_id: fields.id("head_id")?,
            expected_head_id: fields.optional_id("expected_head_id")?,
            idempotency_key: fields.optional_key("idempotency_key")?,
        })
    }
}
