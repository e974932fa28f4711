//! What the documents beside the rules say agrees with what it is about.

use std::collections::BTreeSet;

use runwarden_conformance::workspace::{Tree, root};

#[test]
fn the_limits_page_states_the_constants_of_the_rules() {
    let tree = project();
    let constants: BTreeSet<_> =
        name_and_value(page(&tree, "docs/spec/delivery/constants.md")).collect();
    let stated: Vec<_> = name_and_value(page(&tree, "docs/limits.md"))
        .filter(|(name, _)| *name != "Limit" && !name.starts_with('-'))
        .collect();
    assert!(stated.len() > 20, "the tables are read");
    for limit in stated {
        assert!(constants.contains(&limit), "docs/limits.md: {limit:?} is not what the rules say");
    }
}

#[test]
fn every_library_of_the_workspace_is_listed_with_its_reason() {
    let tree = project();
    let manifest: toml::Table = page(&tree, "Cargo.toml").parse().expect("Cargo.toml is TOML");
    let libraries = manifest["workspace"]["dependencies"].as_table().expect("a table");
    let table: Vec<_> = name_and_value(page(&tree, "CONTRIBUTING.md")).collect();
    for name in libraries.keys().filter(|name| !name.starts_with("runwarden")) {
        let is_listed = table.iter().any(|(names, reason)| {
            !reason.is_empty() && names.split([',', ' ']).any(|listed| listed == name)
        });
        assert!(is_listed, "CONTRIBUTING.md: say why {name} is used");
    }
}

#[test]
fn the_version_of_the_workspace_is_in_the_changelog() {
    let tree = project();
    let manifest: toml::Table = page(&tree, "Cargo.toml").parse().expect("Cargo.toml is TOML");
    let version = manifest["workspace"]["package"]["version"].as_str().expect("a string");
    assert!(page(&tree, "CHANGELOG.md").contains(&format!("\n## {version}")), "{version}");
}

#[test]
fn the_links_of_the_documents_lead_somewhere() {
    let tree = project();
    let pages = tree.matching("", ".md").filter(|file| {
        !file.path.starts_with("docs/spec/") && !file.path.split('/').any(|part| part == "vendor")
    });
    for file in pages {
        let folder =
            file.path.rsplit_once('/').map_or(String::new(), |(folder, _)| format!("{folder}/"));
        for link in file.text.split("](").skip(1).filter_map(|rest| rest.split([')', '#']).next()) {
            let is_outside = link.is_empty() || link.contains("://");
            let target = root().join(format!("{folder}{link}"));
            assert!(is_outside || target.exists(), "{} links to {link}", file.path);
        }
    }
}

fn project() -> Tree {
    Tree::read(&root()).expect("the project can be read")
}

fn page<'a>(tree: &'a Tree, path: &str) -> &'a str {
    tree.text(path).unwrap_or_else(|| panic!("{path} is there"))
}

/// The first two cells of each row of the tables of a page.
fn name_and_value(page: &str) -> impl Iterator<Item = (&str, &str)> {
    page.lines().filter_map(|line| {
        let mut cells = line.strip_prefix("| ")?.split(" | ");
        Some((cells.next()?, cells.next()?.trim_end_matches(" |")))
    })
}
