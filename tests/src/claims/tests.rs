//! The checker detects each fault it is there for. Sources of the small trees are one-line strings, so
//! that the claims in them are not taken for claims of this file.

use super::*;
use crate::workspace::{SourceFile, Tree};

const RULES: &str = "- **SND-1** One MUST hold. [unit, sim]\n\
                     - **SND-2** Two MUST hold. [explore]\n\
                     - **INV-REG** Nothing late.\n\
                     | DI-1 | bounded | always |\n\
                     ### RACE-01 A race\n";

#[test]
fn a_claim_of_each_kind_makes_a_delivered_rule_claimed() {
    let report = report(
        &[
            ("protocol/src/a.rs", "/// SND-1 [unit]: it holds.\n#[test]\nfn a() {}"),
            ("sim/tests/b.rs", "/// SND-01 [sim], DI-1 [sim]: holds too.\n#[test]\nfn b() {}"),
        ],
        "delivered = ['SND-1']",
    );
    assert_eq!(report.problems, []);
    assert_eq!(report.rules["SND"], Count { claimed: 1, total: 2 });
    assert_eq!(report.apart["DI"], Count { claimed: 1, total: 1 });
    assert_eq!(report.apart["INV"], Count { claimed: 0, total: 1 });
    assert_eq!(report.apart["RACE"], Count { claimed: 0, total: 1 });
}

#[test]
fn an_unclaimed_kind_of_a_delivered_rule_is_found() {
    let claims = [("protocol/src/a.rs", "/// SND-1 [unit]: it holds.\n#[test]\nfn a() {}")];
    let one = report(&claims, "delivered = ['SND-1']");
    assert_eq!(one.problems, [unclaimed(1, Evidence::Sim)]);
    let family = report(&claims, "delivered = ['SND']");
    assert_eq!(family.problems, [unclaimed(1, Evidence::Sim), unclaimed(2, Evidence::Explore)]);
    assert_eq!(report(&claims, "delivered = []").problems, []);
}

#[test]
fn an_unknown_id_is_found() {
    let report = report(
        &[("protocol/src/a.rs", "\n/// SND-3 [unit]: no such rule.\n#[test]\nfn a() {}")],
        "delivered = []",
    );
    let id = Id::numbered("SND", 3);
    assert_eq!(report.problems, [Problem::UnknownId { place: "protocol/src/a.rs:2".into(), id }]);
}

#[test]
fn a_kind_from_the_wrong_harness_is_found() {
    let report = report(
        &[("protocol/src/a.rs", "/// SND-2 [explore]: not explored.\n#[test]\nfn a() {}")],
        "delivered = []",
    );
    let (id, evidence) = (Id::numbered("SND", 2), Evidence::Explore);
    let place = "protocol/src/a.rs:1".into();
    assert_eq!(report.problems, [Problem::WrongHarness { place, id, evidence }]);
    assert_eq!(report.rules["SND"].claimed, 0);
}

#[test]
fn a_tag_the_rule_does_not_carry_is_found() {
    let report = report(
        &[("protocol/src/a.rs", "/// SND-2 [unit]: only once.\n#[test]\nfn a() {}")],
        "delivered = []",
    );
    let (id, evidence) = (Id::numbered("SND", 2), Evidence::Unit);
    let place = "protocol/src/a.rs:1".into();
    assert_eq!(report.problems, [Problem::WrongTag { place, id, evidence }]);
}

#[test]
fn a_claim_that_cannot_be_read_is_found() {
    for comment in ["SND-1: no kind", "SND-1 [fast]: no such kind", "SND-1 [unit] no colon"] {
        let source = format!("/// {comment}\n#[test]\nfn a() {{}}");
        let report = report(&[("protocol/src/a.rs", &source)], "delivered = []");
        assert!(matches!(report.problems[..], [Problem::Malformed { .. }]), "{comment}: {report}");
    }
}

#[test]
fn a_claim_above_something_else_than_a_test_is_found() {
    let report =
        report(&[("protocol/src/a.rs", "/// SND-1 [unit]: helper.\nfn a() {}")], "delivered = []");
    assert!(matches!(report.problems[..], [Problem::NotATest { .. }]), "{report}");
    assert_eq!(report.rules["SND"].claimed, 0);
}

#[test]
fn a_rule_defined_twice_or_without_evidence_is_found() {
    let spec = "- **SND-1** One MUST hold. [unit]\n- **SND-1** Again MUST hold. [unit]\n\
                - **SND-2** Two MUST hold.\n";
    let catalogue = Catalogue::read(&tree(&[("docs/spec/delivery/snd.md", spec)]));
    assert_eq!(catalogue.faults, ["SND-1 is defined twice", "SND-2 names no kind of evidence"]);
}

