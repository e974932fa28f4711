//! Coverage and bounds of the rings, against a plain list, and the laws.

use proptest::prelude::*;

use super::{ENTITIES_MAX, ENTRY_WEIGHT, Input, Output, Rings, WEIGHT_MAX};
use crate::delivery::frame::EntityId;
use crate::ids::{PayloadId, PayloadRef, Revision, RunId, Seq};
use crate::instant::{Duration, Instant};
use crate::laws::laws;
use crate::machine::{Machine, Outbox, Reject, Scope, TimerKind};
use crate::matrix::assert_matrix;
use crate::wire::limits::{COMMIT_RING_ENTRIES, DELTA_BYTES_MAX, DELTA_RING_ENTRIES};

fn at(ms: u64) -> Instant {
    Instant::from_millis(ms)
}

fn run(n: u64) -> EntityId {
    EntityId::Run(RunId::new(n))
}

fn body(id: u64) -> PayloadRef {
    PayloadRef { id: PayloadId::new(id), json_bytes: 100 }
}

fn commit(revision: u64) -> Input {
    Input::CommitMade { revision: Revision::new(revision), payload: body(revision) }
}

fn delta(entity: u64, seq: u64) -> Input {
    let (entity, seq) = (run(entity), Seq::new(seq));
    Input::DeltaMade { entity, seq, payload: body(1_000 + seq.get()) }
}

fn give(rings: &mut Rings, ms: u64, input: Input) -> Result<Vec<u64>, Reject> {
    let mut out = Outbox::new();
    rings.step(at(ms), input, &mut out)?;
    Ok(dropped(&out))
}

fn dropped(out: &Outbox<Output>) -> Vec<u64> {
    let payloads = out.as_slice().iter().flat_map(|Output::Drop { payloads }| payloads);
    payloads.map(|payload| payload.number()).collect()
}

fn commits(rings: &Rings, known: u64, current: u64) -> Option<Vec<u64>> {
    let entries = rings.commits_after(Revision::new(known), Revision::new(current))?;
    Some(entries.map(|entry| entry.number).collect())
}

fn deltas(rings: &Rings, entity: u64, known: u64, current: u64) -> Option<Vec<u64>> {
    let entries = rings.deltas_after(run(entity), Seq::new(known), Seq::new(current))?;
    Some(entries.map(|entry| entry.number).collect())
}

/// SES-14 [unit]: 512 commits are kept and the 513th drops the oldest; likewise 256 deltas of each entity.
#[test]
fn the_newest_entries_are_kept() {
    let (commits_max, deltas_max) = (COMMIT_RING_ENTRIES as u64, DELTA_RING_ENTRIES as u64);
    let mut rings = Rings::new();
    for n in 1..=commits_max + 1 {
        let gone = give(&mut rings, n, commit(n)).unwrap();
        assert_eq!(gone, if n > commits_max { vec![1] } else { vec![] });
        assert_eq!(commits(&rings, 0, n).is_some(), n <= commits_max, "{n}");
    }
    assert_eq!(commits(&rings, 1, commits_max + 1).unwrap().len(), COMMIT_RING_ENTRIES);
    give(&mut rings, 0, delta(2, 1)).unwrap();
    for n in 1..=deltas_max + 1 {
        let gone = give(&mut rings, n, delta(1, n)).unwrap();
        assert_eq!(gone, if n > deltas_max { vec![1_001] } else { vec![] }, "{n}");
        assert_eq!(deltas(&rings, 1, 0, n).is_some(), n <= deltas_max, "{n}");
    }
    assert_eq!(deltas(&rings, 2, 0, 1), Some(vec![1]), "each entity has its own");
}

/// SES-14 [unit]: an entry of age 899,999 and 900,000 ms is kept, one beyond is not.
#[test]
fn entries_age() {
    let mut rings = Rings::new();
    give(&mut rings, 0, commit(1)).unwrap();
    give(&mut rings, 1, commit(2)).unwrap();
    give(&mut rings, 1, delta(1, 1)).unwrap();
    let beyond = at(900_000).plus(Duration::from_micros(1));
    assert_eq!(rings.deadline(), Some((beyond, TimerKind::RingAge)));
    let mut out = Outbox::new();
    for ms in [899_999, 900_000] {
        rings.tick(at(ms), &mut out);
        assert_eq!(commits(&rings, 0, 2), Some(vec![1, 2]));
    }
    rings.tick(beyond, &mut out);
    assert_eq!((dropped(&out), commits(&rings, 0, 2)), (vec![1], None));
    assert_eq!(commits(&rings, 1, 2), Some(vec![2]));
    rings.tick(at(900_002), &mut out);
    assert_eq!((rings.is_empty(), rings.weight(), rings.deadline()), (true, 0, None));
    assert_eq!(commits(&rings, 2, 2), Some(vec![]), "nothing is missing");
}

