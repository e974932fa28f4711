//! Actions: one outcome each, also when the store fails or the server stops.

use std::collections::BTreeMap;

use futures_lite::future::zip;
use runwarden_protocol::ids::PrincipalId;
use runwarden_protocol::instant::Duration;
use runwarden_protocol::journal::row::{Outcome, Reason};
use runwarden_sim::weave::{Act, Client, Faults, Random, Script};
use serde_json::{Value, json};

use crate::support::{each_seed, run, session, speaks, stored, text_of, turn};

fn a_change(random: &mut Random, session: &str, number: usize) -> Value {
    match random.below(6) {
        0 => json!({"action": "create_session"}),
        1 => json!({"action": "list_sessions"}),
        2 => json!({"action": "open_session", "session_id": session, "generation": number}),
        3 => {
            json!({"action": "load_history", "session_id": session, "generation": 1, "latest": true})
        }
        4 => json!({"action": "stop_run", "session_id": session, "run_id": "run_0000000000000007"}),
        _ => json!({"action": "send_message", "session_id": session, "text": "hello"}),
    }
}

/// ACT-5 [sim]: every action ends in exactly one outcome, also when commits fail.
#[test]
fn every_action_has_exactly_one_outcome() {
    each_seed(100, async |mut bed| {
        let mut random = bed.executor.stream();
        let (mut client, session) = session(&mut bed).await;
        bed.disk.set_faults(Faults { commit_permille: 300, ..Faults::default() });
        let mut sent = Vec::new();
        for number in 0..20 {
            sent.push(client.send(a_change(&mut random, &session, number)).await);
        }
        bed.sleep(Duration::from_secs(2)).await;
        client
            .call(json!({"action": "list_questions", "session_id": session}))
            .await
            .expect("a reply");
        let mut outcomes: BTreeMap<&str, u32> = BTreeMap::new();
        for frame in client.untaken() {
            if let Some(request_id) = frame.data["request_id"].as_str() {
                *outcomes.entry(request_id).or_default() += 1;
            }
        }
        for request_id in &sent {
            assert_eq!(outcomes.get(request_id.as_str()), Some(&1), "{request_id}");
        }
    });
}

/// ACT-6 [sim], ERR-6 [sim], ERR-16 [sim]: a failed change is answered by its recorded error alone; nobody is
/// told of a change; acknowledged on one connection the error closes on the principal's others and nowhere
/// else.
#[test]
fn a_store_failure_is_one_recorded_error_and_no_change() {
    each_seed(100, async |mut bed| {
        bed.start().await;
        let mut client = bed.connect().await;
        let mut other = bed.connect().await;
        let mut stranger = bed.connect_as(PrincipalId::new(2)).await;
        bed.disk.set_faults(Faults { commit_permille: 1_000, ..Faults::default() });
        let failed = client.call(json!({"action": "create_session"})).await.expect("a reply");
        assert_eq!(
            (failed.kind.as_str(), &failed.data["code"]),
            ("operation_error", &json!("storage_failed"))
        );
        let recorded: Vec<_> =
            bed.disk.data().errors.into_iter().map(|(_, error)| error.error_id).collect();
        assert_eq!(json!(recorded), json!([failed.data["error_id"]]), "recorded before it is told");
        bed.disk.set_faults(Faults::default());
        let listed = client.call(json!({"action": "list_sessions"})).await.expect("a list");
        assert_eq!(listed.data["sessions"], json!([]));
        let acknowledge =
            json!({"action": "acknowledge_user_error", "error_id": failed.data["error_id"]});
        let reply = client.call(acknowledge).await.expect("a reply");
        assert_eq!(reply.kind, "user_error_acknowledged");
        bed.sleep(Duration::from_secs(1)).await;
        let count = |client: &Client, kind: &str| client.everything().matches(kind).count();
        for client in [&mut client, &mut other, &mut stranger] {
            client.call(json!({"action": "list_sessions"})).await.expect("a reply");
        }
        assert_eq!(count(&client, "operation_recovered"), 1);
        assert_eq!(count(&other, "operation_recovered"), 1);
        assert_eq!(count(&stranger, "operation_recovered"), 0);
        for client in [&client, &other, &stranger] {
            assert_eq!(count(client, "\"session_item\""), 0, "nothing changed");
            assert!(!client.everything().contains("pri_"));
        }
    });
}

/// ACT-11 [sim]: a run that fails is told by its terminal alone.
#[test]
fn a_failed_run_is_told_once() {
    each_seed(100, async |mut bed| {
        let (mut client, session) = session(&mut bed).await;
        bed.agents.will([Script::of(&[Act::Say("a"), Act::Fail])]);
        assert_eq!(turn(&mut client, &session, "one").await.1, "failed");
        bed.sleep(Duration::from_secs(5)).await;
        client.call(json!({"action": "list_sessions"})).await.expect("a reply");
        assert_eq!(client.everything().matches("operation_error").count(), 0);
        assert_eq!(client.everything().matches("\"stream_terminal\"").count(), 1);
    });
}

