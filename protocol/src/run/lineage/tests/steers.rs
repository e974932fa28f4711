//! Steers of a run in its session.

use super::world::{RUN, World, found as found_at, persisted, returned, stop, text};
use crate::ids::{AskId, PayloadId, RunId, Seq, SteerId};
use crate::journal::row::{Outcome, RowEvent, SteerFate};
use crate::journal::run_journal::RowRef;
use crate::run::lineage::{Input, Offered, Output, SteerAnswer};
use crate::run::recovery::Found;
use crate::run::steer::SettledSteer;
use crate::run::worker::CallResult;
use crate::wire::codes::Code;

const WANTED: Input = Input::SteerWanted { run_id: RUN };
const ACCEPTED: SteerAnswer = SteerAnswer::Accepted { steer_id: SteerId::new(1) };
const NOT_RUNNING: SteerAnswer = SteerAnswer::Refused { reason: Code::NotRunning };

fn offered(n: u64, run_id: RunId) -> Input {
    let steer_id = SteerId::new(n);
    let row = RowRef { event: RowEvent::SteerAccepted { steer_id }, ..text(n) };
    Input::Steer(Offered { ask: AskId::new(n), run_id, steer_id, row, is_supported: true })
}

fn steer(n: u64) -> Input {
    offered(n, RUN)
}

fn settled(n: u64, fate: SteerFate) -> SettledSteer {
    SettledSteer { steer_id: SteerId::new(n), fate }
}

/// The agent took steer `n`, which a row with this body says.
fn read(n: u64, payload: u64) -> Input {
    let SettledSteer { steer_id, fate } = settled(n, SteerFate::Consumed);
    let row = RowRef { event: RowEvent::SteerSettled { steer_id, fate }, ..text(payload) };
    Input::SteerRead { run_id: RUN, row }
}

fn answers(outputs: &[Output]) -> Vec<SteerAnswer> {
    let answers = outputs.iter().filter_map(|output| match output {
        Output::SteerAnswered { answer, .. } => Some(*answer),
        _ => None,
    });
    answers.collect()
}

fn handed(outputs: &[Output]) -> Vec<u64> {
    let handed = outputs.iter().filter_map(|output| match output {
        Output::HandSteer { steer_id, .. } => Some(steer_id.number()),
        _ => None,
    });
    handed.collect()
}

fn settles(outputs: &[Output]) -> Option<Vec<SettledSteer>> {
    outputs.iter().find_map(|output| match output {
        Output::Settle { steers, .. } => Some(steers.clone()),
        _ => None,
    })
}

fn is_discarded(outputs: &[Output], payload: u64) -> bool {
    outputs.iter().any(|output| match output {
        Output::Discard { payloads } => payloads.contains(&PayloadId::new(payload)),
        _ => false,
    })
}

/// An invoked run.
fn running() -> World {
    let mut world = World::new();
    world.invoke(1);
    world
}

#[test]
fn a_steer_is_accepted_with_its_row_and_handed_to_the_agent_that_waits() {
    let mut world = running();
    world.feed(WANTED);
    let taken = world.feed(steer(1));
    assert!(taken.iter().any(|output| matches!(output, Output::Append { .. })));
    assert_eq!((answers(&taken), handed(&taken)), (vec![], vec![]));
    let published = world.feed(persisted(1, 1, 1));
    assert_eq!((answers(&published), handed(&published)), (vec![ACCEPTED], vec![1]));
    let row = world.feed(read(1, 90)).into_iter().find_map(|output| match output {
        Output::Append { rows, .. } => rows.first().map(|row| row.event),
        _ => None,
    });
    let SettledSteer { steer_id, fate } = settled(1, SteerFate::Consumed);
    assert_eq!(row, Some(RowEvent::SteerSettled { steer_id, fate }));
    world.feed(persisted(1, 2, 1));
    let stopped = world.feed(stop(1, 50));
    assert_eq!(settles(&stopped), Some(vec![]));
}

