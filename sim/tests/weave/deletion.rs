//! Deleting a session: with its run, beside others who use it, under a kill, and when the store fails.

use futures_lite::future::zip;
use runwarden_protocol::ids::SessionId;
use runwarden_protocol::instant::Duration;
use runwarden_protocol::journal::row::{Outcome, Reason};
use runwarden_sim::weave::{Act, AgentEvent, Bed, Client, Data, Faults, Script};
use serde_json::{Value, json};

use crate::support::{each_seed, run, run_id, session, session_id, speaks, stored, turn};

fn delete(session: &str, key: &str) -> Value {
    json!({"action": "delete_session", "session_id": session, "idempotency_key": key})
}

/// Everything that names a session.
fn namings(session: &str, run: &str) -> [Value; 12] {
    let text = "late";
    [
        json!({"action": "send_message", "session_id": session, "text": text}),
        json!({"action": "send_message", "session_id": session, "text": text, "when_busy": "queue"}),
        json!({"action": "stop_run", "session_id": session, "run_id": run}),
        json!({"action": "open_session", "session_id": session, "generation": 2}),
        json!({"action": "load_history", "session_id": session, "generation": 2, "latest": true}),
        json!({"action": "get_stream", "session_id": session, "entity_id": run}),
        json!({"action": "update_session", "session_id": session, "title": text}),
        json!({"action": "list_queue", "session_id": session}),
        json!({"action": "resume_queue", "session_id": session}),
        json!({"action": "list_questions", "session_id": session}),
        json!({"action": "close_session", "session_id": session}),
        json!({"action": "delete_session", "session_id": session}),
    ]
}

/// Nothing of the session is left but the tombstones of its runs.
fn is_gone(data: &Data, session: SessionId) -> bool {
    !data.sessions.contains_key(&session)
        && data.runs.values().all(|run| run.session_id != session)
        && !data.has_keys_of(session)
}

fn kinds<'a>(client: &'a Client, session: &'a str) -> Vec<&'a str> {
    let of_session = client.untaken().filter(|frame| frame.data["session_id"] == session);
    of_session.map(|frame| frame.kind.as_str()).collect()
}

/// Waits for the push of the deletion; before it came the end of the run.
async fn told(client: &mut Client, session: &str, run: &str) {
    client.until(|frame| frame.is("session_deleted", "session_id", session)).await.expect("a push");
    let ended = client.untaken().find(|frame| frame.is("stream_terminal", "entity_id", run));
    let ended = ended.expect("the end of the run before the deletion");
    assert_eq!(
        (&ended.data["status"], &ended.data["reason"]),
        (&json!("cancelled"), &json!("deleted"))
    );
}

/// LIFE-01 [sim], LIST-6 [sim]: deleting a session whose agent is at work interrupts it once, shows its end and then
/// the deletion to every window, and leaves nothing but tombstones; whatever names the session afterwards is
/// told that it does not exist, and nothing brings it back.
#[test]
fn a_session_is_deleted_under_its_agent() {
    each_seed(150, async |mut bed| {
        let mut random = bed.executor.stream();
        let (mut client, session) = session(&mut bed).await;
        let mut other = bed.connect().await;
        other.open(&session).await.expect("a manifest");
        let mut watcher = bed.connect().await;
        bed.agents.will([Script::says("before"), Script::of(&[Act::Say("a"), Act::Hang])]);
        turn(&mut client, &session, "zero").await;
        let run = run(&mut client, &session, "one").await;
        speaks(&mut client, &run).await;
        let queued = json!({
            "action": "send_message", "session_id": session, "text": "two", "when_busy": "queue",
            "idempotency_key": "queued",
        });
        client.call(queued).await.expect("a reply");
        bed.sleep(Duration::from_millis(random.below(20) as u64)).await;
        let id = client.send(delete(&session, "gone")).await;
        let reply = client.until(|frame| frame.data["request_id"] == *id).await.expect("a reply");
        assert_eq!(reply.kind, "session_deleted");
        let ended = client.untaken().any(|frame| frame.is("stream_terminal", "entity_id", &run));
        assert!(ended, "the end of the run comes before the deletion");
        told(&mut other, &session, &run).await;
        let pushed = watcher.until(|frame| frame.is("session_deleted", "session_id", &session));
        pushed.await.expect("a push to every reader");
        assert!(is_gone(&bed.disk.data(), session_id(&session)));
        for naming in namings(&session, &run) {
            let refused = other.call(naming.clone()).await.expect("an answer");
            assert_eq!(refused.data["code"], "session_unknown", "{naming} {refused:?}");
        }
        bed.sleep(Duration::from_secs(200)).await;
        let data = bed.disk.data();
        assert!(is_gone(&data, session_id(&session)));
        assert_eq!(data.tombstones.len(), 2);
        let end = (Outcome::Cancelled, Some(Reason::Deleted));
        assert_eq!(data.tombstones[&run_id(&run)], end);
        let events = bed.agents.events();
        let interrupts =
            events.iter().filter(|event| matches!(event, AgentEvent::Signalled { .. }));
        assert_eq!(interrupts.count(), 1, "one interrupt, and it was heard");
        assert!(events.iter().any(|event| matches!(event, AgentEvent::Closed { .. })));
        assert!(!bed.hub().has_runs());
        client.call(json!({"action": "list_sessions"})).await.expect("a list");
        assert_eq!(
            kinds(&client, &session).iter().filter(|kind| **kind == "session_deleted").count(),
            0
        );
    });
}

