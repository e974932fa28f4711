//! The scenarios of all rings, each once.

use super::{ALL, Scenario, WOVEN, Woven};
use crate::race::Ring;

/// A scenario, with the rings that run it in this release.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// Its slug.
    pub name: &'static str,
    /// Its id in the catalogue.
    pub id: &'static str,
    /// Where it runs.
    pub rings: Vec<Ring>,
    /// Its faulty variants: those of ring explore, then those that ring weave alone has.
    pub variants: Vec<&'static str>,
}

/// All scenarios, by id.
pub fn list() -> Vec<Listed> {
    let mut listed: Vec<_> = ALL.iter().map(explored).collect();
    for woven in WOVEN {
        match listed.iter_mut().find(|known| known.id == woven.id) {
            Some(known) => known.add(woven),
            None => {
                let mut new =
                    Listed { name: woven.name, id: woven.id, rings: vec![], variants: vec![] };
                new.add(woven);
                listed.push(new);
            }
        }
    }
    // RACE before FAULT, as the catalogue has them.
    listed.sort_by_key(|scenario| (scenario.id.starts_with("FAULT"), scenario.id));
    listed
}

fn explored(scenario: &Scenario) -> Listed {
    Listed {
        name: scenario.name,
        id: scenario.id,
        rings: scenario.rings.to_vec(),
        variants: scenario.variants.iter().map(|variant| variant.name).collect(),
    }
}

impl Listed {
    fn add(&mut self, woven: &Woven) {
        if !self.rings.contains(&Ring::Weave) {
            self.rings.push(Ring::Weave);
        }
        for variant in woven.variants {
            if !self.variants.contains(&variant.name) {
                self.variants.push(variant.name);
            }
        }
    }
}
