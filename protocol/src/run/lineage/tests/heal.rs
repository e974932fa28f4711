//! Agents that are lost, kept and given up.

use super::world::{AGENT, RUN, World, persisted, returned, start, stop, text};
use crate::ids::{AgentId, RunId};
use crate::journal::row::Outcome;
use crate::run::Phase;
use crate::run::cache::Notice;
use crate::run::limits::SELF_HEAL_MAX;
use crate::run::lineage::{Input, Output};
use crate::run::stop::Answer;
use crate::run::worker::CallResult;

const SECOND: AgentId = AgentId::new(20);

fn lost(n: u64) -> Input {
    Input::Returned { run_id: RunId::new(n), result: CallResult::Lost }
}

fn closes(world: &World, agent: AgentId) -> usize {
    world.log.iter().filter(|output| **output == Output::Close { agent }).count()
}

fn invocations(world: &World) -> usize {
    world.log.iter().filter(|output| matches!(output, Output::Invoke { .. })).count()
}

fn notices(outputs: &[Output]) -> Vec<Notice> {
    let notices = outputs.iter().filter_map(|output| match output {
        Output::TellCache { notice } => Some(*notice),
        _ => None,
    });
    notices.collect()
}

fn rebuild(world: &mut World, agent: AgentId) {
    world.feed(Input::AgentConstructed { run_id: RUN, agent });
    world.feed(Input::RegistrationAsked { run_id: RUN });
    world.feed(Input::InvocationAsked { run_id: RUN, agent });
}

#[test]
fn a_lost_agent_is_closed_once_and_another_one_serves_the_run() {
    let mut world = World::new();
    world.invoke(1);
    let outputs = world.feed(lost(1));
    assert_eq!(
        outputs,
        [
            Output::TellCache { notice: Notice::Retired },
            Output::Close { agent: AGENT },
            Output::Construct { run_id: RUN },
        ]
    );
    assert_eq!(world.session.row().unwrap().phase, Phase::Running);
    rebuild(&mut world, SECOND);
    world.feed(returned(1));
    world.commit(1);
    assert_eq!((invocations(&world), closes(&world, AGENT)), (2, 1));
    assert_eq!(world.ended(), [Outcome::Completed]);
    assert_eq!(world.session.cached_agent(), Some(SECOND));
}

#[test]
fn the_third_loss_and_a_loss_after_output_end_the_run() {
    let mut world = World::new();
    world.invoke(1);
    for n in 0..u64::from(SELF_HEAL_MAX) {
        world.feed(lost(1));
        rebuild(&mut world, AgentId::new(20 + n));
    }
    world.feed(lost(1));
    world.commit(1);
    assert_eq!(world.ended(), [Outcome::Failed]);
    assert_eq!(world.session.cached_agent(), None);

    let mut world = World::new();
    world.invoke(1);
    world.feed(Input::Produced { run_id: RUN, row: text(1) });
    world.feed(persisted(1, 1, 1));
    assert!(!world.feed(lost(1)).contains(&Output::Construct { run_id: RUN }));
    world.commit(1);
    assert_eq!((world.ended(), closes(&world, AGENT)), (vec![Outcome::Failed], 1));
}

#[test]
fn a_rebuild_that_fails_ends_the_run_and_frees_the_session() {
    let mut world = World::new();
    world.invoke(1);
    world.feed(lost(1));
    world.feed(Input::ConstructionFailed { run_id: RUN });
    assert!(world.commit(1).contains(&Output::BecameIdle));
    assert_eq!(world.ended(), [Outcome::Failed]);
}

#[test]
fn a_stop_between_a_loss_and_the_next_registration_calls_nobody_again() {
    for is_constructed in [false, true] {
        let mut world = World::new();
        world.invoke(1);
        world.feed(lost(1));
        if is_constructed {
            world.feed(Input::AgentConstructed { run_id: RUN, agent: SECOND });
        }
        world.feed(stop(1, 2));
        if !is_constructed {
            world.feed(Input::AgentConstructed { run_id: RUN, agent: SECOND });
        }
        let refused = world.feed(Input::RegistrationAsked { run_id: RUN });
        let expected = [Output::CleanUp { agent: SECOND }, Output::ExitWorker { run_id: RUN }];
        assert_eq!(refused, expected);
        let settled = world.commit(1);
        let accepted = |output: &Output| {
            matches!(output, Output::StopAnswered { answer: Answer::Accepted, .. })
        };
        assert!(settled.iter().any(accepted), "{settled:?}");
        world.feed(Input::WorkerExited { run_id: RUN });
        assert_eq!((invocations(&world), closes(&world, AGENT)), (1, 1));
        assert!(!world.log.iter().any(|output| matches!(output, Output::Signal { .. })));
        assert_eq!(world.ended(), [Outcome::Cancelled]);
        assert!(world.session.may_start(world.now).is_ok());
    }
}

#[test]
fn an_agent_that_is_lost_after_a_stop_is_not_replaced() {
    let mut world = World::new();
    world.invoke(1);
    world.feed(stop(1, 2));
    assert!(!world.feed(lost(1)).contains(&Output::Construct { run_id: RUN }));
    assert_eq!((closes(&world, AGENT), world.session.cached_agent()), (1, None));
}

#[test]
fn an_agent_is_given_up_only_while_the_session_has_no_row() {
    let mut world = World::new();
    assert_eq!(world.feed(Input::Evict), [], "there is none");
    world.invoke(1);
    assert_eq!(notices(&world.log), [Notice::Registered]);
    assert_eq!(world.feed(Input::Evict), [Output::TellCache { notice: Notice::Refused }]);
    world.feed(returned(1));
    assert_eq!(world.feed(Input::Evict), [Output::TellCache { notice: Notice::Refused }]);
    assert_eq!(notices(&world.commit(1)), [Notice::Freed]);
    let evicted = world.feed(Input::Evict);
    let expected = [Output::TellCache { notice: Notice::Retired }, Output::Close { agent: AGENT }];
    assert_eq!(evicted, expected);
    assert_eq!((world.session.cached_agent(), closes(&world, AGENT)), (None, 1));
    let began = {
        world.launch(2);
        world.feed(Input::WorkerBegan { run_id: RunId::new(2) })
    };
    assert!(began.contains(&Output::Construct { run_id: RunId::new(2) }), "the next one is new");
}

#[test]
fn a_start_that_fails_tells_the_cache_that_the_row_is_gone() {
    let mut world = World::new();
    world.invoke(1);
    world.feed(returned(1));
    world.commit(1);
    world.feed(start(2));
    let failed = world.feed(Input::CommitFailed { run_id: RunId::new(2) });
    assert_eq!(notices(&failed), [Notice::Freed]);
}

#[test]
fn a_stop_during_a_construction_does_not_wait_for_it() {
    let mut world = World::new();
    world.launch(1);
    world.feed(Input::WorkerBegan { run_id: RUN });
    let abandoned = Output::AbandonConstruction { run_id: RUN };
    assert!(world.feed(stop(1, 2)).contains(&abandoned));
    let failed = world.feed(Input::ConstructionFailed { run_id: RUN });
    assert!(failed.contains(&Output::ExitWorker { run_id: RUN }));
    world.commit(1);
    assert!(world.feed(Input::WorkerExited { run_id: RUN }).contains(&Output::BecameIdle));
    let mut world = World::new();
    world.invoke(1);
    assert!(!world.feed(stop(1, 2)).contains(&abandoned), "there is none");
}