/// LIFE-01 [sim]: a server that is killed or loses power while a session is being deleted comes back with all
/// of it, its run settled, or with nothing of it; what was told as deleted stays so.
#[test]
fn a_killed_server_has_deleted_all_or_nothing() {
    each_seed(200, async |mut bed| {
        let mut random = bed.executor.stream();
        let (mut client, session) = session(&mut bed).await;
        bed.agents.will([Script::of(&[Act::Say("a"), Act::Hang])]);
        let run = run(&mut client, &session, "one").await;
        speaks(&mut client, &run).await;
        client.send(delete(&session, "gone")).await;
        bed.sleep(Duration::from_millis(random.below(25) as u64)).await;
        if random.chance(500) {
            bed.kill();
        } else {
            bed.lose_power();
        }
        client.closed().await;
        let was_told = client.everything().contains("session_deleted");
        bed.agents.forget_plans();
        bed.start().await;
        let data = bed.disk.data();
        if data.sessions.contains_key(&session_id(&session)) {
            assert!(!was_told, "it was told as deleted");
            let run = stored(&data, &run);
            assert_eq!(run.settlements, 1);
            assert!(matches!(run.outcome, Some(Outcome::Interrupted | Outcome::Cancelled)));
        } else {
            assert!(is_gone(&data, session_id(&session)));
            let (outcome, _) = data.tombstones[&run_id(&run)];
            assert_eq!(outcome, Outcome::Cancelled);
        }
        let mut client = bed.connect().await;
        let again = client.call(delete(&session, "gone")).await.expect("a reply");
        assert_eq!(again.kind, "session_deleted", "the key had its effect, or has it now");
        assert!(is_gone(&bed.disk.data(), session_id(&session)));
    });
}

/// A store that does not take the deletion leaves the session, with its run stopped; the next attempt deletes it.
#[test]
fn a_deletion_that_fails_leaves_the_session() {
    each_seed(100, async |mut bed| {
        let (mut client, session) = session(&mut bed).await;
        bed.agents.will([Script::of(&[Act::Say("a"), Act::Hang])]);
        let run = run(&mut client, &session, "one").await;
        speaks(&mut client, &run).await;
        bed.disk.set_faults(Faults { deletions_fail: 1, ..Faults::default() });
        let failed = client.call(delete(&session, "gone")).await.expect("a reply");
        assert_eq!(failed.data["code"], "storage_failed", "{failed:?}");
        let ended = client.ended(&run).await.expect("a terminal");
        assert_eq!(ended.data["status"], "cancelled");
        bed.agents.forget_plans();
        bed.sleep(Duration::from_secs(1)).await;
        assert_eq!(turn(&mut client, &session, "two").await.1, "completed");
        let deleted = client.call(delete(&session, "gone")).await.expect("a reply");
        assert_eq!(deleted.kind, "session_deleted");
        let again = client.call(delete(&session, "gone")).await.expect("a reply");
        assert_eq!(again.data["session_revision"], deleted.data["session_revision"]);
        let other = json!({"action": "create_session", "idempotency_key": "gone"});
        let conflict = client.call(other).await.expect("a reply");
        assert_eq!(conflict.data["code"], "idempotency_conflict");
    });
}

