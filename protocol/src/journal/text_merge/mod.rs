//! Text of one item on its way from the agent into rows (JRN-20, SES-47).
//!
//! Pieces of one item are collected for at most 30 ms and cut so that the live frame of each row
//! stays within the entry limit. Whatever else happens in the run is preceded by [`Input::Flush`],
//! so text never overtakes or follows a later event.

mod state;
mod transitions;

pub use state::{
    ENVELOPE_BYTES, Input, Output, PIECE_BYTES_MAX, ROW_JSON_BYTES_MAX, TEXT_MERGE, TextMerge,
};

#[cfg(test)]
mod tests;
