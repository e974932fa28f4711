//! Steers under Stops, lost agents, failing stores and crashes.

use std::collections::BTreeMap;

use runwarden_protocol::instant::Duration;
use runwarden_protocol::journal::row::{RowEvent, SteerFate};
use runwarden_sim::weave::{Act, AgentEvent, Bed, Client, Faults, Frame, Script, StoredRun};
use serde_json::{Value, json};

use crate::support::{each_seed, run, session, speaks, stored, text_of, turn};

async fn steer(client: &mut Client, session: &str, run: &str, text: &str) -> Option<Frame> {
    let steer = json!({"action": "steer_run", "session_id": session, "run_id": run, "text": text});
    client.call(steer).await
}

/// The id of a steer that was accepted.
fn accepted(result: &Frame) -> Option<String> {
    (result.data["outcome"] == "accepted").then(|| text_of(&result.data["steer_id"]))
}

/// What agents read, with their numbers.
fn heard(bed: &Bed) -> Vec<(u32, String)> {
    let heard = bed.agents.events().into_iter().filter_map(|event| match event {
        AgentEvent::Heard { agent, text, .. } => Some((agent, text)),
        AgentEvent::Constructed { .. }
        | AgentEvent::Invoked { .. }
        | AgentEvent::Signalled { .. }
        | AgentEvent::Answered { .. }
        | AgentEvent::Returned { .. }
        | AgentEvent::Closed { .. } => None,
    });
    heard.collect()
}

/// The steers of a stored run with their fates, each of which has a row of acceptance before.
fn fates(run: &StoredRun) -> BTreeMap<String, SteerFate> {
    let (mut open, mut fates) = (Vec::new(), BTreeMap::new());
    for row in &run.journal {
        match row.event {
            RowEvent::SteerAccepted { steer_id } => open.push(steer_id),
            RowEvent::SteerSettled { steer_id, fate } => {
                assert!(open.contains(&steer_id), "{steer_id} is settled and was not accepted");
                let before = fates.insert(steer_id.to_string(), fate);
                assert_eq!(before, None, "{steer_id} is settled twice");
            }
            RowEvent::Content { .. }
            | RowEvent::QuestionAsked { .. }
            | RowEvent::QuestionResolved { .. }
            | RowEvent::Terminal { .. } => {}
        }
    }
    assert_eq!(open.len(), fates.len(), "each accepted steer is settled");
    fates
}

/// STR-06 [sim], RACE-72 [sim]: a steer that the lost agent did not read goes to the one built in its place, once.
#[test]
fn a_rebuilt_agent_reads_what_the_lost_one_did_not() {
    each_seed(150, async |mut bed| {
        let mut random = bed.executor.stream();
        let (mut client, session) = session(&mut bed).await;
        let dies = Script::of(&[Act::Work(Duration::from_millis(40)), Act::Die]);
        bed.agents.will([dies, Script::of(&[Act::Hear, Act::Say("as you say"), Act::Hear])]);
        let run = run(&mut client, &session, "prompt").await;
        bed.sleep(Duration::from_micros(random.below(30_000) as u64)).await;
        let mut given = None;
        while given.is_none() {
            // Before its agent is called a run takes none (STR-01).
            let result = steer(&mut client, &session, &run, "shorter").await.expect("a result");
            given = accepted(&result);
            assert!(given.is_some() || result.data["reason"] == "not_running", "{result:?}");
            bed.sleep(Duration::from_millis(1)).await;
        }
        speaks(&mut client, &run).await;
        assert_eq!(heard(&bed), [(2, "shorter".to_owned())]);
        let second = steer(&mut client, &session, &run, "longer").await.expect("a result");
        let second = accepted(&second).expect("it runs");
        client.ended(&run).await.expect("its end");
        let expected =
            [given.expect("one was accepted"), second].map(|steer| (steer, SteerFate::Consumed));
        assert_eq!(fates(stored(&bed.disk.data(), &run)), BTreeMap::from(expected));
    });
}

