//! `meta SCENARIO --seed N`: two processes with the same seed must take the same steps.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;
use std::process::{Command, Stdio};

use runwarden_protocol::record::Record;
use runwarden_sim::records::Records;
use runwarden_sim::setting::Setting;
use runwarden_sim::woven::WovenSetting;
use serde_json::json;

use super::{CommandError, Outcome, RingName, print, print_json};

/// What to compare.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The scenario, by its slug or id
    scenario: String,
    /// The seed of both processes
    #[arg(long)]
    seed: u64,
    /// The ring; without it, explore where it has the scenario, else weave
    #[arg(long, value_enum)]
    ring: Option<RingName>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub(super) fn run(arguments: &Arguments) -> Result<Outcome, CommandError> {
    let ring = RingName::of(arguments.ring, &arguments.scenario, None)?;
    let name = match ring {
        RingName::Weave => WovenSetting::find(&arguments.scenario, None)?.woven.name,
        RingName::Explore | RingName::Turmoil => {
            Setting::find(&arguments.scenario, None)?.scenario.name
        }
    };
    let folder = tempfile::tempdir().map_err(CommandError::Process)?;
    let first = trace(arguments, ring, &folder.path().join("first.jsonl"))?;
    let second = trace(arguments, ring, &folder.path().join("second.jsonl"))?;
    let difference = first_difference(&first, &second);
    if arguments.json {
        let difference = difference.map(|(first, second)| {
            json!({
                "step": first.or(second).map(|record| record.n),
                "first": first, "second": second,
            })
        });
        print_json(&json!({
            "scenario": name,
            "seed": arguments.seed,
            "equal": difference.is_none(),
            "steps": first.len(),
            "first_difference": difference,
        }))?;
    } else {
        print(&match difference {
            None => format!("{name}, seed {}: {} steps, equal\n", arguments.seed, first.len()),
            Some((first, second)) => format!(
                "{name}, seed {}: the processes differ\n  {}\n  {}\n",
                arguments.seed,
                line(first),
                line(second)
            ),
        })?;
    }
    Ok(if difference.is_none() { Outcome::Held } else { Outcome::Violated })
}

/// The first records that are not the same; `None` in place of one that a process did not write.
pub(super) fn first_difference<'a>(
    first: &'a [Record],
    second: &'a [Record],
) -> Option<(Option<&'a Record>, Option<&'a Record>)> {
    let longer = first.len().max(second.len());
    (0..longer).map(|n| (first.get(n), second.get(n))).find(|(first, second)| first != second)
}

fn line(record: Option<&Record>) -> String {
    record.map_or_else(|| "(the trace has ended)".to_owned(), Record::to_line)
}

/// The records of a process of its own.
fn trace(arguments: &Arguments, ring: RingName, path: &Path) -> Result<Vec<Record>, CommandError> {
    let program = std::env::current_exe().map_err(CommandError::Process)?;
    let output = Command::new(program)
        .args(["run", &arguments.scenario, "--json", "--seed", &arguments.seed.to_string()])
        .args(["--ring", ring.as_str()])
        .arg("--out")
        .arg(path.with_extension("races"))
        .arg("--trace")
        .arg(path)
        .stdin(Stdio::null())
        .output()
        .map_err(CommandError::Process)?;
    // A violation is no matter here: it must only be the same one.
    if !matches!(output.status.code(), Some(0 | 1)) {
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        return Err(CommandError::Process(std::io::Error::other(message)));
    }
    let file = File::open(path).map_err(CommandError::Process)?;
    let records: Result<Vec<_>, _> = Records::new(BufReader::new(file)).collect();
    records.map_err(|error| CommandError::Process(std::io::Error::other(error)))
}

#[cfg(test)]
mod tests {
    use runwarden_protocol::instant::Instant;
    use runwarden_protocol::record::Recorder;

    use super::*;

    fn records(kinds: &[&str]) -> Vec<Record> {
        let mut recorder = Recorder::default();
        let mut record = |kind: &&str| {
            let none: [serde_json::Value; 0] = [];
            recorder.record(Instant::ZERO, "run", &json!({"kind": kind}), &none, None).unwrap()
        };
        kinds.iter().map(&mut record).collect()
    }

    #[test]
    fn the_first_difference_is_the_first_record_that_is_not_the_same() {
        let whole = records(&["a", "b", "c"]);
        assert_eq!(first_difference(&whole, &records(&["a", "b", "c"])), None);
        let other = records(&["a", "x", "c"]);
        let found = first_difference(&whole, &other).unwrap();
        assert_eq!(found, (Some(&whole[1]), Some(&other[1])));
        let short = records(&["a", "b"]);
        assert_eq!(first_difference(&whole, &short), Some((Some(&whole[2]), None)));
        assert_eq!(first_difference(&short, &whole), Some((None, Some(&whole[2]))));
    }
}
