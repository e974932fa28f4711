//! The send queue: kept, in order, started once each, and held until somebody resumes it.

use runwarden_protocol::instant::Duration;
use runwarden_protocol::run::slots::SlotLimits;
use runwarden_protocol::session::record::Role;
use runwarden_protocol::wire::structures::SessionStatus;
use runwarden_sim::weave::{Act, Bed, Client, Data, Faults, Frame, Script};
use serde_json::{Value, json};

use crate::support::{each_seed, run, session, session_id, stored, transcript, turn};

/// Puts a message behind the others, or starts it; the reply.
async fn put(client: &mut Client, session: &str, text: &str) -> Option<Frame> {
    let message = json!({
        "action": "send_message", "session_id": session, "text": text, "when_busy": "queue",
        "idempotency_key": format!("key of {text}"),
    });
    client.call(message).await
}

async fn list(client: &mut Client, session: &str) -> Value {
    let list = json!({"action": "list_queue", "session_id": session});
    client.call(list).await.expect("a list").data
}

fn waiting(data: &Data, session: &str) -> usize {
    data.sessions[&session_id(session)].queue.len()
}

fn prompts(data: &Data, session: &str) -> Vec<String> {
    let rows = transcript(data, session).into_iter();
    rows.filter(|(role, _)| *role == Role::User).filter_map(|(_, body)| body).collect()
}

/// Waits until nothing runs and nothing waits in the session.
async fn done(bed: &Bed, session: &str) {
    let since = bed.now();
    loop {
        let is_idle = bed.hub().live(session_id(session)).status == SessionStatus::Idle;
        let data = bed.disk.data();
        let stored = &data.sessions[&session_id(session)];
        if is_idle && stored.queue.is_empty() && stored.head.pending.is_none() {
            return;
        }
        bed.sleep(Duration::from_millis(20)).await;
        assert!(bed.now().age_of(since) < Duration::from_secs(600), "the queue stands still");
    }
}

/// STR-09 [sim], STR-10 [sim]: whenever the server is killed or loses power, every message that was acknowledged
/// becomes one turn, in the order in which they were put.
#[test]
fn every_queued_message_becomes_one_turn_in_its_order() {
    each_seed(150, async |mut bed| {
        let mut random = bed.executor.stream();
        let (mut client, session) = session(&mut bed).await;
        let work = Script::of(&[Act::Work(Duration::from_millis(8))]);
        bed.agents.will(vec![work; 40]);
        run(&mut client, &session, "text 0").await;
        let mut number = 1;
        while number <= 5 {
            bed.sleep(Duration::from_millis(random.below(12) as u64)).await;
            if random.chance(250) {
                if random.chance(500) {
                    bed.kill();
                } else {
                    bed.lose_power();
                }
                bed.start().await;
                client = bed.connect().await;
            }
            let reply = put(&mut client, &session, &format!("text {number}")).await;
            assert_eq!(reply.expect("a reply").kind, "message_ack");
            number += 1;
        }
        if random.chance(500) {
            bed.sleep(Duration::from_millis(random.below(30) as u64)).await;
            bed.lose_power();
            bed.start().await;
        }
        done(&bed, &session).await;
        let expected: Vec<String> = (0..=5).map(|number| format!("text {number}")).collect();
        assert_eq!(prompts(&bed.disk.data(), &session), expected);
    });
}

/// STR-20 [sim]: a queue that a Stop holds starts nothing, over restarts and for any time, until it is
/// resumed.
#[test]
fn a_held_queue_waits_for_its_resumption() {
    each_seed(100, async |mut bed| {
        let mut random = bed.executor.stream();
        let (mut client, session) = session(&mut bed).await;
        bed.agents.will([Script::of(&[Act::Say("a"), Act::Hang])]);
        let first = run(&mut client, &session, "zero").await;
        for text in ["one", "two"] {
            put(&mut client, &session, text).await.expect("a reply");
        }
        assert_eq!(
            client.stop(&session, &first).await.expect("an answer").data["outcome"],
            "accepted"
        );
        bed.agents.forget_plans();
        for _ in 0..random.below(3) {
            bed.sleep(Duration::from_millis(random.below(90_000) as u64)).await;
            bed.lose_power();
            bed.start().await;
        }
        bed.sleep(Duration::from_secs(100)).await;
        client = bed.connect().await;
        let listed = list(&mut client, &session).await;
        assert_eq!(listed["held"], "stopped_by_user", "{listed}");
        assert_eq!(waiting(&bed.disk.data(), &session), 2);
        let resume = json!({"action": "resume_queue", "session_id": session});
        assert_eq!(client.call(resume).await.expect("a reply").kind, "queue_resumed");
        done(&bed, &session).await;
        assert_eq!(prompts(&bed.disk.data(), &session), ["zero", "one", "two"]);
    });
}

