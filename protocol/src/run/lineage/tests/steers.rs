//! Steers of a run in its session.

use super::world::{RUN, World, persisted, returned, stop, text};
use crate::ids::{AskId, PayloadId, RunId, Seq, SteerId};
use crate::journal::row::{RowEvent, SteerFate};
use crate::journal::run_journal::RowRef;
use crate::run::lineage::{Input, Output, SteerAnswer};
use crate::wire::codes::Code;

const READ: PayloadId = PayloadId::new(90);

fn steer(n: u64) -> Input {
    let steer_id = SteerId::new(n);
    let row = RowRef { event: RowEvent::SteerAccepted { steer_id }, ..text(n) };
    Input::Steer { ask: AskId::new(n), run_id: RUN, steer_id, row, is_supported: true }
}

fn answer(outputs: &[Output]) -> Option<SteerAnswer> {
    outputs.iter().find_map(|output| match output {
        Output::SteerAnswered { answer, .. } => Some(*answer),
        _ => None,
    })
}

fn handed(outputs: &[Output]) -> Vec<u64> {
    let handed = outputs.iter().filter_map(|output| match output {
        Output::HandSteer { steer_id, .. } => Some(steer_id.number()),
        _ => None,
    });
    handed.collect()
}

fn settles(outputs: &[Output]) -> Option<Vec<SteerId>> {
    outputs.iter().find_map(|output| match output {
        Output::Settle { returned, .. } => Some(returned.clone()),
        _ => None,
    })
}

const WANTED: Input = Input::SteerWanted { run_id: RUN, payload: READ };

#[test]
fn an_accepted_steer_is_journaled_and_handed_to_the_agent_that_waits() {
    let mut world = World::new();
    world.invoke(1);
    let accepted = world.feed(steer(1));
    assert_eq!(answer(&accepted), Some(SteerAnswer::Accepted { steer_id: SteerId::new(1) }));
    assert!(accepted.iter().any(|output| matches!(output, Output::Append { .. })));
    assert_eq!(handed(&accepted), []);
    assert_eq!(handed(&world.feed(WANTED)), [1]);
    let published = world.feed(persisted(1, 1, 1));
    let row = published.iter().find_map(|output| match output {
        Output::Append { rows, .. } => rows.first().map(|row| row.event),
        _ => None,
    });
    let (steer_id, fate) = (SteerId::new(1), SteerFate::Consumed);
    assert_eq!(row, Some(RowEvent::SteerSettled { steer_id, fate }));
    world.feed(persisted(1, 2, 1));
    world.feed(WANTED);
    assert_eq!(handed(&world.feed(steer(2))), [2]);
}

#[test]
fn nothing_is_read_after_a_stop_and_the_settlement_gives_back() {
    let mut world = World::new();
    world.invoke(1);
    for n in [1, 2] {
        world.feed(steer(n));
        world.feed(persisted(1, n, 1));
    }
    let stopped = world.feed(stop(1, 50));
    let both = vec![SteerId::new(1), SteerId::new(2)];
    assert_eq!(settles(&stopped), Some(both.clone()));
    assert_eq!(handed(&world.feed(WANTED)), []);
    let refused = SteerAnswer::Refused { reason: Code::NotRunning };
    assert_eq!(answer(&world.feed(steer(3))), Some(refused));
    let revision = world.session.revision().plus(1);
    // The terminal stands behind the rows of both.
    let early = Input::Committed { run_id: RUN, revision, terminal_seq: Some(Seq::new(3)) };
    assert!(world.try_feed(early).is_err());
    let settled = Input::Committed { run_id: RUN, revision, terminal_seq: Some(Seq::new(5)) };
    let ended = world.feed(settled).into_iter().find_map(|output| match output {
        Output::RunEnded { seq, returned, .. } => Some((seq, returned)),
        _ => None,
    });
    assert_eq!(ended, Some((Some(Seq::new(5)), both)));
}

#[test]
fn the_box_is_closed_before_the_last_drain() {
    let mut world = World::new();
    world.invoke(1);
    world.feed(Input::Produced { run_id: RUN, row: text(7) });
    world.feed(returned(1));
    let refused = SteerAnswer::Refused { reason: Code::NotRunning };
    assert_eq!(answer(&world.feed(steer(1))), Some(refused));
    let unknown = Input::Steer {
        ask: AskId::new(1),
        run_id: RunId::new(9),
        steer_id: SteerId::new(1),
        row: text(1),
        is_supported: true,
    };
    assert_eq!(answer(&world.feed(unknown)), Some(refused));
}
