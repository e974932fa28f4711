//! The lineage machine: one session (and later its continuations) with everything that decides about
//! its runs. It only routes inputs to its sub-machines and translates what they put out.

mod agents;
mod asks;
mod changing;
mod deleting;
mod endings;
mod input;
mod layers;
mod queueing;
mod recovering;
mod remotes;
mod report;
mod reservation;
mod rotating;
mod state;
mod steering;
#[cfg(test)]
mod tests;
mod transitions;
mod translate;
mod view;
mod waking;

pub use asks::{
    ChangeAnswer, DeletionAnswer, KnownRun, Offered, QueueAnswer, Start, StartAnswer, SteerAnswer,
};
pub use input::Input;
pub use report::SeenRun;
pub use state::{Lineage, Output, RunLimits};