#[test]
fn nothing_is_read_after_a_stop_and_the_settlement_gives_back() {
    let mut world = running();
    for n in [1, 2] {
        world.feed(steer(n));
        world.feed(persisted(1, n, 1));
    }
    assert_eq!(handed(&world.feed(WANTED)), [1]);
    let stopped = world.feed(stop(1, 50));
    let both = vec![settled(1, SteerFate::Returned), settled(2, SteerFate::Returned)];
    assert_eq!(settles(&stopped), Some(both.clone()));
    assert!(is_discarded(&world.feed(read(1, 90)), 90));
    assert!(handed(&world.feed(WANTED)).is_empty());
    assert_eq!(answers(&world.feed(steer(3))), [NOT_RUNNING]);
    let revision = world.session.revision().plus(1);
    // The terminal stands behind the rows of both.
    let early = Input::Committed { run_id: RUN, revision, terminal_seq: Some(Seq::new(3)) };
    assert!(world.try_feed(early).is_err());
    let committed = Input::Committed { run_id: RUN, revision, terminal_seq: Some(Seq::new(5)) };
    let ended = world.feed(committed).into_iter().find_map(|output| match output {
        Output::RunEnded { seq, steers, .. } => Some((seq, steers)),
        _ => None,
    });
    assert_eq!(ended, Some((Some(Seq::new(5)), both)));
}

#[test]
fn a_stop_refuses_what_is_not_issued_and_waits_for_what_is() {
    let mut world = running();
    world.feed(steer(1));
    world.feed(steer(2));
    let stopped = world.feed(stop(1, 50));
    assert_eq!((answers(&stopped), settles(&stopped)), (vec![NOT_RUNNING], None));
    assert!(is_discarded(&stopped, 2));
    let published = world.feed(persisted(1, 1, 1));
    assert_eq!(answers(&published), [ACCEPTED]);
    assert_eq!(settles(&published), Some(vec![settled(1, SteerFate::Returned)]));
}

#[test]
fn a_steer_whose_row_is_not_stored_has_no_effect() {
    let mut world = running();
    world.feed(WANTED);
    world.feed(steer(1));
    let failed = world.feed(Input::AppendFailed { run_id: RUN });
    let refused = SteerAnswer::Refused { reason: Code::SteerError };
    assert_eq!((answers(&failed), handed(&failed)), (vec![refused], vec![]));
    assert_eq!(settles(&world.feed(stop(1, 50))), Some(vec![]));
}

#[test]
fn a_steer_that_was_read_is_settled_so_although_its_row_was_dropped() {
    let mut world = running();
    world.feed(steer(1));
    world.feed(persisted(1, 1, 1));
    world.feed(WANTED);
    world.feed(Input::Produced { run_id: RUN, row: text(7) });
    world.feed(read(1, 90));
    let stopped = world.feed(stop(1, 50));
    assert!(is_discarded(&stopped, 90));
    let settles = settles(&world.feed(persisted(1, 2, 1)));
    assert_eq!(settles, Some(vec![settled(1, SteerFate::Consumed)]));
}

#[test]
fn the_box_is_closed_before_the_last_drain() {
    let mut world = running();
    world.feed(Input::Produced { run_id: RUN, row: text(7) });
    world.feed(returned(1));
    assert_eq!(answers(&world.feed(steer(1))), [NOT_RUNNING]);
    assert_eq!(answers(&world.feed(offered(1, RunId::new(9)))), [NOT_RUNNING]);
}

#[test]
fn a_rebuilt_agent_gets_what_the_lost_one_did_not_take() {
    let lost = Input::Returned { run_id: RUN, result: CallResult::Lost };
    let mut world = running();
    world.feed(steer(1));
    world.feed(persisted(1, 1, 1));
    assert_eq!(handed(&world.feed(WANTED)), [1]);
    let rebuilds = world.feed(lost.clone());
    assert!(rebuilds.contains(&Output::Construct { run_id: RUN }), "{rebuilds:?}");
    let agent = super::world::AGENT;
    world.feed(Input::AgentConstructed { run_id: RUN, agent });
    world.feed(Input::RegistrationAsked { run_id: RUN });
    world.feed(Input::InvocationAsked { run_id: RUN, agent });
    assert_eq!(handed(&world.feed(WANTED)), [1]);
    // One that has read a steer has begun: no other one is built.
    world.feed(read(1, 90));
    world.feed(persisted(1, 2, 1));
    let ends = world.feed(lost);
    assert!(!ends.contains(&Output::Construct { run_id: RUN }), "{ends:?}");
    assert_eq!(settles(&ends), Some(vec![]));
}

#[test]
fn recovery_gives_back_what_it_finds() {
    for (terminal, given_back) in [(None, 2), (Some(Outcome::Completed), 0)] {
        let mut world = World::new();
        let found = world.feed(Input::Recover(Found {
            terminal,
            steers: vec![SteerId::new(1), SteerId::new(2)],
            ..found_at(7)
        }));
        let returned = settles(&found).unwrap();
        assert_eq!(returned.len(), given_back);
        assert!(returned.iter().all(|steer| steer.fate == SteerFate::Returned));
    }
}
