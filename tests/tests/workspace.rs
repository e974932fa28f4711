//! The shape of the project: who depends on whom, what the core may name, and what no file may hold.

use std::process::Command;

use runwarden_conformance::workspace::{SourceFile, Tree, root};

/// What `protocol` may link at run time. A small data-structure crate may join with its reason.
const PROTOCOL_DEPENDENCIES: [&str; 6] =
    ["indexmap", "schemars", "serde", "serde_json", "smallvec", "thiserror"];

/// What the code of `protocol/src` may not name: clocks, threads, I/O, chance, unordered maps, fractions.
const PROTOCOL_BANS: [&str; 17] = [
    "std::time",
    "std::thread",
    "std::fs",
    "std::net",
    "std::process",
    "std::env",
    "std::io",
    "async fn",
    "async move",
    "await",
    "HashMap",
    "HashSet",
    "RandomState",
    "rand",
    "getrandom",
    "f32",
    "f64",
];

/// Features of tokio that bring a runtime or sockets. The server has channels of it only.
const TOKIO_BANS: [&str; 5] = ["full", "rt", "rt-multi-thread", "net", "process"];

/// Longest source file, and the length from which a file is named as close to it.
const LINES_MAX: usize = 600;
const LINES_CLOSE: usize = 540;

/// Marks of unfinished work, each cut in two so that this file does not hold them.
const MARKS: [(&str, &str); 6] = [
    ("TO", "DO"),
    ("FIX", "ME"),
    ("XX", "X"),
    ("to", "do!"),
    ("unimple", "mented!"),
    ("#[ig", "nore"),
];

#[test]
fn protocol_depends_on_plain_data_crates_only() {
    let tree = cargo_tree(&["-p", "runwarden-protocol", "-e", "normal", "--depth", "1"]);
    let names: Vec<_> = packages(&tree).skip(1).collect();
    assert!(names.contains(&"serde"), "cargo tree was read: {tree}");
    for name in names {
        assert!(PROTOCOL_DEPENDENCIES.contains(&name), "protocol may not depend on {name}");
    }
}

/// REG-12 [unit]: a decision step has nothing to call, to save with or to wait for.
#[test]
fn protocol_names_no_clock_thread_io_chance_or_fraction() {
    let tree = project();
    let files: Vec<_> = tree.matching("protocol/src/", ".rs").collect();
    assert!(!files.is_empty());
    let found: Vec<_> = files
        .into_iter()
        .flat_map(|file| code_lines(file).flat_map(move |(n, code)| bans_in(file, n, code)))
        .collect();
    assert!(found.is_empty(), "protocol/src names what it may not:\n{}", found.join("\n"));
}

#[test]
fn the_server_links_no_simulator_and_no_tokio_runtime() {
    let tree = cargo_tree(&["-p", "runwarden", "-e", "normal,features"]);
    assert!(tree.contains("runwarden-protocol"), "cargo tree was read: {tree}");
    assert!(!packages(&tree).any(|name| name == "turmoil"), "the server links turmoil");
    for feature in TOKIO_BANS {
        let line = format!("tokio feature \"{feature}\"");
        assert!(!tree.contains(&line), "the server enables {line}");
    }
}

#[test]
fn dependencies_between_the_crates_point_one_way() {
    for (package, forbidden) in [
        ("runwarden-protocol", &["runwarden-runtime", "runwarden-sim", "runwarden"][..]),
        ("runwarden-runtime", &["runwarden-sim", "runwarden", "smol"]),
        ("runwarden-sim", &["runwarden", "smol"]),
        ("runwarden", &["runwarden-sim", "runwarden-conformance"]),
    ] {
        let tree = cargo_tree(&["-p", package, "-e", "normal", "--depth", "1"]);
        for name in packages(&tree).skip(1) {
            assert!(!forbidden.contains(&name), "{package} may not depend on {name}");
        }
    }
}

#[test]
fn every_crate_takes_lints_and_version_from_the_workspace() {
    let tree = project();
    let manifests: Vec<_> =
        tree.matching("", "/Cargo.toml").filter(|file| !file.path.starts_with("fuzz/")).collect();
    assert!(manifests.len() >= 5, "the crates are found");
    for file in manifests {
        for line in ["version.workspace = true", "[lints]\nworkspace = true"] {
            assert!(file.text.contains(line), "{} lacks `{line}`", file.path);
        }
    }
}

#[test]
fn no_source_file_is_too_long() {
    let tree = project();
    let lengths: Vec<_> = tree
        .matching("", ".rs")
        .map(|file| (file.text.lines().count(), file.path.as_str()))
        .filter(|(lines, _)| *lines >= LINES_CLOSE)
        .collect();
    for (lines, path) in &lengths {
        println!("{path}: {lines} of {LINES_MAX} lines");
    }
    assert!(lengths.iter().all(|(lines, _)| *lines <= LINES_MAX), "split these: {lengths:?}");
}

#[test]
fn no_mark_of_unfinished_work_is_left() {
    let tree = project();
    let mut found = Vec::new();
    for file in tree.files().iter().filter(|file| is_own_code(&file.path)) {
        for (number, line) in file.text.lines().enumerate() {
            for (head, tail) in MARKS {
                let mark = format!("{head}{tail}");
                if has_word(line, &mark) {
                    found.push(format!("{}:{}: {mark}", file.path, number + 1));
                }
            }
        }
    }
    assert!(found.is_empty(), "unfinished work:\n{}", found.join("\n"));
}

#[test]
fn words_are_found_whole() {
    for (text, word, is_there) in [
        ("let x: f64 = 0.0;", "f64", true),
        ("let operand = 1;", "rand", false),
        ("use rand::Rng;", "rand", true),
        ("use std::time::Instant;", "std::time", true),
        ("let to_f64_bits = 1;", "f64", false),
        ("fn strand() { rand() }", "rand", true),
    ] {
        assert_eq!(has_word(text, word), is_there, "{text}");
    }
}

fn project() -> Tree {
    Tree::read(&root()).expect("the project can be read")
}

fn cargo_tree(arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO"))
        .arg("tree")
        .args(["--prefix", "none"])
        .args(arguments)
        .current_dir(root())
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("cargo writes UTF-8")
}

/// The names of the packages of a tree without prefixes.
fn packages(tree: &str) -> impl Iterator<Item = &str> {
    tree.lines().filter_map(|line| line.split(' ').next()).filter(|name| !name.is_empty())
}

/// The lines of a file without their comments.
fn code_lines(file: &SourceFile) -> impl Iterator<Item = (usize, &str)> {
    file.text
        .lines()
        .enumerate()
        .map(|(index, line)| (index + 1, line.split("//").next().unwrap_or_default()))
}

fn bans_in(file: &SourceFile, number: usize, code: &str) -> Vec<String> {
    PROTOCOL_BANS
        .into_iter()
        .filter(|ban| has_word(code, ban))
        .map(|ban| format!("{}:{number}: {ban}", file.path))
        .collect()
}

fn is_own_code(path: &str) -> bool {
    let is_code = [".rs", ".js", ".mjs", ".sh"].iter().any(|ending| path.ends_with(ending));
    is_code && !path.split('/').any(|part| part == "vendor")
}

/// Whether `word` stands in `text` with no letter, digit or underscore beside it.
fn has_word(text: &str, word: &str) -> bool {
    let is_part = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    text.match_indices(word).any(|(start, _)| {
        let before = text[..start].chars().next_back();
        let after = text[start + word.len()..].chars().next();
        let ends_in_word = word.ends_with(|c: char| c.is_alphanumeric());
        !(is_part(before) || ends_in_word && is_part(after))
    })
}
