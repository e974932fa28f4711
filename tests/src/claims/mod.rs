//! Which rule is proved by which test.
//!
//! The rules and their kinds of evidence are read from `docs/spec`, the claims from the tests of the
//! workspace, and what is delivered from `docs/spec/delivered.toml`. `docs/spec/README.md` states what
//! counts as claimed.

mod catalogue;
mod check;
mod delivered;
mod evidence;
mod id;
mod scenario;
mod source;
#[cfg(test)]
mod tests;

pub use catalogue::{Catalogue, Rule};
pub use check::{Count, Problem, Report, check};
pub use delivered::{Delivered, DeliveredError, Range};
pub use evidence::Evidence;
pub use id::{Id, Key};
pub use scenario::{Scenario, ScenarioError, scenarios};
pub use source::{Claim, SourceClaims, claims_of};
