//! The scenarios that this release can run.

use crate::race::Ring;

/// A scenario of `docs/spec/scenarios.toml` that can be run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scenario {
    /// Its slug.
    pub name: &'static str,
    /// Its id in the catalogue.
    pub id: &'static str,
    /// Where it runs.
    pub rings: &'static [Ring],
    /// Its faulty variants.
    pub variants: &'static [&'static str],
}

/// All scenarios, in the order of the catalogue. None runs in this release.
pub const ALL: &[Scenario] = &[];
