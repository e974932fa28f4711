//! The journal of turns: every accepted turn is stable before it runs, and closed once.

use runwarden_protocol::instant::Duration;
use runwarden_sim::weave::{
    Act, AgentEvent, Bed, Client, Construct, Data, Faults, Manner, Random, Script, TurnStep,
};
use serde_json::json;

use crate::support::{each_seed, run, session, stored};

fn is_made(event: &AgentEvent) -> bool {
    matches!(event, AgentEvent::Constructed { .. })
}

/// TRN-02 [sim]: no worker is launched before its turn's `submitted` is stable: whatever moment power is lost at, the
/// turn of an agent that was made is in the journal.
#[test]
fn a_worker_is_launched_behind_a_stable_turn() {
    each_seed(300, async |mut bed| {
        let mut random = bed.executor.stream();
        let (mut client, session) = session(&mut bed).await;
        bed.agents.will([Script::of(&[Act::Hang])]);
        let message = json!({"action": "send_message", "session_id": session, "text": "t"});
        client.send(message).await;
        bed.sleep(Duration::from_micros(random.below(25_000) as u64)).await;
        let made = bed.agents.events().iter().filter(|event| is_made(event)).count();
        bed.lose_power();
        let data = bed.disk.data();
        let submitted =
            data.runs.values().filter(|run| run.turn.first() == Some(&TurnStep::Submitted)).count();
        assert!(made <= submitted, "{made} agents were made for {submitted} turns");
    });
}

/// TRN-02 [sim], REC-08 [sim]: a turn that cannot be written is refused `launch_failed`; nothing of it is kept and no
/// agent made, its key is free, and the session takes the next one.
#[test]
fn a_turn_that_cannot_be_written_is_not_started() {
    each_seed(100, async |mut bed| {
        let (mut client, session) = session(&mut bed).await;
        bed.disk.set_faults(Faults { admissions_fail: 1, ..Faults::default() });
        let message = json!({"action": "send_message", "session_id": session, "text": "t",
            "idempotency_key": "k"});
        let refused = client.call(message.clone()).await.expect("a reply");
        assert_eq!(refused.data["code"], "launch_failed", "{refused:?}");
        assert!(bed.disk.data().runs.is_empty());
        assert!(!bed.agents.events().iter().any(is_made));
        let again = client.call(message).await.expect("a reply");
        assert_eq!(again.kind, "message_ack", "{again:?}");
        let run = again.data["run_id"].as_str().expect("a run").to_owned();
        client.ended(&run).await.expect("its end");
        assert_eq!(stored(&bed.disk.data(), &run).settlements, 1);
    });
}

/// TRN-03 [sim]: completion, failure, a Stop at any point, an agent that is not made, a lost worker, a worker that is
/// fenced and comes back, a turn that could not be started and a restart: each closes its turn, once, with the
/// outcome of its run.
#[test]
fn every_exit_closes_the_turn() {
    each_seed(150, async |mut bed| {
        bed.limits.unwind = Duration::from_secs(1);
        let mut random = bed.executor.stream();
        let (mut client, session) = session(&mut bed).await;
        for _ in 0..6 {
            leave(&mut bed, &mut client, &session, &mut random).await;
            if !bed.is_running() {
                bed.start().await;
                client = bed.connect().await;
                client.open(&session).await;
            }
            bed.agents.forget_plans();
            bed.disk.set_faults(Faults::default());
        }
        bed.sleep(Duration::from_secs(15)).await;
        check_turns(&bed.disk.data());
    });
}

/// One turn, left in a way that is drawn.
async fn leave(bed: &mut Bed, client: &mut Client, session: &str, random: &mut Random) {
    let moment = Duration::from_micros(random.below(40_000) as u64);
    let kind = random.below(8);
    match kind {
        0 => bed.agents.will([Script::says("a")]),
        1 => bed.agents.will([Script::of(&[Act::Say("a"), Act::Fail])]),
        2 => bed.agents.constructed([Construct::Fails(moment)]),
        3 => bed.disk.set_faults(Faults { contexts_fail: 1, ..Faults::default() }),
        4 => bed.disk.set_faults(Faults { admissions_fail: 1, ..Faults::default() }),
        5 => bed.agents.will([Script::of(&[Act::Say("a"), Act::Hang])]),
        // It is reclaimed long before it ends.
        6 => bed.agents.will([Script::of(&[Act::Say("a"), Act::Hang]).with(Manner::Deaf)]),
        _ => bed.agents.will([Script::of(&[Act::Say("a"), Act::Work(moment), Act::Hang])]),
    }
    let message = json!({"action": "send_message", "session_id": session, "text": "a turn"});
    let reply = client.call(message).await.expect("a reply");
    if kind == 4 {
        assert_eq!(reply.data["code"], "launch_failed");
        return;
    }
    let run = reply.data["run_id"].as_str().expect("a run").to_owned();
    match kind {
        5 | 6 => {
            bed.sleep(moment).await;
            client.stop(session, &run).await;
            client.ended(&run).await.expect("its end");
            bed.sleep(Duration::from_secs(2)).await;
        }
        7 => {
            bed.sleep(moment).await;
            if random.chance(500) { bed.kill() } else { bed.lose_power() }
        }
        _ => {
            client.ended(&run).await.expect("its end");
        }
    }
}

fn check_turns(data: &Data) {
    assert!(data.sessions.values().all(|session| session.head.pending.is_none()));
    for (run_id, run) in &data.runs {
        let outcome = run.outcome.unwrap_or_else(|| panic!("{run_id} has not ended"));
        assert_eq!(run.terminal(), Some(outcome));
        let steps: Vec<_> =
            run.turn.iter().filter(|step| **step != TurnStep::WorkerStarted).collect();
        assert_eq!(steps, [&TurnStep::Submitted, &TurnStep::Ended(outcome)], "{run_id}");
        assert_eq!(run.turn.last(), Some(&TurnStep::Ended(outcome)), "{run_id}");
        assert!(run.turn.len() <= 3, "{run_id}: {:?}", run.turn);
    }
}

/// A worker began at most once, and only the turns of workers that began say so.
#[test]
fn a_turn_says_that_its_worker_began() {
    each_seed(50, async |mut bed| {
        let (mut client, session) = session(&mut bed).await;
        let begun = run(&mut client, &session, "one").await;
        client.ended(&begun).await;
        let data = bed.disk.data();
        let begun = &stored(&data, &begun).turn;
        assert_eq!(begun.iter().filter(|step| **step == TurnStep::WorkerStarted).count(), 1);
    });
}
