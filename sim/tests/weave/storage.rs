//! A disk that is nearly full: no new runs, and everything else goes on.

use runwarden_protocol::instant::Duration;
use runwarden_protocol::run::storage::DISK_LOW_BYTES;
use runwarden_sim::weave::{Act, Bed, Client, Script};
use serde_json::{Value, json};

use crate::support::{each_seed, run, session, speaks, transcript, turn};

/// More than one measurement apart.
const A_LOOK: Duration = Duration::from_secs(3);

async fn free(bed: &Bed, bytes: u64) {
    bed.disk.set_free_bytes(bytes);
    bed.sleep(A_LOOK).await;
}

async fn told(client: &mut Client, state: &str) {
    client.until(|frame| frame.is("status", "state", state)).await.expect("a status");
}

async fn queue(client: &mut Client, session: &str, text: &str) -> Value {
    let message = json!({
        "action": "send_message", "session_id": session, "text": text, "when_busy": "queue",
        "idempotency_key": format!("key of {text}"),
    });
    client.call(message).await.expect("a reply").data
}

async fn held(client: &mut Client, session: &str) -> Value {
    let list = json!({"action": "list_queue", "session_id": session});
    client.call(list).await.expect("a list").data["held"].clone()
}

async fn resume(client: &mut Client, session: &str) {
    let resume = json!({"action": "resume_queue", "session_id": session});
    assert_eq!(client.call(resume).await.expect("a reply").kind, "queue_resumed");
}

/// LIM-05 [sim]: below the bound new runs are refused in every way they can begin, until 1.25 times of it is free;
/// a run that goes on is read, answered, stopped and settled; each change is told once to every window.
#[test]
fn a_disk_that_is_nearly_full_takes_no_new_run_and_disturbs_none() {
    each_seed(60, async |mut bed| {
        bed.disk_low_bytes = DISK_LOW_BYTES;
        let (mut client, session) = session(&mut bed).await;
        let other = client.create_session().await.expect("a session");
        bed.agents.will([
            Script::of(&[Act::Say("a"), Act::Ask, Act::Say("b"), Act::Hang]),
            Script::of(&[Act::Work(Duration::from_secs(20))]),
        ]);
        let going = run(&mut client, &session, "one").await;
        let question = client.until(|frame| frame.kind == "question_asked").await.expect("asked");
        let short = run(&mut client, &other, "short").await;
        let waits = queue(&mut client, &other, "waits").await;
        assert_eq!(waits["queue_position"], 1);

        free(&bed, DISK_LOW_BYTES).await;
        free(&bed, DISK_LOW_BYTES - 1).await;
        told(&mut client, "storage_low").await;
        let before = bed.disk.data().sessions.len();
        let third = client.create_session().await;
        assert!(third.is_none(), "a session for no run");
        assert_eq!(bed.disk.data().sessions.len(), before);
        for (target, text) in [(&session, "busy"), (&other, "no")] {
            let refused = client.say(target, text).await.expect("a reply").data;
            assert_eq!(
                (&refused["code"], &refused["retry_after_ms"]),
                (&json!("storage_low"), &json!(30_000))
            );
            assert_eq!(
                queue(&mut client, target, &format!("queued {text}")).await["code"],
                "storage_low"
            );
        }
        let mut late = bed.connect().await;
        told(&mut late, "storage_low").await;

        late.open(&session).await.expect("it can be read");
        let answer = json!({
            "action": "answer_question", "session_id": session,
            "question_id": question.data["question"]["question_id"],
            "question_version": question.data["question"]["question_version"],
            "answer": {"options": ["that"]},
        });
        assert_eq!(late.call(answer).await.expect("a reply").kind, "question_resolved");
        speaks(&mut late, &going).await;
        let stopped = late.stop(&session, &going).await.expect("an answer");
        assert_eq!(stopped.data["outcome"], "accepted");
        assert_eq!(late.ended(&going).await.expect("the end").data["status"], "cancelled");
        client.ended(&going).await.expect("the end in the other window");
        assert_eq!(client.ended(&short).await.expect("the end").data["status"], "completed");
        bed.sleep(A_LOOK).await;
        assert_eq!(held(&mut client, &other).await, "storage_low", "the head was refused as well");

        free(&bed, 671_088_639).await;
        assert_eq!(
            client.say(&session, "not yet").await.expect("a reply").data["code"],
            "storage_low"
        );
        free(&bed, 671_088_640).await;
        told(&mut client, "open").await;
        told(&mut late, "open").await;
        assert_eq!(turn(&mut client, &session, "two").await.1, "completed");
        resume(&mut client, &other).await;
        client.until(|frame| frame.kind == "stream_terminal").await.expect("the head's end");
        let said = transcript(&bed.disk.data(), &other);
        assert_eq!(said[1].1.as_deref(), Some("waits"), "{said:?}");
        let statuses =
            |client: &Client| client.untaken().filter(|frame| frame.kind == "status").count();
        assert_eq!((statuses(&client), statuses(&late)), (0, 0), "told once");
    });
}