/// What two windows do at the same time as a third deletes the session: each action has one answer, true when it
/// is given, and nothing is left.
#[test]
fn a_deletion_meets_everything_else() {
    each_seed(200, async |mut bed| {
        let mut random = bed.executor.stream();
        let (mut client, session) = session(&mut bed).await;
        let mut other = bed.connect().await;
        bed.agents.will([Script::of(&[Act::Say("a"), Act::Work(Duration::from_millis(10))])]);
        let first = run(&mut client, &session, "one").await;
        bed.sleep(Duration::from_millis(random.below(30) as u64)).await;
        let mut sent = Vec::new();
        let using = async {
            for naming in namings(&session, &first) {
                if naming["action"] != "delete_session" {
                    sent.push(other.send(naming).await);
                }
            }
            for id in &sent {
                let answer = other.until(|frame| frame.data["request_id"] == **id).await;
                answer.unwrap_or_else(|| panic!("no answer to {id}"));
            }
        };
        let (deleted, ()) = zip(client.call(delete(&session, "gone")), using).await;
        assert_eq!(deleted.expect("a reply").kind, "session_deleted");
        bed.sleep(Duration::from_secs(60)).await;
        assert!(is_gone(&bed.disk.data(), session_id(&session)));
        assert!(!bed.hub().has_runs());
        for id in sent {
            let text = format!("\"request_id\":\"{id}\"");
            assert_eq!(other.everything().matches(&text).count(), 1, "{id}");
        }
        assert!(is_silent(&bed, &mut other, &session).await);
    });
}

/// Nothing about the session comes behind its deletion.
async fn is_silent(bed: &Bed, client: &mut Client, session: &str) -> bool {
    bed.sleep(Duration::from_secs(60)).await;
    client.call(json!({"action": "list_sessions"})).await.expect("a list");
    let told = client.everything().rfind("\"session_deleted\"").expect("a push");
    let behind = &client.everything()[told..];
    !["session_item", "stream_text", "run_status"].iter().any(|kind| {
        behind
            .split("{\"type\":")
            .skip(1)
            .any(|frame| frame.contains(kind) && frame.contains(session))
    })
}

/// The open errors of a deleted session are closed with it, and exactly those are told as recovered.
#[test]
fn a_deleted_session_has_no_open_errors() {
    each_seed(50, async |mut bed| {
        let (mut client, session) = session(&mut bed).await;
        let mut other = bed.connect().await;
        let kept = client.create_session().await.expect("a session");
        bed.agents.will(vec![Script::of(&[Act::Say("a"), Act::Fail]); 3]);
        for session in [&session, &session, &kept] {
            assert_eq!(turn(&mut client, session, "one").await.1, "failed");
            bed.sleep(Duration::from_secs(1)).await;
        }
        let of = |data: &Data, id: &str| -> Vec<String> {
            let errors = data.errors.iter().map(|(_, error)| error);
            let errors = errors.filter(|error| error.session_id == Some(session_id(id)));
            errors.map(|error| error.error_id.clone()).collect()
        };
        client.call(delete(&session, "gone")).await.expect("a reply");
        for client in [&mut client, &mut other] {
            let told = client.until(|frame| frame.kind == "operation_recovered").await;
            let told = told.expect("a push").data["error_ids"].as_array().expect("ids").len();
            assert_eq!(told, 2);
        }
        let data = bed.disk.data();
        assert_eq!((of(&data, &session).len(), of(&data, &kept).len()), (2, 1));
        let listed = client.call(json!({"action": "list_user_errors"})).await.expect("a list");
        assert_eq!(listed.data["errors"].as_array().expect("errors").len(), 1);
    });
}
