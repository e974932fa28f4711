//! The comparison of rules, claims and deliveries.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use super::{Catalogue, Claim, Delivered, Evidence, Id, Rule, claims_of};
use crate::workspace::Tree;

/// How much of a family is claimed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// Ids whose every kind of evidence is claimed.
    pub claimed: usize,
    /// All ids.
    pub total: usize,
}

/// Something that must not be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// The rules contradict themselves.
    #[error("docs/spec: {0}")]
    Spec(String),
    /// A delivered range names something that is no rule.
    #[error("delivered.toml: {0} is no rule")]
    UnknownDelivered(String),
    /// A rule of a delivered range lacks a claim.
    #[error("{id} is delivered and has no claim of kind {evidence}")]
    Unclaimed {
        /// The rule.
        id: Id,
        /// The kind that is missing.
        evidence: Evidence,
    },
    /// A claim names something the rules do not have.
    #[error("{place}: {id} does not exist")]
    UnknownId {
        /// File and line.
        place: String,
        /// The id.
        id: Id,
    },
    /// A claim of a kind that this file cannot give.
    #[error("{place}: {id} is claimed as {evidence}, which this harness is not")]
    WrongHarness {
        /// File and line.
        place: String,
        /// The id.
        id: Id,
        /// The kind that was claimed.
        evidence: Evidence,
    },
    /// A claim of a kind that the rule does not ask for.
    #[error("{place}: {id} does not carry the tag {evidence}")]
    WrongTag {
        /// File and line.
        place: String,
        /// The id.
        id: Id,
        /// The kind that was claimed.
        evidence: Evidence,
    },
    /// A comment that begins like a claim and is none.
    #[error("{place}: write `ID [kind]: text`, not {text:?}")]
    Malformed {
        /// File and line.
        place: String,
        /// The comment.
        text: String,
    },
    /// A claim above something that is no test.
    #[error("{place}: a claim stands above something that is no test: {text:?}")]
    NotATest {
        /// File and line.
        place: String,
        /// The comment.
        text: String,
    },
}

/// The result of [`check`].
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Rules by family.
    pub rules: BTreeMap<String, Count>,
    /// Invariants, scenarios and the rest by family; one claim of any kind counts.
    pub apart: BTreeMap<String, Count>,
    /// What must not be, in the order it was found.
    pub problems: Vec<Problem>,
}

/// Compares the rules, the claims of all files of `tree`, and what is `delivered`.
pub fn check(tree: &Tree, catalogue: &Catalogue, delivered: &Delivered) -> Report {
    let mut checker = Checker { catalogue, claimed: BTreeSet::new(), report: Report::default() };
    checker.check_spec(delivered);
    for file in tree.files() {
        checker.check_file(&file.path, &file.text);
    }
    checker.check_delivered(delivered);
    checker.count();
    checker.report
}

struct Checker<'a> {
    catalogue: &'a Catalogue,
    claimed: BTreeSet<(Id, Evidence)>,
    report: Report,
}

impl Checker<'_> {
    fn check_spec(&mut self, delivered: &Delivered) {
        let problems = &mut self.report.problems;
        problems.extend(self.catalogue.faults.iter().cloned().map(Problem::Spec));
        problems
            .extend(delivered.unknown(self.catalogue).into_iter().map(Problem::UnknownDelivered));
    }

    fn check_file(&mut self, path: &str, text: &str) {
        let found = claims_of(path, text);
        for (line, text) in found.malformed {
            if self.is_known_family(&text) {
                self.report.problems.push(Problem::Malformed { place: place(path, line), text });
            }
        }
        for (line, text) in found.not_a_test {
            if self.is_known_family(&text) {
                self.report.problems.push(Problem::NotATest { place: place(path, line), text });
            }
        }
        for claim in found.claims {
            match self.fault_of(path, &claim) {
                Some(problem) => self.report.problems.push(problem),
                None => {
                    self.claimed.insert((claim.id, claim.evidence));
                }
            }
        }
    }

    fn fault_of(&self, path: &str, claim: &Claim) -> Option<Problem> {
        let place = place(path, claim.line);
        let id = claim.id.clone();
        let evidence = claim.evidence;
        if !self.catalogue.contains(&id) {
            return Some(Problem::UnknownId { place, id });
        }
        if !Evidence::of_path(path).contains(&evidence) {
            return Some(Problem::WrongHarness { place, id, evidence });
        }
        let rule = self.catalogue.rules.get(&id);
        if rule.is_some_and(|rule| !rule.evidence.contains(&evidence)) {
            return Some(Problem::WrongTag { place, id, evidence });
        }
        None
    }

    fn check_delivered(&mut self, delivered: &Delivered) {
        for rule in self.catalogue.rules.values().filter(|rule| delivered.contains(&rule.id)) {
            for evidence in self.missing(rule) {
                self.report.problems.push(Problem::Unclaimed { id: rule.id.clone(), evidence });
            }
        }
    }

    fn count(&mut self) {
        for rule in self.catalogue.rules.values() {
            let is_claimed = self.missing(rule).is_empty();
            self.report.rules.entry(rule.id.family.clone()).or_default().add(is_claimed);
        }
        for id in self.catalogue.others.keys() {
            let is_claimed = self.claimed.iter().any(|(claimed, _)| claimed == id);
            self.report.apart.entry(id.family.clone()).or_default().add(is_claimed);
        }
    }

    fn missing(&self, rule: &Rule) -> Vec<Evidence> {
        rule.evidence
            .iter()
            .copied()
            .filter(|evidence| !self.claimed.contains(&(rule.id.clone(), *evidence)))
            .collect()
    }

    fn is_known_family(&self, comment: &str) -> bool {
        Id::split_from(comment).is_some_and(|(id, _)| self.catalogue.has_family(&id.family))
    }
}

impl Count {
    fn add(&mut self, is_claimed: bool) {
        self.total += 1;
        self.claimed += usize::from(is_claimed);
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (title, counts) in [("rules", &self.rules), ("apart", &self.apart)] {
            let claimed: usize = counts.values().map(|count| count.claimed).sum();
            let total: usize = counts.values().map(|count| count.total).sum();
            writeln!(f, "{title}: {claimed}/{total} claimed")?;
            for (family, count) in counts {
                writeln!(f, "  {family:<6}{:>4}/{}", count.claimed, count.total)?;
            }
        }
        self.problems.iter().try_for_each(|problem| writeln!(f, "problem: {problem}"))
    }
}

fn place(path: &str, line: usize) -> String {
    format!("{path}:{line}")
}
