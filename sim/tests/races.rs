//! The committed race files: each shows what it expects, and the same choices break nothing on the real
//! machines. `RUNWARDEN_BLESS=1` writes the file of every scenario and variant that lacks one.

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

fn file_of(setting: Setting) -> PathBuf {
    let variant = setting.variant.expect("only variants have files");
    let id = setting.scenario.id.to_lowercase();
    folder().join(format!("{id}-{}.race", variant.name))
}

/// Writes the shortest schedule that breaks the variant's rule, unless the file shows one.
fn bless(setting: Setting) {
    let variant = setting.variant.expect("only variants have files");
    let file = file_of(setting);
    if file.exists() && problem(&parsed(&file)).is_none() {
        return;
    }
    let limits = Limits { rule: Some(variant.rule), ..Limits::states(5_000_000) };
    let found = setting.search(&limits);
    let labels: Vec<_> = found.schedule.iter().map(|step| step.label.clone()).collect();
    let shrunk = shrink(setting, &labels)
        .unwrap_or_else(|| panic!("{} breaks {}", variant.name, variant.rule));
    let race = shrunk.setting.race(0, &shrunk.labels());
    std::fs::write(file, race.to_string()).expect("the folder is writable");
}

/// What a file shows otherwise than it says, or what the real machines break by its choices.
fn problem(race: &Race) -> Option<String> {
    let replayed = played(race);
    if !replayed.is_met || !replayed.skipped.is_empty() || replayed.walked != 0 {
        return Some(format!("{replayed:?}"));
    }
    let Expectation::Violation(_) = &race.expect else { return None };
    let real = Race { variant: None, expect: Expectation::Ok, ..race.clone() };
    let replayed = played(&real);
    (!replayed.is_met).then(|| format!("on the real machines: {:?}", replayed.violation))
}

#[test]
fn the_files_show_what_they_expect_and_the_real_machines_hold() {
    for file in files() {
        let race = parsed(&file);
        assert_eq!(problem(&race), None, "{}", file.display());
        assert!(race.choices.len() <= CHOICES_MAX, "{}", file.display());
    }
}

/// With `RUNWARDEN_BLESS` set, the file of each variant is written that is missing or shows nothing any more.
#[test]
fn every_variant_has_its_file() {
    for scenario in ALL {
        for variant in scenario.variants {
            let setting = Setting { scenario, variant: Some(variant), budget: scenario.budget };
            if std::env::var_os("RUNWARDEN_BLESS").is_some() {
                bless(setting);
            }
            let file = file_of(setting);
            assert!(file.exists(), "RUNWARDEN_BLESS=1 writes {}", file.display());
            let race = parsed(&file);
            assert_eq!(race.scenario.as_str(), scenario.name, "{}", file.display());
            let named = race.variant.as_ref().map(|name| name.as_str());
            assert_eq!(named, Some(variant.name), "{}", file.display());
        }
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
