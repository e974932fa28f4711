//! Inputs that are refused change nothing; a Stop acts on the run it names.

use runwarden_protocol::ids::PrincipalId;
use runwarden_protocol::instant::Duration;
use runwarden_sim::weave::{Act, Bed, Client, Frame, OWNER, Script};
use serde_json::{Value, json};

/// Runs a scenario.
pub(crate) fn under<F>(seed: u64, scenario: impl FnOnce(Bed) -> F)
where
    F: Future<Output = ()> + Send + 'static,
{
    Bed::run(seed, scenario).unwrap_or_else(|stuck| panic!("seed {seed}: {stuck}"));
}

pub(crate) async fn session(client: &mut Client) -> String {
    client.create_session().await.expect("a session")
}

/// A run that has said something and hangs.
pub(crate) async fn hanging(client: &mut Client, session: &str) -> String {
    let ack = client.say(session, "go").await.expect("a reply");
    let run = ack.data["run_id"].as_str().unwrap_or_else(|| panic!("{ack:?}")).to_owned();
    let spoke = |frame: &Frame| frame.kind == "stream_text" && frame.data["entity_id"] == *run;
    client.until(spoke).await.expect("a text");
    run
}

pub(crate) fn script() -> Script {
    Script::of(&[Act::Say("a"), Act::Hang])
}

async fn stop(client: &mut Client, session: &str, run: &str) -> Value {
    client.stop(session, run).await.expect("an answer").data
}

/// STOP-01 [unit]: a Stop without a run is none; one of a principal that may not write the session that owns the run,
/// or that names another session, stops nothing; a good one ends the run it names and no other.
#[test]
fn a_stop_acts_on_the_run_it_names_for_who_may_write_its_session() {
    under(1, async |mut bed| {
        bed.start().await;
        let mut client = bed.connect().await;
        bed.agents.will([script(), script()]);
        let (first, second) = (session(&mut client).await, session(&mut client).await);
        let (one, two) = (hanging(&mut client, &first).await, hanging(&mut client, &second).await);
        bed.sleep(Duration::from_secs(1)).await;
        let before = bed.disk.data();
        let without = json!({"action": "stop_run", "session_id": first});
        assert_eq!(client.call(without).await.expect("a reply").data["code"], "invalid_request");
        let mut stranger = bed.connect_as(PrincipalId::new(2)).await;
        let mut reader = bed.connect_to_read(OWNER).await;
        for (client, code) in
            [(&mut stranger, "session_unknown"), (&mut reader, "session_read_only")]
        {
            let refused = stop(client, &first, &one).await;
            assert_eq!((&refused["outcome"], &refused["code"]), (&json!("refused"), &json!(code)));
        }
        assert_eq!(stop(&mut client, &second, &one).await["outcome"], "unknown");
        bed.sleep(Duration::from_secs(1)).await;
        assert_eq!(bed.disk.data(), before, "nothing was stopped");
        assert_eq!(stop(&mut client, &first, &one).await["outcome"], "accepted");
        assert_eq!(client.ended(&one).await.expect("the end").data["status"], "cancelled");
        let data = bed.disk.data();
        let other = two.parse().expect("a run id");
        assert_eq!(data.runs[&other], before.runs[&other], "the other one goes on");
    });
}

/// LIM-04 [unit]: a message, a steer, a title and a rewrite above their limits change neither session nor run nor
/// queue, in a session that is idle and in one that works.
#[test]
fn an_input_above_its_limit_changes_nothing() {
    under(2, async |mut bed| {
        bed.start().await;
        let mut client = bed.connect().await;
        let (idle, busy) = (session(&mut client).await, session(&mut client).await);
        bed.agents.will([script()]);
        let run = hanging(&mut client, &busy).await;
        bed.sleep(Duration::from_secs(1)).await;
        let (before, events) = (bed.disk.data(), bed.agents.events());
        let (message, steer, title) = ("x".repeat(262_145), "x".repeat(32_769), "x".repeat(257));
        for session in [&idle, &busy] {
            for action in [
                json!({"action": "send_message", "text": message}),
                json!({"action": "send_message", "text": message, "when_busy": "queue"}),
                json!({"action": "rewrite", "op": "edit", "text": message, "message_id": "msg_1", "expected_revision": 1}),
                json!({"action": "update_session", "title": title}),
                json!({"action": "create_session", "title": title}),
                json!({"action": "steer_run", "run_id": run, "text": steer}),
            ] {
                let mut asked = action.clone();
                asked["session_id"] = json!(session);
                asked["idempotency_key"] = json!("one key");
                let refused = client.call(asked).await.expect("a reply").data;
                let code = refused.get("code").filter(|code| !code.is_null());
                assert_eq!(
                    code.or(refused.get("reason")),
                    Some(&json!("invalid_request")),
                    "{refused}"
                );
                assert!(refused["limit"]["name"].is_string(), "{refused}");
            }
        }
        bed.sleep(Duration::from_secs(1)).await;
        assert_eq!(bed.disk.data(), before);
        assert_eq!(bed.agents.events(), events);
        // The key is free.
        let fine = json!({
            "action": "send_message", "session_id": idle, "text": "x".repeat(262_144), "idempotency_key": "one key",
        });
        assert_eq!(client.call(fine).await.expect("a reply").kind, "message_ack");
    });
}
