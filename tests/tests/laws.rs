//! Every machine is held to the laws of `protocol::laws`.

use runwarden_conformance::workspace::{Tree, root};

#[test]
fn each_machine_has_a_test_that_runs_the_laws_over_it() {
    let tree = Tree::read(&root()).unwrap();
    let folder = |path: &str| path.rsplit_once('/').map_or("", |(folder, _)| folder).to_owned();
    let mut machines = 0;
    for file in tree.matching("protocol/src/", ".rs") {
        if !file.text.lines().any(is_machine) || file.path == "protocol/src/laws.rs" {
            continue;
        }
        machines += 1;
        let folder = folder(&file.path);
        let has_laws = tree.matching(&folder, ".rs").any(|file| file.text.contains("laws("));
        assert!(has_laws, "{}: no test of {folder} calls `laws`", file.path);
    }
    assert!(machines >= 6, "the machines are found: {machines}");
}

fn is_machine(line: &str) -> bool {
    line.starts_with("impl") && line.contains(" Machine for ")
}