/// An entry of 3,583 and 3,584 bytes is taken, one of 3,585 is not.
#[test]
fn an_entry_has_a_largest_size() {
    for (json_bytes, fits) in [(3_583, true), (3_584, true), (3_585, false)] {
        let payload = PayloadRef { json_bytes, ..body(1) };
        let mut rings = Rings::new();
        for input in [
            Input::CommitMade { revision: Revision::new(1), payload },
            Input::DeltaMade { entity: run(1), seq: Seq::new(1), payload },
        ] {
            let taken = give(&mut rings, 0, input);
            assert_eq!(
                taken,
                if fits { Ok(vec![]) } else { Err(Reject::Local("entry_too_large")) }
            );
        }
        assert_eq!(rings.is_empty(), !fits);
    }
    assert_eq!(DELTA_BYTES_MAX, 3_584);
}

#[test]
fn a_gap_uncovers_what_stands_before_it() {
    let mut rings = Rings::new();
    for n in [4, 5] {
        give(&mut rings, 0, commit(n)).unwrap();
    }
    assert_eq!(give(&mut rings, 0, commit(5)), Err(Reject::Local("number_not_newer")));
    assert_eq!(give(&mut rings, 0, commit(7)), Ok(vec![4, 5]));
    assert_eq!((commits(&rings, 5, 7), commits(&rings, 6, 7)), (None, Some(vec![7])));
    assert_eq!(commits(&rings, 7, 8), None, "a commit the ring was not told of");
    give(&mut rings, 0, delta(1, 1)).unwrap();
    assert_eq!(give(&mut rings, 0, delta(1, 3)), Ok(vec![1_001]));
    assert_eq!((deltas(&rings, 1, 1, 3), deltas(&rings, 1, 2, 3)), (None, Some(vec![3])));
    assert_eq!(deltas(&rings, 2, 0, 0), None, "an entity the rings do not know");
}

#[test]
fn the_65th_entity_takes_the_place_of_the_one_that_was_silent_longest() {
    let mut rings = Rings::new();
    for n in 1..=ENTITIES_MAX as u64 {
        give(&mut rings, 0, delta(n, 1)).unwrap();
    }
    give(&mut rings, 0, delta(1, 2)).unwrap();
    assert_eq!(give(&mut rings, 0, delta(65, 1)), Ok(vec![1_001]));
    assert_eq!((deltas(&rings, 1, 0, 2), deltas(&rings, 2, 0, 1)), (Some(vec![1, 2]), None));
}

#[test]
fn everything_goes_when_others_need_the_room() {
    let mut rings = Rings::new();
    for input in [commit(1), commit(2), delta(1, 1)] {
        give(&mut rings, 0, input).unwrap();
    }
    assert_eq!(give(&mut rings, 0, Input::DropAll), Ok(vec![1, 2, 1_001]));
    assert_eq!((rings.weight(), rings.is_empty()), (0, true));
    assert_eq!((commits(&rings, 1, 2), commits(&rings, 2, 2)), (None, Some(vec![])));
    give(&mut rings, 0, commit(3)).unwrap();
    assert_eq!(commits(&rings, 2, 3), Some(vec![3]));
}

/// Every law over three commits, two entities, a gap and a body too large.
#[test]
fn the_laws_hold() {
    let report = laws(Rings::new(), &Small, 6 * (100 + ENTRY_WEIGHT)).unwrap();
    assert!(report.states > 50, "{report:?}");
    assert_matrix!("rings", &report.matrix);
}

struct Small;

impl Scope<Rings> for Small {
    fn inputs(&self, _rings: &Rings) -> Vec<Input> {
        let large = PayloadRef { json_bytes: 4_000, ..body(9) };
        vec![
            commit(1),
            commit(2),
            commit(3),
            Input::CommitMade { revision: Revision::new(4), payload: large },
            delta(1, 1),
            delta(1, 2),
            delta(2, 1),
            Input::DropAll,
        ]
    }

    fn horizon(&self) -> Instant {
        at(950_000)
    }
}

proptest! {
    /// Whatever comes, the rings cover exactly what a plain list of the newest, young enough and
    /// gapless entries covers, and count its bytes.
    #[test]
    fn the_rings_cover_what_a_plain_list_covers(
        steps in prop::collection::vec((0u64..400_000, 0u64..3, 1u64..3), 1..80),
    ) {
        let mut rings = Rings::new();
        let mut now = 0;
        let mut lists: [Vec<(u64, u64)>; 3] = [vec![], vec![], vec![]];
        let mut last = [0u64; 3];
        for (wait, which, by) in steps {
            now += wait;
            let list = which as usize;
            let number = last[list] + by;
            if by > 1 {
                lists[list].clear();
            }
            last[list] = number;
            lists[list].push((number, now));
            let input = if which == 0 { commit(number) } else { delta(which, number) };
            give(&mut rings, now, input).unwrap();
            for list in &mut lists {
                list.retain(|(_, made)| now - made <= 900_000);
            }
            let held: usize = lists.iter().map(Vec::len).sum();
            prop_assert_eq!(rings.weight(), held * (100 + ENTRY_WEIGHT));
            for known in 0..=last[0] {
                let after: Vec<u64> =
                    lists[0].iter().map(|(n, _)| *n).filter(|n| *n > known).collect();
                let covered = after.len() as u64 == last[0] - known;
                prop_assert_eq!(commits(&rings, known, last[0]), covered.then_some(after));
            }
            prop_assert!(rings.weight() <= WEIGHT_MAX);
        }
    }
}
