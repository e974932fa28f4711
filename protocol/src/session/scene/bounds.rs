use std::collections::VecDeque;

use super::state::{Content, SceneItem};
use crate::wire::limits;

/// Most items a scene holds; beyond it the oldest ones are dropped and counted.
pub const ITEMS_MAX: usize = 768;

/// Bytes of an item in JSON form beside its content, or with a marker in its place.
pub const ITEM_HEAD_BYTES: usize = 320;

/// Most bytes of all items in JSON form, which leaves 4,096 for the rest of a `stream_state`.
pub const SCENE_BYTES_MAX: usize = limits::STREAM_STATE_BYTES_MAX - 4_096;

// Even with every content left out, the items fit.
const _: () = assert!(ITEMS_MAX * ITEM_HEAD_BYTES <= SCENE_BYTES_MAX);

/// Leaves contents out, oldest item first, until all items together keep the bound. Takes and
/// returns what they need together.
///
/// Small contents are not spared: which ones are left out then depends only on what was said, not on
/// how it was cut into rows.
pub(super) fn leave_out(items: &mut VecDeque<SceneItem>, mut total: usize) -> usize {
    for item in items.iter_mut() {
        if total <= SCENE_BYTES_MAX {
            break;
        }
        total -= item.json_bytes;
        item.json_bytes = 0;
        item.content = Content::LeftOut { total_bytes: bytes_of(&item.content) };
    }
    total
}

/// Bytes of the content as it was said.
pub(super) const fn bytes_of(content: &Content) -> u64 {
    match content {
        Content::Text(text) | Content::Value(text) => text.len() as u64,
        Content::LeftOut { total_bytes } => *total_bytes,
    }
}
