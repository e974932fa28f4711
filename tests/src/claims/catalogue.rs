//! What the rules say: every id and the evidence it asks for.

use std::collections::BTreeMap;

use super::{Evidence, Id};
use crate::workspace::Tree;

/// Folder of the rules.
const SPEC: &str = "docs/spec/";

/// A rule of run-state.md or delivery.md.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// Its id.
    pub id: Id,
    /// The kinds of evidence that prove it, together.
    pub evidence: Vec<Evidence>,
}

/// Every id of the rules.
#[derive(Clone, Debug, Default)]
pub struct Catalogue {
    /// Rules by id.
    pub rules: BTreeMap<Id, Rule>,
    /// Invariants, scenarios, acceptance entries and measurements, which have no tags of their own.
    pub others: BTreeMap<Id, String>,
    /// Ids that are defined twice, and rules without evidence.
    pub faults: Vec<String>,
}

impl Catalogue {
    /// Reads the pages of `docs/spec`.
    pub fn read(tree: &Tree) -> Self {
        let mut catalogue = Self::default();
        for file in tree.matching(SPEC, ".md") {
            for line in file.text.lines() {
                catalogue.read_line(line);
            }
        }
        catalogue
    }

    /// Whether `id` is a rule or one of the others.
    pub fn contains(&self, id: &Id) -> bool {
        self.rules.contains_key(id) || self.others.contains_key(id)
    }

    /// Whether `family` has a rule or another id.
    pub fn has_family(&self, family: &str) -> bool {
        self.rules.keys().chain(self.others.keys()).any(|id| id.family == family)
    }

    /// Numbers of `family`, lowest first.
    pub fn numbers(&self, family: &str) -> Vec<u32> {
        self.rules
            .keys()
            .chain(self.others.keys())
            .filter(|id| id.family == family)
            .filter_map(Id::number)
            .collect()
    }

    fn read_line(&mut self, line: &str) {
        if let Some(text) = line.strip_prefix("- **") {
            self.read_bold(text);
        } else if let Some(text) = line.strip_prefix("| ") {
            self.read_other(text, &["DI", "ACC", "MEAS"], " | ");
        } else if let Some(text) = line.strip_prefix('#') {
            let text = text.trim_start_matches('#').trim_start();
            self.read_other(text, &["RACE", "FAULT"], " ");
        }
    }

    fn read_bold(&mut self, text: &str) {
        let Some((id, rest)) = Id::split_from(text) else { return };
        if id.family == "INV" {
            let title = rest.trim_start().split("**").next().unwrap_or_default();
            self.add_other(id, title.trim_end_matches('.'));
        } else if let Some(body) = rest.strip_prefix("** ") {
            self.add_rule(id, body);
        }
    }

    fn read_other(&mut self, text: &str, families: &[&str], separator: &str) {
        let Some((id, rest)) = Id::split_from(text) else { return };
        if !families.contains(&id.family.as_str()) {
            return;
        }
        if let Some(title) = rest.strip_prefix(separator) {
            let title = title.strip_prefix("— ").unwrap_or(title);
            self.add_other(id, title.split(" | ").next().unwrap_or(title));
        }
    }

    fn add_rule(&mut self, id: Id, body: &str) {
        let evidence = body
            .trim_end()
            .strip_suffix(']')
            .and_then(|text| text.rsplit_once('['))
            .and_then(|(_, tags)| Evidence::list(tags));
        let Some(evidence) = evidence else {
            self.faults.push(format!("{id} names no kind of evidence"));
            return;
        };
        if self.rules.insert(id.clone(), Rule { id: id.clone(), evidence }).is_some() {
            self.faults.push(format!("{id} is defined twice"));
        }
    }

    fn add_other(&mut self, id: Id, title: &str) {
        if self.others.insert(id.clone(), title.trim().to_owned()).is_some() {
            self.faults.push(format!("{id} is defined twice"));
        }
    }
}
