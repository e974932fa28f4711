//! Conformance suite of Runwarden, and the checks of the project on itself.
//!
//! [`claims`] compares the rules of `docs/spec` with the tests that claim them; [`workspace`] reads
//! the files of the project.

pub mod claims;
pub mod workspace;
