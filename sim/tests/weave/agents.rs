//! Agents: kept between turns, replaced when they are lost, given up when there are too many.

use std::collections::{BTreeMap, BTreeSet};

use futures_lite::future::zip;
use runwarden_protocol::ids::RunId;
use runwarden_protocol::instant::Duration;
use runwarden_protocol::run::limits::SELF_HEAL_MAX;
use runwarden_sim::weave::{Act, AgentEvent, Bed, Client, Construct, Script};

use crate::support::{each_seed, run, run_id, session, speaks, stored, turn};

/// Runs by agent, in the order of their calls.
fn calls(bed: &Bed) -> Vec<(u32, RunId)> {
    let calls = bed.agents.events().into_iter().filter_map(|event| match event {
        AgentEvent::Invoked { agent, run_id, .. } => Some((agent, run_id)),
        AgentEvent::Constructed { .. }
        | AgentEvent::Signalled { .. }
        | AgentEvent::Answered { .. }
        | AgentEvent::Heard { .. }
        | AgentEvent::Returned { .. }
        | AgentEvent::Closed { .. } => None,
    });
    calls.collect()
}

/// How often each agent was closed.
fn closes(bed: &Bed) -> BTreeMap<u32, u32> {
    let mut closes = BTreeMap::new();
    for event in bed.agents.events() {
        if let AgentEvent::Closed { agent } = event {
            *closes.entry(agent).or_default() += 1;
        }
    }
    closes
}

#[test]
fn one_agent_serves_the_turns_of_a_session() {
    each_seed(100, async |mut bed| {
        let (mut client, session) = session(&mut bed).await;
        for _ in 0..3 {
            assert_eq!(turn(&mut client, &session, "again").await.1, "completed");
        }
        assert!(calls(&bed).iter().all(|(agent, _)| *agent == 1), "{:?}", calls(&bed));
        drop(client);
        bed.sleep(Duration::from_secs(61)).await;
        assert_eq!(bed.agents.open(), 0, "a session nobody looks at gives its agent up");
    });
}

#[test]
fn a_lost_agent_is_replaced_within_the_turn_and_closed_once() {
    each_seed(100, async |mut bed| {
        let mut random = bed.executor.stream();
        let (mut client, session) = session(&mut bed).await;
        turn(&mut client, &session, "first").await;
        let losses = random.below(usize::from(SELF_HEAL_MAX) + 2);
        bed.agents.will(
            (0..losses).map(|_| Script::of(&[Act::Work(Duration::from_millis(5)), Act::Die])),
        );
        let (run, status) = turn(&mut client, &session, "second").await;
        let is_cured = losses <= usize::from(SELF_HEAL_MAX);
        assert_eq!(status, if is_cured { "completed" } else { "failed" });
        let served = calls(&bed).into_iter().filter(|(_, called)| *called == run_id(&run)).count();
        assert_eq!(
            served,
            losses.min(usize::from(SELF_HEAL_MAX)) + usize::from(is_cured) + usize::from(!is_cured)
        );
        bed.sleep(Duration::from_secs(1)).await;
        let expected: BTreeMap<u32, u32> =
            (1..=u32::try_from(losses).unwrap()).map(|agent| (agent, 1)).collect();
        assert_eq!(closes(&bed), expected);
        assert_eq!(turn(&mut client, &session, "third").await.1, "completed");
    });
}

#[test]
fn an_agent_that_spoke_is_not_replaced() {
    each_seed(100, async |mut bed| {
        let (mut client, session) = session(&mut bed).await;
        bed.agents.will([Script::of(&[
            Act::Say("half a"),
            Act::Work(Duration::from_millis(50)),
            Act::Die,
        ])]);
        let (run, status) = turn(&mut client, &session, "one").await;
        assert_eq!((status.as_str(), calls(&bed).len()), ("failed", 1));
        let data = bed.disk.data();
        assert_eq!(stored(&data, &run).journal[0].body, "half a");
        assert_eq!(closes(&bed), BTreeMap::from([(1, 1)]));
    });
}

/// REG-13 [sim]: of the sessions without a run the one used longest ago gives up its agent; a session with
/// a run keeps it, also when more remain than may.
#[test]
fn too_many_agents_are_given_up_by_idle_sessions_only() {
    each_seed(100, async |mut bed| {
        bed.agents_kept_max = 2;
        bed.limits.agent_silence_max = Duration::from_secs(10_000);
        let (mut client, first) = session(&mut bed).await;
        let mut sessions = vec![first];
        for _ in 1..6 {
            sessions.push(client.create_session().await.expect("a session"));
        }
        let mut busy = Vec::new();
        for session in &sessions[..3] {
            bed.agents.will([Script::of(&[Act::Say("a"), Act::Hang])]);
            let run = run(&mut client, session, "long").await;
            speaks(&mut client, &run).await;
            busy.push(run);
        }
        for session in &sessions[3..] {
            turn(&mut client, session, "short").await;
        }
        bed.sleep(Duration::from_secs(1)).await;
        assert_eq!(bed.agents.open(), 3, "those with a run: {:?}", closes(&bed));
        assert_eq!(closes(&bed).keys().copied().collect::<Vec<_>>(), [4, 5, 6]);
        for (session, run) in sessions.iter().zip(&busy) {
            client.stop(session, run).await;
        }
        bed.sleep(Duration::from_secs(1)).await;
        assert_eq!(bed.agents.open(), 2);
        assert!(closes(&bed).values().all(|closes| *closes == 1));
        turn(&mut client, &sessions[2], "kept").await;
        assert_eq!(calls(&bed).last().map(|(agent, _)| *agent), Some(3), "used last of the three");
    });
}

