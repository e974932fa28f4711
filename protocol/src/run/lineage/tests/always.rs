//! What holds whatever happened before.

use proptest::prelude::*;

use super::world::{AGENT, RUN, World, committed, persisted, returned, start, stop, text};
use crate::ids::RunId;
use crate::instant::{Duration, Instant};
use crate::journal::row::Reason;
use crate::machine::{Machine, Outbox};
use crate::run::limits::UNWIND;
use crate::run::lineage::{Input, Output, StartAnswer};
use crate::wire::structures::SessionStatus;

/// What may happen to run 1 and the start of run 2; what no table lists is turned away.
fn inputs() -> Vec<Input> {
    let run_id = RUN;
    let mut inputs = vec![
        start(1),
        start(2),
        stop(1, 2),
        stop(1, 3),
        returned(1),
        persisted(1, 1, 1),
        Input::Produced { run_id, row: text(1) },
        Input::AppendFailed { run_id },
        Input::CommitFailed { run_id },
        Input::Launched { run_id },
        Input::LaunchFailed { run_id },
        Input::WorkerBegan { run_id },
        Input::AgentConstructed { run_id, agent: AGENT },
        Input::RegistrationAsked { run_id },
        Input::InvocationAsked { run_id, agent: AGENT },
        Input::WorkerExited { run_id },
        Input::EndByServer { run_id, reason: Reason::Shutdown },
        Input::Evict,
    ];
    inputs.extend((2..8).map(|revision| committed(1, revision)));
    inputs
}

proptest! {
    /// REG-02 [unit]: the one token of a run is set by its Stop, and nothing unsets it.
    #[test]
    fn a_token_that_is_set_stays_set(
        is_invoked: bool, steps in prop::collection::vec(0..24_usize, 0..60),
    ) {
        let mut world = World::new();
        if is_invoked {
            world.invoke(1);
        }
        let inputs = inputs();
        let mut set: Vec<RunId> = Vec::new();
        for step in steps {
            let _ = world.try_feed(inputs[step].clone());
            for entry in &world.session.runs {
                prop_assert!(entry.token_set || !set.contains(&entry.run_id));
                if entry.token_set && !set.contains(&entry.run_id) {
                    set.push(entry.run_id);
                }
            }
            // A run id is used once; one that was forgotten here may come again.
            set.retain(|run_id| world.session.holds(*run_id));
        }
    }

    /// ADM-11 [property]: a start that is refused changes nothing, in whatever state it comes.
    #[test]
    fn a_refused_start_changes_nothing(
        is_invoked: bool, steps in prop::collection::vec(0..24_usize, 0..60),
    ) {
        let mut world = World::new();
        if is_invoked {
            world.invoke(1);
        }
        let inputs = inputs();
        for step in steps {
            let _ = world.try_feed(inputs[step].clone());
            let mut session = world.session.clone();
            let mut out = Outbox::new();
            session.step(world.now, start(9), &mut out).unwrap();
            let is_refused = out.as_slice().iter().any(|output| {
                matches!(output, Output::StartAnswered { answer: StartAnswer::Refused(_), .. })
            });
            prop_assert_eq!(is_refused, session == world.session);
        }
    }
}

/// REC-03 [unit]: what a session is shown as, whether it admits a turn, and when its row is reclaimed follow one
/// window.
#[test]
fn one_window_decides_for_everybody() {
    let mut world = World::new();
    world.invoke(1);
    world.feed(stop(1, 2));
    world.commit(1);
    let unwind = UNWIND.as_micros();
    for micros in [0, 60_000_000, unwind - 1, unwind, unwind + 1] {
        let at = Instant::from_micros(micros);
        let is_free = micros >= unwind;
        assert_eq!(world.session.may_start(at).is_ok(), is_free, "{micros}");
        assert_eq!(world.session.status(at) == SessionStatus::Idle, is_free, "{micros}");
        assert!(!world.session.may_attach(RUN));
    }
    world.pass(Duration::from_micros(unwind - 1));
    assert!(world.session.row().is_some());
    world.pass(Duration::from_micros(1));
    assert!(world.session.row().is_none());
}