/// REQ-10 [sim], REQ-13 [sim]: two sends under one key from two connections start one run and get one answer; a
/// failed attempt frees the key; what is acknowledged outlives a loss of power.
#[test]
fn one_key_starts_one_run() {
    each_seed(150, async |mut bed| {
        let (mut first, session) = session(&mut bed).await;
        let mut second = bed.connect().await;
        bed.disk.set_faults(Faults { commit_permille: 300, ..Faults::default() });
        let send = json!({
            "action": "send_message", "session_id": session, "text": "once", "idempotency_key": "k",
        });
        let (mut acknowledged, mut tries) = (Vec::new(), 0);
        while acknowledged.is_empty() {
            tries += 1;
            assert!(tries < 100, "never accepted");
            let (one, two) = zip(first.call(send.clone()), second.call(send.clone())).await;
            for reply in
                [one, two].into_iter().flatten().filter(|reply| reply.kind == "message_ack")
            {
                acknowledged.push(text_of(&reply.data["run_id"]));
            }
        }
        bed.disk.set_faults(Faults::default());
        bed.lose_power();
        bed.start().await;
        let mut client = bed.connect().await;
        let again = client.call(send).await.expect("a reply");
        acknowledged.push(text_of(&again.data["run_id"]));
        acknowledged.dedup();
        assert_eq!(acknowledged.len(), 1, "one run for the key: {acknowledged:?}");
        let data = bed.disk.data();
        let lasting = data.runs.values().filter(|run| run.outcome != Some(Outcome::Failed)).count();
        assert_eq!(lasting, 1);
        assert_eq!(stored(&data, &acknowledged[0]).settlements, 1);
    });
}

/// ACT-10 [sim]: a server that stops serves Stop and refuses every other change, and what was queued arrives.
#[test]
fn a_stopping_server_refuses_all_but_stop() {
    each_seed(60, async |mut bed| {
        let (mut client, session) = session(&mut bed).await;
        bed.agents.will([Script::of(&[Act::Say("a"), Act::Hang])]);
        let run = run(&mut client, &session, "one").await;
        speaks(&mut client, &run).await;
        bed.hub().stop_accepting();
        bed.sleep(Duration::from_millis(1)).await;
        for action in [
            json!({"action": "list_sessions"}),
            json!({"action": "create_session"}),
            json!({"action": "send_message", "session_id": session, "text": "two"}),
        ] {
            let refused = client.call(action.clone()).await.expect("a reply");
            assert_eq!(refused.data["code"], "server_stopping", "{action}");
        }
        let result =
            client.call(json!({"action": "get_request_result", "target_request_id": "x"})).await;
        assert_eq!(result.expect("a reply").kind, "request_result");
        let stopped = client.stop(&session, &run).await.expect("an answer");
        assert_eq!(stopped.data["outcome"], "accepted");
        assert_eq!(client.ended(&run).await.expect("the end").data["status"], "cancelled");
    });
}

/// LIM-01 [sim], LIM-02 [sim]: a run is ended at its greatest age however much it says, and at its greatest silence
/// unless a question is open.
#[test]
fn a_run_is_ended_at_its_limits() {
    each_seed(60, async |mut bed| {
        let mut random = bed.executor.stream();
        let is_age = random.chance(500);
        bed.limits.run_max = is_age.then_some(Duration::from_secs(50));
        bed.limits.agent_silence_max = Duration::from_secs(30);
        let (mut client, session) = session(&mut bed).await;
        let (asks, work) = (random.chance(500), Act::Work(Duration::from_secs(20)));
        let talk = [Act::Say("x"), work].repeat(4);
        let acts: Vec<Act> = match (is_age, asks) {
            (true, _) => talk,
            (false, true) => vec![Act::Ask, Act::Hang],
            (false, false) => vec![Act::Say("x"), Act::Hang],
        };
        bed.agents.will([Script::of(&acts)]);
        let began = bed.now();
        let run = run(&mut client, &session, "one").await;
        client.ended(&run).await.expect("the end");
        let age = bed.now().age_of(began);
        let (reason, limit) = match (is_age, asks) {
            (true, _) => (Reason::RunMax, Duration::from_secs(50)),
            // The question closes after 120 s, and the silence counts from there.
            (false, true) => (Reason::AgentSilent, Duration::from_secs(150)),
            (false, false) => (Reason::AgentSilent, Duration::from_secs(30)),
        };
        let data = bed.disk.data();
        let ended = stored(&data, &run);
        assert_eq!((ended.outcome, ended.reason), (Some(Outcome::Failed), Some(reason)));
        assert!(
            age >= limit && age.as_millis() < limit.as_millis() + 1_000,
            "{age:?} of {limit:?}"
        );
    });
}