/// REG-13 [sim]: an agent is never closed while its session has a run, however close an eviction and the next
/// turn come.
#[test]
fn an_eviction_never_takes_an_agent_in_use() {
    each_seed(60, async |mut bed| {
        bed.agents_kept_max = 1;
        let (first, session) = session(&mut bed).await;
        let mut clients = vec![(first, session)];
        for _ in 0..2 {
            let mut client = bed.connect().await;
            let session = client.create_session().await.expect("a session");
            clients.push((client, session));
        }
        let works = [0, 1, 2, 3].map(|time| Act::Work(Duration::from_millis(time)));
        bed.agents.will(works.iter().cycle().take(24).map(|work| Script::of(&[*work])));
        let mut talks = clients.into_iter().map(|(client, session)| talk(client, session));
        let mut next = || talks.next().expect("three clients");
        zip(next(), zip(next(), next())).await;
        judge_use(&bed);
    });
}

async fn talk(mut client: Client, session: String) {
    for _ in 0..8 {
        assert_eq!(turn(&mut client, &session, "again").await.1, "completed");
    }
}

/// No call begins behind the close of its agent, and no close comes within a call.
fn judge_use(bed: &Bed) {
    let (mut open, mut closed) = (BTreeSet::new(), BTreeSet::new());
    for event in bed.agents.events() {
        match event {
            AgentEvent::Constructed { .. }
            | AgentEvent::Answered { .. }
            | AgentEvent::Heard { .. }
            | AgentEvent::Signalled { .. } => {}
            AgentEvent::Invoked { agent, .. } => {
                assert!(!closed.contains(&agent), "agent {agent} is called and was closed");
                open.insert(agent);
            }
            AgentEvent::Returned { agent, .. } => {
                open.remove(&agent);
            }
            AgentEvent::Closed { agent } => {
                assert!(!open.contains(&agent), "agent {agent} is closed within a call");
                assert!(closed.insert(agent), "agent {agent} is closed twice");
            }
        }
    }
    assert!(!closed.is_empty(), "nothing was evicted");
}

#[test]
fn a_stop_between_a_loss_and_the_next_agent_calls_nobody() {
    each_seed(100, async |mut bed| {
        let mut random = bed.executor.stream();
        let (mut client, session) = session(&mut bed).await;
        let slow = Construct::After(Duration::from_millis(200));
        bed.agents.constructed([Construct::After(Duration::ZERO), slow]);
        bed.agents.will([Script::of(&[Act::Die])]);
        let run = run(&mut client, &session, "one").await;
        while closes(&bed).is_empty() {
            bed.sleep(Duration::from_millis(1)).await;
        }
        bed.sleep(Duration::from_millis(random.below(190) as u64)).await;
        let answer = client.stop(&session, &run).await.expect("an answer");
        assert_eq!(answer.data["outcome"], "accepted");
        bed.sleep(Duration::from_secs(1)).await;
        assert_eq!(calls(&bed), [(1, run_id(&run))]);
        assert_eq!(bed.agents.open(), 0, "{:?}", bed.agents.events());
        assert!(
            !bed.agents.events().iter().any(|event| matches!(event, AgentEvent::Signalled { .. }))
        );
    });
}

/// AGT-03 [sim]: an agent of context `own` that takes over from one whose process or cache entry was lost is
/// given the handle of the conversation, and all of it at its first call for where that fails.
#[test]
fn who_takes_over_is_given_the_conversation() {
    each_seed(100, async |mut bed| {
        let mut random = bed.executor.stream();
        bed.agents.keep_conversations();
        let (mut client, session) = session(&mut bed).await;
        turn(&mut client, &session, "one").await;
        match random.below(4) {
            0 => bed.agents.will([Script::of(&[Act::Die])]),
            1 => {
                drop(client);
                bed.sleep(Duration::from_secs(61)).await;
            }
            2 => bed.kill(),
            _ => bed.lose_power(),
        }
        if !bed.is_running() {
            bed.start().await;
        }
        let mut client = bed.connect().await;
        client.open(&session).await;
        assert_eq!(turn(&mut client, &session, "two").await.1, "completed");
        let events = bed.agents.events();
        let resume = Some("conversation-1".to_owned());
        assert!(events.contains(&AgentEvent::Constructed { agent: 2, resume }), "{events:?}");
        let told = events.iter().rev().find_map(|event| match event {
            AgentEvent::Invoked { agent: 2, context, .. } => {
                Some(context.iter().map(|message| message.text.as_str()).collect::<Vec<_>>())
            }
            _ => None,
        });
        assert_eq!(told, Some(vec!["one", "done", "two"]));
    });
}
