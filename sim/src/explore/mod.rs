//! Ring explore: every order of everything that can happen to one session, breadth first.
//!
//! A [`World`] is the production machine of a session between model ports. Its effects become port
//! calls and the answers become facts by the two functions of [`runwarden_runtime::dispatch`] that the
//! drivers use. A [`Choice`] is one thing that may happen next; [`search`] takes every one in every
//! state and asks the checkers after each. [`Play`] is a world for whoever follows one schedule.

mod budget;
mod fingerprint;
mod play;
mod search;
mod world;

pub use budget::{Budget, BudgetError, COUNT_MAX};
pub use play::{NotTaken, Play, Recording};
pub use search::{Found, Limits, STATES_MAX, ScheduledStep, search};
pub use world::{Broken, Choice, Conditions, Fault, Oddity, ScreenChoice, World};