#[test]
fn a_delivered_range_that_names_no_rule_is_found() {
    let report = report(&[], "delivered = ['SND-1..3', 'ZZZ']");
    let unknown: Vec<_> = ["SND-3", "ZZZ"]
        .map(|name| Problem::UnknownDelivered(name.into()))
        .into_iter()
        .filter(|problem| report.problems.contains(problem))
        .collect();
    assert_eq!(unknown.len(), 2, "{report}");
}

#[test]
fn delivered_entries_are_families_numbers_or_ranges() {
    let delivered = Delivered::parse("delivered = ['SND', 'SES-2', 'SES-14..28']").unwrap();
    for (id, is_delivered) in
        [("SND-31", true), ("SES-2", true), ("SES-13", false), ("SES-14", true), ("SES-29", false)]
    {
        assert_eq!(delivered.contains(&id.parse().unwrap()), is_delivered, "{id}");
    }
    for wrong in ["'snd'", "'SES-3..2'", "'SES-2..'", "'SES 2'"] {
        let entry = Delivered::parse(&format!("delivered = [{wrong}]"));
        assert!(matches!(entry, Err(DeliveredError::Entry(_))), "{wrong}");
    }
    assert!(matches!(Delivered::parse("other = []"), Err(DeliveredError::Malformed(_))));
}

#[test]
fn the_place_of_a_file_decides_its_harness() {
    for (path, kinds) in [
        ("server/tests/stop.rs", &[Evidence::E2e][..]),
        ("server/tests/support/client.rs", &[Evidence::E2e]),
        ("server/tests/browser/stop.mjs", &[Evidence::Browser]),
        ("sim/src/explore/mod.rs", &[Evidence::Explore]),
        ("sim/tests/explore_stop.rs", &[Evidence::Explore]),
        ("sim/tests/weave.rs", &[Evidence::Sim]),
        ("benches/src/fanout.rs", &[Evidence::Bench]),
        ("server/src/page.rs", &[Evidence::Unit, Evidence::Property]),
        ("tests/tests/claims.rs", &[Evidence::Unit, Evidence::Property]),
    ] {
        assert_eq!(Evidence::of_path(path), kinds, "{path}");
    }
}

#[test]
fn claims_of_rust_tests_are_read_through_attributes_and_lines() {
    let text = "/// SND-1 [unit],\n/// SND-2 [unit, property]: long list.\n/// More text.\n\
                #[cfg_attr(\n    debug_assertions,\n    expect(unused)\n)]\n#[test]\nfn a() {}";
    let found = claims_of("protocol/src/a.rs", text);
    let ids: Vec<_> = found.claims.iter().map(|c| (c.id.to_string(), c.evidence)).collect();
    assert_eq!(
        ids,
        [
            ("SND-1".to_owned(), Evidence::Unit),
            ("SND-2".to_owned(), Evidence::Unit),
            ("SND-2".to_owned(), Evidence::Property),
        ]
    );
    let bench = claims_of("benches/a.rs", "/// SND-3 [bench]: x.\n#[divan::bench]\nfn a() {}");
    assert_eq!(bench.claims.len(), 1);
}

#[test]
fn claims_of_browser_tests_are_read_from_line_comments() {
    let text = "// UIX-3 [browser]: one card.\ntest('card', () => {});\n// plain words\n";
    let found = claims_of("server/tests/browser/a.mjs", text);
    assert_eq!(found.claims.len(), 1);
    assert_eq!(found.claims[0].id, "UIX-03".parse().unwrap());
}

#[test]
fn words_that_only_look_like_ids_are_no_claims() {
    let text = "/// UTF-8: kept as it is.\n#[test]\nfn a() {}\n/// SND is a family.\nfn b() {}";
    let report = report(&[("protocol/src/a.rs", text)], "delivered = []");
    assert_eq!(report.problems, []);
}

fn report(files: &[(&str, &str)], delivered: &str) -> Report {
    let mut all = vec![("docs/spec/delivery/snd.md", RULES)];
    all.extend(files);
    let tree = tree(&all);
    let catalogue = Catalogue::read(&tree);
    check(&tree, &catalogue, &Delivered::parse(delivered).unwrap())
}

fn tree(files: &[(&str, &str)]) -> Tree {
    Tree::from_files(
        files
            .iter()
            .map(|(path, text)| SourceFile { path: (*path).into(), text: (*text).into() })
            .collect(),
    )
}

fn unclaimed(number: u32, evidence: Evidence) -> Problem {
    Problem::Unclaimed { id: Id::numbered("SND", number), evidence }
}
