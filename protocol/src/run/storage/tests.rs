use proptest::prelude::*;

use super::*;
use crate::instant::Instant;
use crate::laws::laws;
use crate::machine::{Machine, Outbox, Scope};
use crate::matrix::assert_matrix;

fn measure(storage: &mut Storage, free_bytes: u64) -> Vec<Output> {
    let mut out = Outbox::new();
    storage.step(Instant::ZERO, Input::Measured { free_bytes }, &mut out).unwrap();
    out.drain().collect()
}

struct AroundTheBounds;

impl Scope<Storage> for AroundTheBounds {
    fn inputs(&self, _storage: &Storage) -> Vec<Input> {
        [0, 7, 8, 9, 10, 11].map(|free_bytes| Input::Measured { free_bytes }).to_vec()
    }
}

#[test]
fn the_laws_hold_in_every_state_of_a_small_scope() {
    let report = laws(Storage::new(8), &AroundTheBounds, 64).unwrap();
    assert_eq!(report.state_names.keys().copied().collect::<Vec<_>>(), ["enough", "low"]);
    assert_matrix!("storage", &report.matrix);
}

/// KEEP-7 [unit]: the state begins below 512 MiB and ends at 640 MiB, to the byte, and is told once each.
#[test]
fn the_state_begins_below_the_bound_and_ends_at_five_quarters_of_it() {
    let mut storage = Storage::default();
    assert_eq!(measure(&mut storage, 536_870_913), []);
    assert_eq!(measure(&mut storage, 536_870_912), [], "equal is enough");
    assert_eq!(measure(&mut storage, 536_870_911), [Output::BecameLow]);
    assert!(storage.is_low());
    for free_bytes in [0, 536_870_912, 600_000_000, 671_088_639] {
        assert_eq!(measure(&mut storage, free_bytes), [], "{free_bytes}");
        assert!(storage.is_low());
    }
    assert_eq!(measure(&mut storage, 671_088_640), [Output::Recovered]);
    assert!(!storage.is_low());
}

#[test]
fn a_bound_of_zero_turns_it_off_and_the_greatest_is_no_overflow() {
    let mut off = Storage::new(0);
    assert_eq!(measure(&mut off, 0), []);
    let mut greatest = Storage::new(u64::MAX);
    assert_eq!(measure(&mut greatest, u64::MAX - 1), [Output::BecameLow]);
    assert_eq!(measure(&mut greatest, u64::MAX), []);
}

proptest! {
    #[test]
    fn every_change_is_told_once_and_nothing_else(
        low_bytes in 0..40_u64, measured in prop::collection::vec(0..60_u64, 0..60),
    ) {
        let mut storage = Storage::new(low_bytes);
        let mut low = false;
        for free_bytes in measured {
            let next = if low { free_bytes * 4 < low_bytes * 5 } else { free_bytes < low_bytes };
            let expected = match (low, next) {
                (false, true) => vec![Output::BecameLow],
                (true, false) => vec![Output::Recovered],
                (false, false) | (true, true) => vec![],
            };
            prop_assert_eq!(measure(&mut storage, free_bytes), expected);
            prop_assert_eq!(storage.is_low(), next);
            low = next;
        }
    }
}
