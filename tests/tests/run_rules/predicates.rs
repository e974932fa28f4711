//! The three named predicates, and that nothing else answers their questions.

use runwarden_conformance::workspace::{SourceFile, Tree, root};

/// Where the predicates are defined.
const HOME: &str = "protocol/src/run/predicates.rs";

/// The methods of the session machine by which everything else asks, and the guards a variant may override.
const WRAPPERS: [&str; 2] = ["protocol/src/run/lineage/view.rs", "protocol/src/run/guards.rs"];

/// Where a phase of a run may be named: the row itself, the guards and their use, what makes or shows one. None of
/// them answers whether a turn may start, a renderer attach or a Stop be offered.
const PHASES: [(&str, usize); 7] = [
    // A row that is just reserved is told.
    ("protocol/src/run/lineage/reservation.rs", 1),
    // What a failed construction does to the row.
    ("protocol/src/run/lineage/endings.rs", 4),
    // How long a phase may take before it is reported.
    ("protocol/src/run/lineage/report.rs", 4),
    // Only a running run is rotated.
    ("protocol/src/run/lineage/rotating.rs", 1),
    // What a view of a run without a row says.
    ("protocol/src/run/lineage/view.rs", 1),
    // The guard of REC-01 is asked about a stopped row.
    ("protocol/src/run/reclaim/transitions.rs", 1),
    // A run on its way to its end is told by the doctor.
    ("server/src/doctor/live.rs", 1),
];

/// Where a phase may be named without a count.
const PHASE_HOMES: [&str; 4] = [
    HOME,
    "protocol/src/run/guards.rs",
    "protocol/src/run/row/state.rs",
    "protocol/src/run/row/transitions.rs",
];

const PHASE_NAMES: [&str; 4] =
    ["Phase::Starting", "Phase::Running", "Phase::Finalizing", "Phase::Cancelling"];

/// The files of the product whose code is not a test's, each with that code.
fn product() -> Vec<(String, String)> {
    let tree = Tree::read(&root()).expect("the tree can be read");
    let is_product = |file: &&SourceFile| {
        ["protocol/src/", "runtime/src/", "server/src/"]
            .iter()
            .any(|top| file.path.starts_with(top))
            && file.path.ends_with(".rs")
            && !file.path.contains("tests")
    };
    let code = |file: &SourceFile| {
        let text = file.text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
        let lines = text.lines().filter(|line| !line.trim_start().starts_with("//"));
        (file.path.clone(), lines.collect::<Vec<_>>().join("\n"))
    };
    tree.files().iter().filter(is_product).map(code).collect()
}

fn count(text: &str, words: &[&str]) -> usize {
    words.iter().map(|word| text.matches(word).count()).sum()
}

/// ADM-01 [unit]: each question has one predicate, in one module; nothing else looks at the phase of a run or at its
/// channel to answer one of them.
#[test]
fn nothing_but_the_predicates_answers_their_questions() {
    let product = product();
    assert!(product.len() > 100, "the product was read");
    for name in ["may_start", "may_attach", "may_stop"] {
        let defined: Vec<_> = product
            .iter()
            .filter(|(_, code)| {
                code.contains(&format!("fn {name}(")) || code.contains(&format!("fn {name}<"))
            })
            .map(|(path, _)| path.as_str())
            // Whether an action of a connection may start is another question.
            .filter(|path| !path.starts_with("protocol/src/delivery/connection/"))
            .collect();
        assert!(defined.contains(&HOME), "{name} is in {defined:?}");
        let others: Vec<_> =
            defined.into_iter().filter(|path| *path != HOME && !WRAPPERS.contains(path)).collect();
        assert_eq!(others, Vec::<&str>::new(), "{name} is defined again");
    }
    for (path, code) in &product {
        if PHASE_HOMES.contains(&path.as_str()) {
            continue;
        }
        // The machines of journal, questions and connection have phases of their own.
        let own = ["journal/run_journal/", "run/questions/", "delivery/connection/"];
        let named = if own.iter().any(|folder| path.contains(folder)) {
            count(code, &["RunPhase::"])
        } else {
            count(code, &PHASE_NAMES)
        };
        let allowed = PHASES.iter().find(|(known, _)| known == path).map_or(0, |(_, count)| *count);
        let is_type = path.ends_with("wire/structures/status.rs");
        assert!(is_type || named == allowed, "{path} names {named} phases of runs, not {allowed}");
        let asks =
            code.contains("RowView {") && !path.starts_with("protocol/src/run/lineage/view.rs");
        assert!(!asks, "{path} makes a view of a row of its own");
    }
}

/// Outside the machine a run's row and channel cannot be read but by its methods.
#[test]
fn the_registries_are_private_to_the_session_machine() {
    let product = product();
    let (_, state) =
        product.iter().find(|(path, _)| path == "protocol/src/run/lineage/state.rs").expect("it");
    for (fields, most_open) in
        [("pub struct Lineage<", "pub(super) "), ("pub(super) struct RunEntry<", "pub(super) ")]
    {
        let body =
            state.split(fields).nth(1).and_then(|rest| rest.split("\n}").next()).expect(fields);
        for line in body.lines().skip(1).map(str::trim).filter(|line| line.contains(": ")) {
            assert!(
                line.starts_with(most_open) || line.starts_with('#'),
                "{fields} shows `{line}`"
            );
        }
    }
}