/// STR-13 [sim]: a head that cannot be started is kept at its place and holds the queue with its code.
#[test]
fn a_head_that_fails_to_start_holds_the_queue() {
    each_seed(100, async |mut bed| {
        let (mut client, session) = session(&mut bed).await;
        let ask = Script::of(&[Act::Work(Duration::from_millis(200))]);
        bed.agents.will([ask]);
        let first = run(&mut client, &session, "zero").await;
        for text in ["one", "two"] {
            put(&mut client, &session, text).await.expect("a reply");
        }
        bed.disk.set_faults(Faults { admissions_fail: 1, ..Faults::default() });
        client.ended(&first).await.expect("the end");
        bed.sleep(Duration::from_secs(5)).await;
        let listed = list(&mut client, &session).await;
        assert_eq!(listed["held"], "launch_failed", "{listed}");
        assert_eq!(listed["entries"].as_array().map(Vec::len), Some(2));
        assert_eq!(prompts(&bed.disk.data(), &session), ["zero"]);
        let resume = json!({"action": "resume_queue", "session_id": session});
        client.call(resume).await.expect("a reply");
        done(&bed, &session).await;
        assert_eq!(prompts(&bed.disk.data(), &session), ["zero", "one", "two"]);
    });
}

/// LIM-03 [sim], STR-11 [sim]: never more runs than may be; a message beyond them waits and starts in its own
/// session when a slot is free.
#[test]
fn a_message_waits_for_a_slot_and_starts_in_its_session() {
    each_seed(100, async |mut bed| {
        bed.slots = SlotLimits { server_runs_max: 2, principal_runs_max: 16 };
        bed.start().await;
        let mut client = bed.connect().await;
        let mut sessions = Vec::new();
        for _ in 0..5 {
            sessions.push(client.create_session().await.expect("a session"));
        }
        bed.agents.will(vec![Script::of(&[Act::Work(Duration::from_millis(30))]); 5]);
        let refused = {
            for session in &sessions[..2] {
                put(&mut client, session, &format!("for {session}")).await.expect("a reply");
            }
            client.say(&sessions[2], "not now").await.expect("a reply")
        };
        assert_eq!(refused.data["code"], "server_busy");
        for session in &sessions[2..] {
            let reply =
                put(&mut client, session, &format!("for {session}")).await.expect("a reply");
            assert_eq!(reply.kind, "message_ack");
        }
        for session in &sessions {
            done(&bed, session).await;
        }
        let data = bed.disk.data();
        for session in &sessions {
            assert_eq!(prompts(&data, session), [format!("for {session}")]);
        }
        assert!(runs_at_once(&bed) <= 2);
    });
}

/// The most calls that were unreturned at one time.
fn runs_at_once(bed: &Bed) -> usize {
    use runwarden_sim::weave::AgentEvent;
    let (mut open, mut most) = (0_usize, 0);
    for event in bed.agents.events() {
        match event {
            AgentEvent::Invoked { .. } => open += 1,
            AgentEvent::Returned { .. } => open -= 1,
            AgentEvent::Constructed { .. }
            | AgentEvent::Signalled { .. }
            | AgentEvent::Answered { .. }
            | AgentEvent::Heard { .. }
            | AgentEvent::Closed { .. } => {}
        }
        most = most.max(open);
    }
    most
}

/// ACT-17 [sim]: a server that stops shows the end of the runs it interrupts before it closes, and keeps what
/// waits.
#[test]
fn a_stop_of_the_server_shows_every_end_and_keeps_the_queue() {
    each_seed(100, async |mut bed| {
        let (mut client, session) = session(&mut bed).await;
        bed.agents.will([Script::of(&[Act::Say("a"), Act::Hang])]);
        let first = run(&mut client, &session, "zero").await;
        put(&mut client, &session, "one").await.expect("a reply");
        bed.hub().stop_accepting();
        bed.hub().end_runs().await;
        bed.hub().runs_settled();
        let ended = client.ended(&first).await.expect("the end before the close");
        assert_eq!(ended.data["status"], "interrupted");
        assert_eq!(client.closed().await, Some((1001, "stopping".to_owned())));
        let data = bed.disk.data();
        assert_eq!((waiting(&data, &session), stored(&data, &first).settlements), (1, 1));
        bed.kill();
        bed.agents.forget_plans();
        bed.start().await;
        done(&bed, &session).await;
        let mut client = bed.connect().await;
        client.open(&session).await.expect("a manifest");
        turn(&mut client, &session, "two").await;
        assert_eq!(prompts(&bed.disk.data(), &session), ["zero", "one", "two"]);
    });
}
