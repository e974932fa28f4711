//! The command line, from outside.

use std::path::Path;
use std::process::{Command, Output};

use runwarden_protocol::instant::Instant;
use runwarden_protocol::record::Recorder;
use serde_json::{Value, json};

fn conform(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_runwarden-conform"))
        .args(arguments)
        .output()
        .expect("the program runs")
}

/// A trace of one run that ends `ends` times.
fn trace(ends: usize) -> String {
    let mut recorder = Recorder::default();
    let mut line = |input: Value, outputs: &[Value]| {
        let record = recorder.record(Instant::ZERO, "run/ses_1", &input, outputs, None);
        record.expect("JSON has a JSON form").to_line() + "\n"
    };
    let mut text = line(json!({"kind": "start"}), &[json!({"kind": "admit", "run_id": "run_1"})]);
    text += &line(
        json!({"kind": "persisted", "run_id": "run_1", "first_seq": 1, "count": 1}),
        &[json!({"kind": "published", "run_id": "run_1", "first_seq": 1, "rows": [{}]})],
    );
    for _ in 0..ends {
        text += &line(
            json!({"kind": "committed", "run_id": "run_1", "revision": 2}),
            &[json!({"kind": "run_ended", "run_id": "run_1", "outcome": "completed", "seq": 2})],
        );
    }
    text
}

fn check(folder: &Path, text: &str) -> (Option<i32>, Value) {
    let path = folder.join("trace.jsonl");
    std::fs::write(&path, text).expect("the folder is ours");
    let output = conform(&["check", path.to_str().expect("the path is text"), "--json"]);
    (output.status.code(), serde_json::from_slice(&output.stdout).unwrap_or_default())
}

#[test]
fn a_true_trace_holds() {
    let folder = tempfile::tempdir().unwrap();
    let (code, result) = check(folder.path(), &trace(1));
    assert_eq!((code, &result["records"], &result["rows"]), (Some(0), &json!(3), &json!(1)));
    let torn = trace(1) + "{\"n\":4,";
    let (code, result) = check(folder.path(), &torn);
    assert_eq!((code, &result["torn_bytes"]), (Some(0), &json!(7)));
}

#[test]
fn a_broken_invariant_and_a_broken_chain_are_found() {
    let folder = tempfile::tempdir().unwrap();
    let (code, result) = check(folder.path(), &trace(2));
    assert_eq!((code, &result["violations"][0]["rule"]), (Some(1), &json!("INV-TERM")));
    let (code, result) = check(folder.path(), &trace(200));
    assert_eq!((code, &result["violations_total"]), (Some(1), &json!(199)));
    assert_eq!(result["violations"].as_array().map(Vec::len), Some(100));
    let changed = trace(1).replacen("\"count\":1", "\"count\":2", 1);
    let (code, result) = check(folder.path(), &changed);
    assert_eq!((code, &result["records"]), (Some(1), &json!(1)));
    assert!(result["fault"].as_str().unwrap().starts_with("line 2: record 2: digest is"));
}

#[test]
fn what_cannot_be_judged_is_refused_with_code_2() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(check(folder.path(), "").0, Some(2));
    for arguments in [&["check", "missing.jsonl"][..], &["check"], &["dance"]] {
        assert_eq!(conform(arguments).status.code(), Some(2), "{arguments:?}");
    }
}

#[test]
fn list_counts_every_family() {
    let output = conform(&["list", "--json"]);
    let list: Value = serde_json::from_slice(&output.stdout).unwrap();
    let families = list["families"].as_array().unwrap();
    let total = |name: &str| {
        let family = families.iter().find(|family| family["family"] == name).unwrap();
        family["total"].as_u64().unwrap()
    };
    assert!(total("SND") > 20 && total("STOP") > 10);
    let all: u64 = families.iter().map(|family| family["total"].as_u64().unwrap()).sum();
    assert_eq!(list["rules"].as_array().map(Vec::len), Some(all as usize));
    let text = String::from_utf8(conform(&["list"]).stdout).unwrap();
    assert!(text.starts_with("rules: "), "{text}");
}
