//! What the end-to-end tests share.

pub(crate) mod client;
pub(crate) mod process;
pub(crate) mod seeded;
pub(crate) mod stored;
pub(crate) mod tools;
