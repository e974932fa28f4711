//! A seed is a schedule.

use std::collections::BTreeSet;
use std::process::Command;

use runwarden_protocol::record::Digest;

use runwarden_sim::weave::Bed;

use crate::random::history;

/// Set in the other process: print the digest of this seed.
const SEED: &str = "WEAVE_SEED";

fn digest(seed: u64) -> Digest {
    let went = Bed::record(seed, history).unwrap_or_else(|stuck| panic!("{stuck}"));
    assert!(went.records.len() > 10, "{}", went.records.len());
    went.digest
}

#[test]
fn the_same_seed_gives_the_same_records() {
    let seeds = 0..20;
    let digests: Vec<_> = seeds.clone().map(digest).collect();
    for (seed, first) in seeds.zip(&digests) {
        assert_eq!(digest(seed), *first, "seed {seed}");
    }
    let distinct: BTreeSet<_> = digests.iter().map(ToString::to_string).collect();
    assert_eq!(distinct.len(), digests.len(), "each seed is another schedule");
}

#[test]
fn another_process_gives_the_same_records() {
    if let Ok(seed) = std::env::var(SEED) {
        println!("digest {}", digest(seed.parse().expect("a seed")));
        return;
    }
    let name = "determinism::another_process_gives_the_same_records";
    for seed in [1_u64, 2] {
        let output = Command::new(std::env::current_exe().expect("this program"))
            .args(["--exact", name, "--nocapture"])
            .env(SEED, seed.to_string())
            .output()
            .expect("this program again");
        let text = String::from_utf8_lossy(&output.stdout);
        let expected = format!("digest {}", digest(seed));
        assert!(text.contains(&expected), "{expected} in {text}");
    }
}
