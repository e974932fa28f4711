//! The live content of one run, built from its rows: what `stream_state` shows and what the frame
//! of each row needs (L4, an observation of the journal).
//!
//! A row at or before the newest one changes nothing (INV-5). What a scene holds is bounded so that
//! its items fit one `stream_state`; item contents are left out oldest first and openly.

mod bounds;
mod state;

pub use bounds::{ITEM_HEAD_BYTES, ITEMS_MAX, SCENE_BYTES_MAX};
pub use state::{Applied, Content, Scene, SceneItem};

#[cfg(test)]
mod tests;
