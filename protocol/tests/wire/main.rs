//! The wire types of protocol 1 and the builder of errors, against the rules.
#![allow(clippy::unwrap_used, reason = "helpers of tests stop the test")]

mod actions;
mod errors;
mod frames;
mod samples;
mod tables;
