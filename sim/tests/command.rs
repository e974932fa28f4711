//! The command line, from outside.

use std::path::Path;
use std::process::{Command, Output};

use serde_json::{Value, json};

fn sim(arguments: &[&str]) -> Output {
    sim_in(Path::new(env!("CARGO_TARGET_TMPDIR")), arguments)
}

/// Runs the program in `folder`, where it leaves what it writes.
fn sim_in(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_runwarden-sim"))
        .args(arguments)
        .current_dir(folder)
        .output()
        .expect("the program runs")
}

fn json_of(output: &Output) -> Value {
    let text = String::from_utf8_lossy(&output.stderr);
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {text}"))
}

fn written(folder: &Path, name: &str, text: &str) -> String {
    let path = folder.join(name);
    std::fs::write(&path, text).expect("the folder is ours");
    path.to_str().expect("the path is text").to_owned()
}

/// Two runs of one principal with room for one.
fn race(expect: &str, digest: &str) -> String {
    let init = json!({"slots": {
        "limits": {"server_runs_max": 1, "principal_runs_max": 1}, "runs": {}, "counts": {},
    }});
    let acquire = |number: u32| {
        json!({
            "kind": "acquire", "ask": format!("ask_{number:016x}"),
            "run_id": format!("run_{number:016x}"), "principal": "pri_0000000000000001",
        })
    };
    format!(
        "race/1\nscenario: flight-recorder\nring: explore\nscope: clients:2\nseed: 1\nschema: 1\n\
         init: {init}\n\n1 0 slots input {}\n2 7 slots input {}\n{expect}\ndigest {digest}\n",
        acquire(1),
        acquire(2)
    )
}

#[test]
fn replay_says_whether_the_expectation_is_met() {
    let folder = tempfile::tempdir().unwrap();
    let good = written(folder.path(), "good.race", &race("expect ok", "0000000000000000"));
    let output = sim(&["replay", &good, "--json"]);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let result: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&result["steps"], &result["met"]), (&json!(2), &json!(true)));
    assert_eq!((&result["violation"], &result["digest"]["equal"]), (&Value::Null, &json!(false)));

    let digest = result["digest"]["found"].as_str().unwrap();
    let stated = written(folder.path(), "stated.race", &race("expect ok", digest));
    let output = sim(&["replay", &stated]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains(digest) && !text.contains("another path"), "{text}");

    let bad = race("expect violation INV-TERM", digest);
    let bad = written(folder.path(), "bad.race", &bad);
    let output = sim(&["replay", &bad]);
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8(output.stdout).unwrap().contains("expected INV-TERM: NOT met"));
}

#[test]
fn what_cannot_be_used_is_refused_with_code_2() {
    let folder = tempfile::tempdir().unwrap();
    let torn = written(folder.path(), "torn.race", "race/1\nseed: x\n");
    let output = sim(&["replay", &torn]);
    assert_eq!(output.status.code(), Some(2));
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(text.contains("torn.race: line 2: `seed` is a decimal number"), "{text}");
    for arguments in [
        &["replay", "missing.race"][..],
        &["draw", "missing.race"],
        &["replay"],
        &["dance"],
        &["list", "--xml"],
    ] {
        assert_eq!(sim(arguments).status.code(), Some(2), "{arguments:?}");
    }
}

#[test]
fn draw_writes_a_diagram() {
    let folder = tempfile::tempdir().unwrap();
    let file = written(folder.path(), "a.race", &race("expect ok", "0000000000000000"));
    let drawn = sim(&["draw", &file]);
    assert_eq!(drawn.status.code(), Some(0));
    let text = String::from_utf8(drawn.stdout).unwrap();
    assert!(text.contains("slots") && text.contains("acquire"), "{text}");
    let target = folder.path().join("a.txt");
    let output = sim(&["draw", &file, "-o", target.to_str().unwrap()]);
    assert_eq!((output.status.code(), output.stdout.len()), (Some(0), 0));
    assert_eq!(std::fs::read_to_string(target).unwrap(), text);
}

#[test]
fn list_is_honest() {
    let output = sim(&["list", "--json"]);
    assert_eq!(output.status.code(), Some(0));
    let list: Value = serde_json::from_slice(&output.stdout).unwrap();
    let scenarios = list["scenarios"].as_array().unwrap();
    let fourth = scenarios.iter().find(|scenario| scenario["id"] == "RACE-04").unwrap();
    let expected = json!({
        "name": "stop-between-registration-and-invocation", "id": "RACE-04",
        "rings": ["explore"], "variants": ["invocation-unchecked", "uninvoked-interrupted"],
    });
    assert_eq!(fourth, &expected);
    let text = String::from_utf8(sim(&["list"]).stdout).unwrap();
    assert_eq!(text.lines().count(), scenarios.len());
}

