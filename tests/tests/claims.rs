//! The rules of `docs/spec` against the claims of all tests of the project.

use runwarden_conformance::claims::{Catalogue, Delivered, check};
use runwarden_conformance::workspace::{Tree, root};

#[test]
fn delivered_rules_are_claimed_and_every_claim_is_right() {
    let tree = Tree::read(&root()).unwrap();
    let delivered =
        tree.text("docs/spec/delivered.toml").expect("docs/spec/delivered.toml is there");
    let delivered = Delivered::parse(delivered).unwrap();
    let report = check(&tree, &Catalogue::read(&tree), &delivered);
    println!("{report}");
    assert!(report.problems.is_empty(), "{} problems, see above", report.problems.len());
}
