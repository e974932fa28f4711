use serde::{Deserialize, Serialize};

use crate::ids::ItemId;
use crate::instant::{Duration, Instant};
use crate::journal::row::ItemKind;
use crate::wire::limits;

/// Time text is collected (TEXT_MERGE).
pub const TEXT_MERGE: Duration = Duration::from_millis(limits::TEXT_MERGE_MS);

/// Bytes a live frame may need around its text: ids, numbers and names.
pub const ENVELOPE_BYTES: usize = 512;

/// Most bytes of one row's text in JSON form, so that its frame keeps the entry limit.
pub const ROW_JSON_BYTES_MAX: usize = limits::DELTA_BYTES_MAX - ENVELOPE_BYTES;

/// Most bytes of one piece of text; a longer one is split by whoever reads the agent.
pub const PIECE_BYTES_MAX: usize = 65_536;

/// What happens to the text of a run.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Input {
    /// The agent said more.
    Text {
        /// The item.
        item_id: ItemId,
        /// Its kind, one of the text kinds.
        item_kind: ItemKind,
        /// The text, at most [`PIECE_BYTES_MAX`] bytes.
        text: String,
    },
    /// Another event follows, or the agent returned.
    Flush,
}

/// What the collected text becomes.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Output {
    /// Hand these rows to the journal, in order.
    Rows {
        /// The item.
        item_id: ItemId,
        /// Its kind.
        item_kind: ItemKind,
        /// The text of each row; none is empty.
        texts: Vec<String>,
    },
}

/// Text that waits to become a row. Weight: the bytes of the text it holds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "state")]
pub enum TextMerge {
    /// No text waits.
    #[default]
    Empty,
    /// Text of one item waits.
    Collecting(Collected),
}

/// The text that waits.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Collected {
    pub(super) item_id: ItemId,
    pub(super) item_kind: ItemKind,
    pub(super) text: String,
    pub(super) json_bytes: usize,
    /// When its oldest character has waited long enough.
    pub(super) due: Instant,
}

impl TextMerge {
    /// Nothing collected.
    pub const fn new() -> Self {
        Self::Empty
    }
}