#[test]
fn explore_finds_a_variant_and_holds_for_the_real_machines() {
    let found = sim(&["explore", "RACE-04", "--variant", "invocation-unchecked", "--json"]);
    assert_eq!(found.status.code(), Some(1));
    let found: Value = serde_json::from_slice(&found.stdout).unwrap();
    assert_eq!(found["scenario"], "stop-between-registration-and-invocation");
    assert_eq!(
        (&found["violation"]["rule"], &found["violation"]["step"]),
        (&json!("INV-REG"), &json!(2))
    );
    let schedule = ["client-a send stop_run(run_1)", "worker-1 answer invocation_asked(run_1)"];
    assert_eq!((&found["schedule"], &found["shrunk_minimal"]), (&json!(schedule), &json!(true)));

    let slug = "stop-between-registration-and-invocation";
    let held = sim(&["explore", slug, "--scope", "drops:0,crashes:0", "--json"]);
    assert_eq!(held.status.code(), Some(0));
    let held: Value = serde_json::from_slice(&held.stdout).unwrap();
    assert_eq!((&held["exhaustive"], &held["violation"]), (&json!(true), &Value::Null));
    assert_eq!(held["scope"], "clients:1,events:1,stops:1,drops:0,crashes:0");
    assert!(held["states"].as_u64() < held["transitions"].as_u64());

    let cut = sim(&["explore", "RACE-04", "--max-states", "10", "--json"]);
    let cut: Value = serde_json::from_slice(&cut.stdout).unwrap();
    assert_eq!((&cut["exhaustive"], &cut["states"]), (&json!(false), &json!(10)));
}

