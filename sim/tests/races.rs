//! The committed race files: each shows what it expects, and the same choices break nothing on the real
//! machines. `RUNWARDEN_BLESS=1` writes the file of every scenario and variant anew.

use std::path::{Path, PathBuf};

use runwarden_sim::explore::Limits;
use runwarden_sim::machines::Registry;
use runwarden_sim::race::{Expectation, Race};
use runwarden_sim::replay::{Replayed, replay};
use runwarden_sim::scenarios::ALL;
use runwarden_sim::setting::Setting;
use runwarden_sim::shrink::shrink;

/// Choices of a file that is worth committing.
const CHOICES_MAX: usize = 16;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("races")
}

fn files() -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder()).expect("the folder is in the repository");
    let mut files: Vec<_> = entries.map(|entry| entry.expect("it is readable").path()).collect();
    files.sort();
    files
}

fn parsed(file: &Path) -> Race {
    let bytes = std::fs::read(file).expect("the file is readable");
    Race::parse(&bytes).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}

fn played(race: &Race) -> Replayed {
    replay(race, &Registry::product(), |_| {}).expect("the file replays")
}

/// Writes the shortest schedule that breaks the variant's rule.
fn bless(setting: Setting) {
    let variant = setting.variant.expect("only variants have files");
    let limits = Limits { rule: Some(variant.rule), ..Limits::states(5_000_000) };
    let found = setting.search(&limits);
    let labels: Vec<_> = found.schedule.iter().map(|step| step.label.clone()).collect();
    let shrunk = shrink(setting, &labels)
        .unwrap_or_else(|| panic!("{} breaks {}", variant.name, variant.rule));
    let race = shrunk.setting.race(0, &shrunk.labels());
    let name = format!("{}-{}.race", setting.scenario.id.to_lowercase(), variant.name);
    if race.choices.len() <= CHOICES_MAX {
        std::fs::write(folder().join(name), race.to_string()).expect("the folder is writable");
    }
}

#[test]
fn the_files_show_what_they_expect_and_the_real_machines_hold() {
    if std::env::var_os("RUNWARDEN_BLESS").is_some() {
        for scenario in ALL {
            for variant in scenario.variants {
                let budget = scenario.budget;
                bless(Setting { scenario, variant: Some(variant), budget });
            }
        }
    }
    let files = files();
    assert!(files.len() >= 20, "{} files", files.len());
    for file in files {
        let race = parsed(&file);
        let replayed = played(&race);
        let name = file.display();
        assert!(replayed.is_met, "{name}: {:?}", replayed.violation);
        assert!(replayed.skipped.is_empty(), "{name}: lines {:?} skipped", replayed.skipped);
        assert_eq!(replayed.walked, 0, "{name}: the last choice breaks the rule");
        let Expectation::Violation(_) = &race.expect else { continue };
        let real = Race { variant: None, expect: Expectation::Ok, ..race };
        let replayed = played(&real);
        assert!(replayed.is_met, "{name} on the real machines: {:?}", replayed.violation);
    }
}

/// A worker that had returned was not told to exit when a Stop took its settlement: the session was busy for
/// 180 s. A Stop of a lost run was told its end before that was stable. Both were found by a search.
#[test]
fn the_bugs_that_a_search_found_stay_fixed() {
    for (name, rule) in [
        ("race-87-returned-worker-forgotten", "INV-LIVE"),
        ("race-18-recovery-told-early", "STOP-06"),
    ] {
        let race = parsed(&folder().join(format!("{name}.race")));
        assert_eq!(played(&race).violation.map(|violation| violation.invariant), Some(rule));
    }
}
