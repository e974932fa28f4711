use proptest::prelude::*;

use super::*;
use crate::ids::SessionId;
use crate::instant::Instant;
use crate::laws::laws;
use crate::machine::{Machine, Outbox, Reject, Scope};
use crate::matrix::assert_matrix;

const NOTICES: [Notice; 4] = [Notice::Registered, Notice::Freed, Notice::Refused, Notice::Retired];

const NOBODY: [u64; 0] = [];

fn tell(cache: &mut Cache, session: u64, notice: Notice) -> Result<Vec<u64>, Reject> {
    let mut out = Outbox::new();
    let session_id = SessionId::new(session);
    cache.step(Instant::ZERO, Input { session_id, notice }, &mut out)?;
    Ok(out.drain().map(|Output::Evict { session_id }| session_id.number()).collect())
}

fn turn(cache: &mut Cache, session: u64) -> Vec<u64> {
    let mut asked = tell(cache, session, Notice::Registered).unwrap();
    asked.extend(tell(cache, session, Notice::Freed).unwrap());
    asked
}

struct FourSessions;

impl Scope<Cache> for FourSessions {
    fn inputs(&self, _cache: &Cache) -> Vec<Input> {
        let sessions = (1..=4).map(SessionId::new);
        sessions.flat_map(|session_id| NOTICES.map(|notice| Input { session_id, notice })).collect()
    }
}

#[test]
fn the_laws_hold_in_every_state_of_a_small_scope() {
    let report = laws(Cache::new(2), &FourSessions, 256).unwrap();
    let names: Vec<_> = report.state_names.keys().copied().collect();
    assert_eq!(names, ["evicting", "over, in use", "within"], "{report:?}");
    assert_matrix!("cache", &report.matrix);
}

// REG-13
#[test]
fn the_26th_session_evicts_the_one_that_was_used_longest_ago() {
    let mut cache = Cache::default();
    for session in 1..=24 {
        assert_eq!(turn(&mut cache, session), NOBODY);
    }
    assert_eq!(turn(&mut cache, 25), NOBODY, "25 may stay");
    assert_eq!(turn(&mut cache, 1), NOBODY, "used again");
    assert_eq!(turn(&mut cache, 26), [2]);
    assert_eq!(tell(&mut cache, 2, Notice::Retired), Ok(vec![]));
    assert_eq!(cache.len(), 25);
    assert_eq!(turn(&mut cache, 27), [3]);
}

#[test]
fn a_session_with_a_row_is_never_evicted_and_counts() {
    let mut cache = Cache::new(2);
    for session in 1..=4 {
        assert_eq!(tell(&mut cache, session, Notice::Registered), Ok(vec![]), "all have rows");
    }
    assert_eq!(cache.len(), 4);
    assert_eq!(tell(&mut cache, 3, Notice::Freed), Ok(vec![3]), "the first that can go");
    assert_eq!(tell(&mut cache, 3, Notice::Retired), Ok(vec![]));
    assert_eq!(tell(&mut cache, 1, Notice::Freed), Ok(vec![1]));
    assert_eq!(tell(&mut cache, 1, Notice::Retired), Ok(vec![]));
    assert_eq!(tell(&mut cache, 2, Notice::Freed), Ok(vec![]), "two may stay");
}

#[test]
fn who_refuses_stays_and_the_next_one_is_asked() {
    let mut cache = Cache::new(2);
    for session in 1..=2 {
        turn(&mut cache, session);
    }
    assert_eq!(tell(&mut cache, 3, Notice::Registered), Ok(vec![1]));
    assert_eq!(tell(&mut cache, 1, Notice::Refused), Ok(vec![2]));
    assert_eq!(tell(&mut cache, 2, Notice::Refused), Ok(vec![]));
    assert_eq!(cache.len(), 3);
    assert_eq!(tell(&mut cache, 2, Notice::Freed), Ok(vec![2]), "asked again once its row is gone");
}

#[test]
fn the_state_survives_its_json_form() {
    let mut cache = Cache::new(2);
    for session in 1..=3 {
        turn(&mut cache, session);
    }
    let value = serde_json::to_value(&cache).unwrap();
    assert_eq!(serde_json::from_value::<Cache>(value).unwrap(), cache);
}

/// A plain list of sessions with a clock, and their rows as they are.
#[derive(Default)]
struct Reference {
    kept: Vec<Kept>,
    clock: u64,
}

struct Kept {
    session: u64,
    used_at: u64,
    has_row: bool,
}

impl Reference {
    fn register(&mut self, session: u64) {
        self.clock += 1;
        self.kept.retain(|kept| kept.session != session);
        self.kept.push(Kept { session, used_at: self.clock, has_row: true });
    }

    fn free(&mut self, session: u64) {
        self.clock += 1;
        let clock = self.clock;
        for kept in self.kept.iter_mut().filter(|kept| kept.session == session) {
            (kept.has_row, kept.used_at) = (false, clock);
        }
    }

    /// What an eviction at once would take, by the rule alone.
    fn evict(&mut self, sessions_max: usize) -> Option<u64> {
        if self.kept.len() <= sessions_max {
            return None;
        }
        let idle = self.kept.iter().filter(|kept| !kept.has_row);
        let session = idle.min_by_key(|kept| kept.used_at)?.session;
        self.kept.retain(|kept| kept.session != session);
        Some(session)
    }
}

proptest! {
    #[test]
    fn with_prompt_answers_the_cache_is_a_list_in_order_of_use(
        sessions_max in 0..4_u32,
        acts in prop::collection::vec((0..6_u64, 0..3_u8), 0..200),
    ) {
        let mut cache = Cache::new(sessions_max);
        let mut reference = Reference::default();
        for (session, act) in acts {
            let known = reference.kept.iter().any(|kept| kept.session == session);
            let notice = match act {
                0 => Notice::Registered,
                1 => Notice::Freed,
                _ => Notice::Retired,
            };
            let result = tell(&mut cache, session, notice);
            match (act, known) {
                (0, _) => reference.register(session),
                (1, true) => reference.free(session),
                (_, true) => reference.kept.retain(|kept| kept.session != session),
                (_, false) => {
                    prop_assert_eq!(result, Err(Reject::Local("not_cached")));
                    continue;
                }
            }
            let expected: Vec<_> = reference.evict(sessions_max as usize).into_iter().collect();
            let asked = result.unwrap();
            prop_assert_eq!(&asked, &expected);
            for session in asked {
                prop_assert_eq!(tell(&mut cache, session, Notice::Retired), Ok(vec![]));
            }
            prop_assert_eq!(cache.len(), reference.kept.len());
        }
    }

    #[test]
    fn late_answers_never_leave_a_session_that_could_go(
        acts in prop::collection::vec((0..6_u64, 0..4_usize), 0..200),
    ) {
        let mut cache = Cache::new(2);
        let mut asked = Vec::new();
        for (session, notice) in acts {
            asked.extend(tell(&mut cache, session, NOTICES[notice]).unwrap_or_default());
        }
        for session in 0..6 {
            let _ = tell(&mut cache, session, Notice::Freed).map(|more| asked.extend(more));
        }
        for session in asked {
            let _ = tell(&mut cache, session, Notice::Retired);
        }
        prop_assert!(cache.len() <= 2, "{cache:?}");
    }
}