#[test]
fn explore_says_what_is_wrong_with_a_call() {
    for (arguments, said) in [
        (vec!["explore", "RACE-99"], "no scenario"),
        (vec!["explore", "RACE-04", "--variant", "other"], "it has invocation-unchecked"),
        (vec!["explore", "RACE-04", "--scope", "clients=2"], "no part of a scope"),
        (vec!["explore", "RACE-04", "--scope", "stops:16"], "at most 15"),
        (vec!["explore", "RACE-04", "--scope", "cap:1"], "leave `cap` out"),
    ] {
        let output = sim(&arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        let text = String::from_utf8(output.stderr).unwrap();
        assert!(text.contains(said), "{text}");
    }
}

#[test]
fn a_violation_leaves_a_file_that_replays_shrinks_and_is_drawn() {
    let folder = tempfile::tempdir().unwrap();
    let sim = |arguments: &[&str]| sim_in(folder.path(), arguments);
    let found = sim(&["explore", "RACE-24", "--variant", "cancelling-row-ignored"]);
    assert_eq!(found.status.code(), Some(1));
    let text = String::from_utf8(found.stdout).unwrap();
    let file = "target/races/race-24-cancelling-row-ignored-adm-02.race";
    for said in ["!! ADM-02 broken", &format!("replay: runwarden-sim replay {file}"), ".html"] {
        assert!(text.contains(said), "{said}: {text}");
    }
    assert!(folder.path().join(file).with_extension("html").exists());

    let replayed = sim(&["replay", file, "--json"]);
    assert_eq!(replayed.status.code(), Some(0));
    let replayed = json_of(&replayed);
    assert_eq!((&replayed["met"], &replayed["digest"]["equal"]), (&json!(true), &json!(true)));
    assert_eq!((&replayed["skipped"], &replayed["violation"]["step"]), (&json!(0), &json!(3)));

    assert_eq!(sim(&["shrink", file, "-o", "small.race"]).status.code(), Some(0));
    let small = std::fs::read_to_string(folder.path().join("small.race")).unwrap();
    assert!(small.contains("scope: clients:1,events:0,stops:1,drops:0,crashes:0"), "{small}");
    assert_eq!(sim(&["replay", "small.race"]).status.code(), Some(0));

    for (name, begin) in [("a.html", "<!doctype html>"), ("a.svg", "<?xml"), ("a.txt", "RACE-24")] {
        assert_eq!(sim(&["draw", file, "-o", name]).status.code(), Some(0));
        let drawn = std::fs::read_to_string(folder.path().join(name)).unwrap();
        assert!(drawn.starts_with(begin), "{name}");
    }
}

#[test]
fn a_choice_that_is_not_enabled_is_skipped_and_reported() {
    let folder = tempfile::tempdir().unwrap();
    let text = "race/1\nscenario: stop-and-send-at-once\nring: explore\nscope: clients:1,stops:1\n\
                seed: 5\nschema: 1\n\n1 0 client-a send stop_run(run_1)\n2 0 agent-9 emit text(run_9)\n\
                expect ok\ndigest 0000000000000000\n";
    let file = written(folder.path(), "a.race", text);
    let replayed = json_of(&sim(&["replay", &file, "--json"]));
    assert_eq!((&replayed["skipped"], &replayed["skipped_lines"]), (&json!(1), &json!([9])));
    assert_eq!(replayed["met"], true);
    assert!(replayed["under_seed"].as_u64().is_some_and(|steps| steps > 1), "{replayed}");
    let again = json_of(&sim(&["replay", &file, "--json"]));
    assert_eq!(again["digest"]["found"], replayed["digest"]["found"]);
    let said = sim(&["shrink", &file, "-o", "b.race"]);
    assert_eq!(said.status.code(), Some(2));
    assert!(String::from_utf8(said.stderr).unwrap().contains("nothing to shrink"));
}

#[test]
fn a_run_is_decided_by_its_seed() {
    let folder = tempfile::tempdir().unwrap();
    let run = |trace: &str| {
        let output =
            sim_in(folder.path(), &["run", "RACE-25", "--seed", "6", "--trace", trace, "--json"]);
        assert_eq!(output.status.code(), Some(0));
        (json_of(&output), std::fs::read_to_string(folder.path().join(trace)).unwrap())
    };
    let (first, trace) = run("a.jsonl");
    assert_eq!(first["records"], trace.lines().count());
    assert_eq!((&first["violation"], &first["race_file"]), (&Value::Null, &Value::Null));
    assert_eq!(run("b.jsonl"), (first, trace));
    let broken = ["run", "RACE-16", "--variant", "settled-stop-accepted", "--seed", "0", "--json"];
    let broken = sim_in(folder.path(), &broken);
    assert_eq!(broken.status.code(), Some(1));
    let broken = json_of(&broken);
    assert!(folder.path().join(broken["race_file"].as_str().unwrap()).exists(), "{broken}");
}

#[test]
fn a_hunt_reports_what_it_tried() {
    let output = sim(&["hunt", "RACE-04", "RACE-16", "--seeds", "10..20", "--json"]);
    assert_eq!(output.status.code(), Some(0));
    let hunted = json_of(&output);
    assert_eq!((&hunted["schedules"], &hunted["seeds"]), (&json!(20), &json!("10..20")));
    assert_eq!((&hunted["violations"], &hunted["missing"]), (&json!([]), &json!([])));
    assert!(hunted["transitions"].as_u64() > Some(20) && hunted["faults"]["crash"].is_u64());
    for wrong in [
        &["hunt", "RACE-99"][..],
        &["hunt", "--seeds", "3..3"],
        &["hunt", "--budget", "soon"],
        &["hunt", "--seeds", "0..2", "--budget", "1s"],
        &["hunt", "--ring", "turmoil"],
    ] {
        assert_eq!(sim(wrong).status.code(), Some(2), "{wrong:?}");
    }
}

/// Two processes with one seed take the same steps, in every scenario.
#[test]
fn every_scenario_is_deterministic() {
    for (seed, scenario) in (1_u64..).zip(runwarden_sim::scenarios::ALL) {
        let seed = seed.to_string();
        let output = sim(&["meta", scenario.id, "--seed", &seed, "--json"]);
        assert_eq!(output.status.code(), Some(0), "{}", scenario.id);
        let meta = json_of(&output);
        assert_eq!((&meta["equal"], &meta["first_difference"]), (&json!(true), &Value::Null));
        assert!(meta["steps"].as_u64() > Some(1), "{meta}");
    }
}

#[test]
fn a_scenario_of_ring_weave_is_searched_replayed_shrunk_drawn_and_compared() {
    let folder = tempfile::tempdir().unwrap();
    let output = sim(&["list", "--json"]);
    let listed = json_of(&output);
    let mut scenarios = listed["scenarios"].as_array().unwrap().iter();
    let woven = scenarios.find(|entry| entry["id"] == "RACE-23").unwrap();
    assert_eq!(woven["rings"], json!(["weave"]));
    assert_eq!(woven["variants"], json!(["partial-below-marker", "partial-each-load"]));

    let variant = ["--variant", "partial-below-marker", "--json"];
    let output = sim_in(folder.path(), &[&["explore", "RACE-23"], &variant[..]].concat());
    let found = json_of(&output);
    assert_eq!((output.status.code(), &found["violation"]["rule"]), (Some(1), &json!("INV-5")));
    assert_eq!((&found["exhaustive"], &found["ring"]), (&json!(false), &json!("weave")));
    let file = folder.path().join(found["race_file"].as_str().unwrap());
    let file = file.to_str().unwrap();

    let replayed = json_of(&sim(&["replay", file, "--json"]));
    assert_eq!((&replayed["met"], &replayed["digest"]["equal"]), (&json!(true), &json!(true)));
    let small = folder.path().join("small.race");
    let output = sim(&["shrink", file, "-o", small.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let drawn = sim(&["draw", small.to_str().unwrap()]);
    let text = String::from_utf8(drawn.stdout).unwrap();
    assert!(text.contains("RACE-23") && text.contains("!! INV-5"), "{text}");

    let output = sim(&["meta", "RACE-23", "--seed", "7", "--ring", "weave", "--json"]);
    let compared = json_of(&output);
    assert_eq!((output.status.code(), &compared["equal"]), (Some(0), &json!(true)));
    assert!(compared["steps"].as_u64().unwrap() > 1, "{compared}");
    let output = sim(&["hunt", "--ring", "weave", "--seeds", "0..20", "--json"]);
    let hunted = json_of(&output);
    assert_eq!((output.status.code(), &hunted["schedules"]), (Some(0), &json!(20)));
    assert!(hunted["faults"]["append_failed"].is_u64(), "{hunted}");
}
