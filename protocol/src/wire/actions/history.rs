//! Reading pages of history.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::fields::{FieldRefusal, Fields, ReadFields};

/// Reads a page of history.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "LoadHistoryFields", into = "LoadHistoryFields")]
#[schemars(with = "LoadHistoryFields")]
pub struct LoadHistory {
    /// Session concerned.
    pub session_id: String,
    /// Open generation of the client.
    pub generation: i64,
    /// Which page.
    pub selector: HistorySelector,
    /// Token of the captured order to read from.
    pub snapshot: Option<String>,
    /// Head to read; null = the current one.
    pub head_id: Option<String>,
}

/// Which page of history is wanted.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum HistorySelector {
    /// The newest one.
    Latest,
    /// The one before a cursor.
    Before(String),
    /// The one after a cursor.
    After(String),
    /// The one around a row.
    Around(String),
}

/// Not exactly one selector is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("send exactly one of latest (true), before, after and around")]
pub struct SelectorNotUnique {
    field: &'static str,
}

impl ReadFields for LoadHistory {
    fn read(fields: &Fields<'_>) -> Result<Self, FieldRefusal> {
        let wire = LoadHistoryFields {
            session_id: fields.id("session_id")?,
            generation: fields.integer("generation")?,
            latest: fields.optional_boolean("latest")?,
            before: fields.optional_cursor("before")?,
            after: fields.optional_cursor("after")?,
            around: fields.optional_id("around")?,
            snapshot: fields.optional_id("snapshot")?,
            head_id: fields.optional_id("head_id")?,
        };
        Self::try_from(wire).map_err(|error| FieldRefusal::outside(error.field))
    }
}

/// Reads a page of history; exactly one of `latest`, `before`, `after` and `around` is given.
#[derive(Clone, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "LoadHistory")]
struct LoadHistoryFields {
    /// Session concerned.
    session_id: String,
    /// Open generation of the client.
    generation: i64,
    /// True for the newest page.
    latest: Option<bool>,
    /// Cursor of the page after the wanted one.
    before: Option<String>,
    /// Cursor of the page before the wanted one.
    after: Option<String>,
    /// Row the page is wanted around.
    around: Option<String>,
    /// Token of the captured order to read from.
    snapshot: Option<String>,
    /// Head to read; null = the current one.
    head_id: Option<String>,
}

impl TryFrom<LoadHistoryFields> for LoadHistory {
    type Error = SelectorNotUnique;

    fn try_from(fields: LoadHistoryFields) -> Result<Self, SelectorNotUnique> {
        if fields.latest == Some(false) {
            return Err(SelectorNotUnique { field: "latest" });
        }
        let given = [
            fields.latest.map(|_| ("latest", HistorySelector::Latest)),
            fields.before.map(|cursor| ("before", HistorySelector::Before(cursor))),
            fields.after.map(|cursor| ("after", HistorySelector::After(cursor))),
            fields.around.map(|row| ("around", HistorySelector::Around(row))),
        ];
        let mut given = given.into_iter().flatten();
        let (_, selector) = given.next().ok_or(SelectorNotUnique { field: "latest" })?;
        if let Some((field, _)) = given.next() {
            return Err(SelectorNotUnique { field });
        }
        Ok(Self {
            session_id: fields.session_id,
            generation: fields.generation,
            selector,
            snapshot: fields.snapshot,
            head_id: fields.head_id,
        })
    }
}

impl From<LoadHistory> for LoadHistoryFields {
    fn from(load: LoadHistory) -> Self {
        let mut fields = Self {
            session_id: load.session_id,
            generation: load.generation,
            latest: None,
            before: None,
            after: None,
            around: None,
            snapshot: load.snapshot,
            head_id: load.head_id,
        };
        match load.selector {
            HistorySelector::Latest => fields.latest = Some(true),
            HistorySelector::Before(cursor) => fields.before = Some(cursor),
            HistorySelector::After(cursor) => fields.after = Some(cursor),
            HistorySelector::Around(row) => fields.around = Some(row),
        }
        fields
    }
}
