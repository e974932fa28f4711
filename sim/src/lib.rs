//! Deterministic simulation of Runwarden: race files, their replay, and diagrams.
//!
//! [`race`] is the file, [`machines`] what it may name, [`replay`] what it shows, [`draw`] its picture.
//! [`records`] reads traces.

pub mod draw;
pub mod machines;
pub mod race;
pub mod records;
pub mod replay;
pub mod scenarios;
