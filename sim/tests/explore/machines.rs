//! The pages of the machines: diagram and matrix, both made of the snapshot that the laws wrote.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

const INTRO: &str = "\
Diagram and matrix are made of the same data: every input was injected into every kind of state that the laws reach from
the begin of the machine (`protocol/src/laws.rs`). A state is written where it comes next, `stays` where nothing changes its
kind, `rejected` with its code where no table lists the input. Several results depend on the rest of the state. A state that
is not here was not reached in the scope of the laws; a cell that was reached and not tried would fail their test.
Written by `RUNWARDEN_BLESS=1 cargo test -p runwarden-sim --test explore machines`; a test keeps the page equal.
";

/// One line of a snapshot: state, input, results.
type Cell = (String, String, Vec<String>);

#[test]
fn the_pages_of_the_machines_say_what_the_matrices_say() {
    let mut links = String::from(
        "# Machines\n\nEach machine with its diagram and its state × input matrix.\n\n",
    );
    let names = names();
    assert!(names.len() >= 18, "{names:?}");
    for name in names {
        let cells = cells_of(&name);
        let states: BTreeSet<_> = cells.iter().map(|(state, ..)| state).collect();
        let link =
            format!("- [{name}]({name}.md), {} states, {} cells\n", states.len(), cells.len());
        links.push_str(&link);
        assert_page(&name, &page(&name, &cells));
    }
    assert_page("README", &links);
}

fn assert_page(name: &str, text: &str) {
    let path = root().join(format!("docs/machines/{name}.md"));
    if std::env::var_os("RUNWARDEN_BLESS").is_some() {
        fs::write(&path, text).expect("a page can be written");
    }
    let page = fs::read_to_string(&path).unwrap_or_default();
    assert!(page == text, "RUNWARDEN_BLESS=1 writes {} anew", path.display());
}

fn page(name: &str, cells: &[Cell]) -> String {
    format!("# Machine {name}\n\n{INTRO}\n{}\n{}", diagram(cells), matrix(cells))
}

fn diagram(cells: &[Cell]) -> String {
    let mut states: Vec<&str> = Vec::new();
    let mut edges: BTreeMap<(usize, usize), Vec<&str>> = BTreeMap::new();
    for (state, input, results) in cells {
        for next in results.iter().filter(|next| !next.starts_with("rejected(")) {
            let [from, to] = [state.as_str(), next.as_str()].map(|name| number(&mut states, name));
            if from != to {
                edges.entry((from, to)).or_default().push(input);
            }
        }
        number(&mut states, state);
    }
    let mut lines = vec!["```mermaid".to_owned(), "stateDiagram-v2".to_owned()];
    lines.extend(states.iter().enumerate().map(|(n, state)| format!("    s{n}: {state}")));
    lines.extend(
        edges
            .iter()
            .map(|((from, to), inputs)| format!("    s{from} --> s{to}: {}", inputs.join(", "))),
    );
    lines.push("```\n".to_owned());
    lines.join("\n")
}

fn matrix(cells: &[Cell]) -> String {
    let states: BTreeSet<_> = cells.iter().map(|(state, ..)| state.as_str()).collect();
    let inputs: BTreeSet<_> = cells.iter().map(|(_, input, _)| input.as_str()).collect();
    let head: Vec<_> = states.iter().copied().collect();
    let mut lines = vec![
        format!("| Input | {} |", head.join(" | ")),
        format!("|---|{}", "---|".repeat(states.len())),
    ];
    for input in inputs {
        let row = states.iter().map(|state| {
            let cell = cells.iter().find(|(s, i, _)| s == state && i == input);
            cell.map_or("".to_owned(), |(_, _, results)| {
                let results = results.iter().map(|next| match next == state {
                    true => "stays".to_owned(),
                    false => next.clone(),
                });
                results.collect::<Vec<_>>().join("<br>")
            })
        });
        lines.push(format!("| {input} | {} |", row.collect::<Vec<_>>().join(" | ")));
    }
    lines.join("\n") + "\n"
}

fn number<'a>(states: &mut Vec<&'a str>, state: &'a str) -> usize {
    states.iter().position(|known| *known == state).unwrap_or_else(|| {
        states.push(state);
        states.len() - 1
    })
}

fn cells_of(name: &str) -> Vec<Cell> {
    let path = root().join(format!("snapshots/machine_{name}.snap"));
    let text = fs::read_to_string(path).expect("a snapshot can be read");
    let body = text.splitn(3, "---\n").nth(2).expect("a snapshot has a head");
    let cell = |line: &str| {
        let (cell, results) = line.split_once(" -> ").expect("a cell has a result");
        let (state, input) = cell.split_once(" + ").expect("a cell has an input");
        let results = results.split(" / ").map(str::to_owned).collect();
        (state.to_owned(), input.to_owned(), results)
    };
    body.lines().filter(|line| !line.is_empty()).map(cell).collect()
}

fn names() -> Vec<String> {
    let mut names: Vec<_> = fs::read_dir(root().join("snapshots"))
        .expect("the snapshots can be listed")
        .filter_map(|entry| {
            let name = entry.ok()?.file_name().into_string().ok()?;
            Some(name.strip_prefix("machine_")?.strip_suffix(".snap")?.to_owned())
        })
        .collect();
    names.sort();
    names
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}
