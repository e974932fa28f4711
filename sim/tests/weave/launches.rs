//! Workers that are not made: the start is undone as if it had never been.

use runwarden_protocol::instant::Duration;
use runwarden_protocol::journal::row::Outcome;
use runwarden_protocol::wire::codes::Code;
use runwarden_protocol::wire::structures::SessionStatus;
use runwarden_sim::weave::{Act, AgentEvent, Bed, Data, Script, TurnStep};
use serde_json::json;

use crate::support::{each_seed, run, session, session_id, speaks, stored, turn};

/// REC-08 [sim]: a start whose worker is not made leaves neither row nor channel, ownership, active run or pending
/// turn; both journals say `failed`, its key may be used again with the same words, and the next turn starts.
#[test]
fn a_start_that_is_not_launched_is_undone() {
    each_seed(150, async |mut bed| {
        let (mut client, session) = session(&mut bed).await;
        turn(&mut client, &session, "before").await;
        let before = bed.disk.data().sessions[&session_id(&session)].clone();
        bed.executor.refuse_launches(1);
        let message = json!({"action": "send_message", "session_id": session, "text": "t",
            "idempotency_key": "k"});
        let refused = client.call(message.clone()).await.expect("a reply");
        assert_eq!(refused.data["code"], "launch_failed", "{refused:?}");
        let data = bed.disk.data();
        let after = &data.sessions[&session_id(&session)];
        assert_eq!((&after.rows, &after.head.pending), (&before.rows, &None));
        let undone = data.runs.values().find(|run| run.outcome == Some(Outcome::Failed));
        let undone = undone.expect("the run that was not launched");
        assert_eq!(undone.turn, [TurnStep::Submitted, TurnStep::Ended(Outcome::Failed)]);
        assert_eq!(undone.terminal(), Some(Outcome::Failed));
        assert_eq!(bed.hub().live(session_id(&session)).status, SessionStatus::Idle);
        assert!(!bed.hub().has_runs(), "its slot is free");
        let again = client.call(message).await.expect("a reply");
        assert_eq!(again.kind, "message_ack", "{again:?}");
        let run = again.data["run_id"].as_str().expect("a run").to_owned();
        client.ended(&run).await.expect("its end");
        let calls = bed.agents.events().iter().filter(|event| is_call(event)).count();
        assert_eq!(calls, 2, "the turns before and after, and no other");
    });
}

fn is_call(event: &AgentEvent) -> bool {
    matches!(event, AgentEvent::Invoked { .. })
}

/// REC-08 [sim]: a head that is not launched is put back, and its queue is held before the session turns idle: none of
/// its entries starts by itself, and none is lost by a restart.
#[test]
fn a_head_that_is_not_launched_is_put_back_and_held() {
    each_seed(150, async |mut bed| {
        let mut random = bed.executor.stream();
        let (mut client, session) = session(&mut bed).await;
        bed.agents.will([Script::of(&[Act::Say("a"), Act::Work(Duration::from_millis(50))])]);
        let first = run(&mut client, &session, "first").await;
        speaks(&mut client, &first).await;
        for text in ["one", "two"] {
            let waits = json!({"action": "send_message", "session_id": session, "text": text,
                "when_busy": "queue", "idempotency_key": text});
            client.call(waits).await.expect("a reply");
        }
        bed.executor.refuse_launches(1);
        client.ended(&first).await.expect("its end");
        bed.sleep(Duration::from_secs(10)).await;
        check_held(&bed.disk.data(), &session);
        if random.chance(500) {
            bed.lose_power();
            bed.start().await;
            client = bed.connect().await;
            client.open(&session).await;
            bed.sleep(Duration::from_secs(10)).await;
            check_held(&bed.disk.data(), &session);
        }
        let resume = json!({"action": "resume_queue", "session_id": session});
        client.call(resume).await.expect("a reply");
        bed.sleep(Duration::from_secs(10)).await;
        let data = bed.disk.data();
        let rows = &data.sessions[&session_id(&session)].rows;
        let said: Vec<_> = rows.iter().filter_map(|row| row.body.as_deref()).collect();
        assert_eq!(said, ["first", "a", "one", "done", "two", "done"]);
    });
}

fn check_held(data: &Data, session: &str) {
    let session = &data.sessions[&session_id(session)];
    let words: Vec<_> = session.queue.iter().map(|entry| entry.text.as_ref()).collect();
    assert_eq!(words, ["one", "two"]);
    assert_eq!(session.head.queue_held, Some(Code::LaunchFailed));
    assert_eq!(session.head.pending, None);
}

/// ADM-15 [sim]: a regeneration whose worker is not made brings transcript, generation and baseline back; one that is
/// made begins behind the stored reduction.
#[test]
fn a_regeneration_that_is_not_launched_brings_everything_back() {
    each_seed(150, async |mut bed| {
        let mut random = bed.executor.stream();
        let (mut client, session) = session(&mut bed).await;
        for text in ["one", "two"] {
            turn(&mut client, &session, text).await;
        }
        bed.sleep(Duration::from_millis(100)).await;
        let before = bed.disk.data().sessions[&session_id(&session)].clone();
        let refusals = u32::from(random.chance(500));
        bed.executor.refuse_launches(refusals);
        bed.disk.keep_history();
        let again = json!({
            "action": "rewrite", "session_id": session, "op": "regenerate",
            "message_id": before.head.head_id.map(|id| id.to_string()), "text": null,
            "expected_revision": before.head.revision.get(), "idempotency_key": "again",
        });
        let reply = client.call(again).await.expect("a reply");
        if refusals == 0 {
            let run = reply.data["run_id"].as_str().expect("a run").to_owned();
            client.ended(&run).await.expect("its end");
            check_reduced_first(&bed, &session, &run);
            return;
        }
        assert_eq!(reply.data["code"], "launch_failed", "{reply:?}");
        let after = bed.disk.data().sessions[&session_id(&session)].clone();
        assert_eq!(after.rows, before.rows);
        let counts = |head: &runwarden_protocol::session::record::SessionHead| {
            (head.transcript_generation, head.transcript_generation_baseline, head.message_count)
        };
        assert_eq!(counts(&after.head), counts(&before.head));
        assert_eq!((after.head.pending, after.replaced), (None, None));
    });
}

/// Wherever the worker is noted to have begun, the reduction is stored.
fn check_reduced_first(bed: &Bed, session: &str, run: &str) {
    let mut begun = 0;
    for data in bed.disk.history() {
        if !data.runs.contains_key(&crate::support::run_id(run)) {
            continue;
        }
        if stored(&data, run).turn.contains(&TurnStep::WorkerStarted) {
            assert_eq!(data.sessions[&session_id(session)].head.transcript_generation, 1);
            begun += 1;
        }
    }
    assert!(begun > 0);
}
