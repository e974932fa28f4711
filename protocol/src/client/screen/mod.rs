//! What a client shows of sessions and their runs, and what it asks for in the name of its user.
//!
//! The list of sessions is an observation: it was made when the server answered, and what the client learned since it
//! asked is newer (OBS-07). A Stop names the run of the session the user chose (STOP-19). A submit stays shown until
//! its own answer, and is asked again under its key behind a lost connection (ADM-13).

mod guards;
mod state;
#[cfg(test)]
mod tests;
mod transitions;

pub use guards::{Rules, ScreenGuards};
pub use state::{
    Input, Listed, Output, SESSIONS_SHOWN_MAX, SUBMITS_UNANSWERED_MAX, Screen, SubmitAnswer,
    SubmitKey,
};
