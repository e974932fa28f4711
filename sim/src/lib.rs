//! Deterministic simulation of Runwarden: race files, their replay, and diagrams.
//!
//! [`explore`] searches [`scenarios`] in every order of what can happen, with the real machines and with
//! faulty ones, [`hunt`] takes random schedules of larger scopes, and [`shrink`] finds the shortest one that breaks
//! a rule; [`failure`] is what is left of it. [`race`] is the file (of the protocol crate, since the server writes it too), [`machines`] what it may name, [`replay`] what it shows, [`draw`] its picture.
//! [`records`] reads traces. [`weave`] runs the drivers of the server under a seed, [`woven`] is what
//! can be done with its schedules.

pub mod draw;
pub mod explore;
pub mod failure;
pub mod hunt;
pub mod machines;
pub mod random;
pub mod records;
pub mod replay;
pub mod scenarios;
pub mod schedule;
pub mod setting;
pub mod shrink;
mod variants;
pub mod weave;
pub mod woven;

pub use runwarden_protocol::race;
