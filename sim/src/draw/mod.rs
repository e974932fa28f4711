//! Sequence diagrams of races: as text for a terminal, as a picture, and as a page that needs nothing else.

mod caption;
mod html;
mod peers;
mod scene;
mod svg;
#[cfg(test)]
mod tests;
mod text;

pub use scene::Scene;
pub use text::{COLUMN_CHARS, DETAIL_CHARS_MAX};