/// An agent that read a steer has begun: its loss ends the run (table 5.2).
#[test]
fn an_agent_that_read_a_steer_is_not_replaced() {
    each_seed(60, async |mut bed| {
        let (mut client, session) = session(&mut bed).await;
        bed.agents.will([Script::of(&[Act::Hear, Act::Die])]);
        let run = run(&mut client, &session, "prompt").await;
        let mut given = None;
        while given.is_none() {
            bed.sleep(Duration::from_millis(1)).await;
            given = accepted(&steer(&mut client, &session, &run, "a").await.expect("a result"));
        }
        let ended = client.ended(&run).await.expect("its end");
        assert_eq!(ended.data["status"], "failed");
        assert_eq!(heard(&bed).len(), 1);
        assert_eq!(turn(&mut client, &session, "next").await.1, "completed");
    });
}

/// Whatever the run meets, what was accepted is settled once in its journal, and what its terminal gives back is
/// what no agent read.
#[test]
fn every_accepted_steer_is_settled_once_whatever_happens() {
    each_seed(300, async |mut bed| {
        let mut random = bed.executor.stream();
        let (mut client, session) = session(&mut bed).await;
        let pause = Act::Work(Duration::from_millis(random.below(30) as u64));
        let last = [Act::Hang, Act::Die, Act::Fail, Act::Say("b")][random.below(4)];
        let acts = [Act::Say("a"), pause, Act::Hear, pause, Act::Hear, last];
        bed.agents.will([Script::of(&acts)]);
        let run = run(&mut client, &session, "prompt").await;
        let append_permille = [0, 0, 300][random.below(3)];
        bed.disk.set_faults(Faults { append_permille, ..Faults::default() });
        let mut given = BTreeMap::new();
        for n in 0..random.below(6) {
            bed.sleep(Duration::from_micros(random.below(20_000) as u64)).await;
            let text = format!("steer {n}");
            let Some(result) = steer(&mut client, &session, &run, &text).await else { break };
            given.extend(accepted(&result).map(|steer| (steer, text)));
        }
        bed.sleep(Duration::from_micros(random.below(30_000) as u64)).await;
        // What is durable survives a kill, what is stable a loss of power as well; a steer is durable.
        let (is_killed, is_power_lost) =
            [(true, false), (false, true), (false, false)][random.below(3)];
        let ended = if is_killed || is_power_lost {
            if is_killed {
                bed.kill()
            } else {
                bed.lose_power()
            }
            bed.disk.set_faults(Faults::default());
            bed.start().await;
            None
        } else {
            client.stop(&session, &run).await;
            client.ended(&run).await
        };
        let data = bed.disk.data();
        let fates = fates(stored(&data, &run));
        for steer in given.keys().filter(|_| !is_power_lost) {
            assert!(fates.contains_key(steer), "{steer} was accepted");
        }
        if let Some(ended) = ended {
            judge_terminal(&bed, &ended.data, &given, &fates);
        }
    });
}

fn judge_terminal(
    bed: &Bed,
    terminal: &Value,
    given: &BTreeMap<String, String>,
    fates: &BTreeMap<String, SteerFate>,
) {
    let returned = terminal["returned_steers"].as_array().expect("a list");
    let back: BTreeMap<String, String> = returned
        .iter()
        .map(|steer| (text_of(&steer["steer_id"]), text_of(&steer["text"])))
        .collect();
    let unread = fates.iter().filter(|(_, fate)| **fate == SteerFate::Returned);
    assert_eq!(back.keys().collect::<Vec<_>>(), unread.map(|(steer, _)| steer).collect::<Vec<_>>());
    assert!(back.iter().all(|(steer, text)| given.get(steer) == Some(text)), "{back:?}");
    let read: Vec<_> = heard(bed).into_iter().map(|(_, text)| text).collect();
    for (steer, fate) in fates {
        let is_read = read.contains(&given[steer]);
        assert!(*fate == SteerFate::Returned || is_read, "{steer} is consumed, and nobody read it");
    }
}
