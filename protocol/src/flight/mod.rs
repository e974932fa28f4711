//! The flight recorder: what a machine took lately, from a state it was in, and how that leaves as a race
//! file (docs/spec/race.md).
//!
//! Recording costs a copy of each input: outputs are made again at the export, from the state that was kept,
//! and the machine must end where the live one is.

mod export;
mod recorder;
mod recording;

pub use export::{Flight, FlightError, end_digest};
pub use recorder::{FlightRecorder, Kept, Taken};
pub use recording::{RecordingError, began, flight_of};

/// Bytes of steps kept of a loaded session, where nothing else is configured.
pub const RECORD_BYTES_DEFAULT: usize = 262_144;

/// Most bytes of steps that may be kept of a session: what a race file has room for, with its state.
pub const RECORD_BYTES_MAX: usize = 1_048_576;
