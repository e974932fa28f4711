//! Protocol 1: what client and server say to each other (delivery specification, section 2).

pub mod actions;
pub mod classes;
pub mod close;
pub mod codes;
pub mod envelope;
pub mod frames;
pub mod limits;
pub mod refusal;
pub mod schema;
pub mod structures;

pub use actions::{Action, ActionName, ParseRefusal, parse, parse_any};
pub use classes::{Class, Key};
pub use close::Close;
pub use codes::Code;
pub use envelope::{JsonObject, Received, echo, is_safe};
pub use frames::{Frame, FrameType};
pub use refusal::Refusal;
