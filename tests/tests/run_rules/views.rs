//! What a window saw some time ago, and acts upon.

use runwarden_protocol::ids::{RunId, SessionId};
use runwarden_protocol::instant::Duration;
use runwarden_sim::weave::{Act, Bed, Client, Data, Script};
use serde_json::{Value, json};

use crate::inputs::{hanging, session, under};

/// What a window saw of a session.
struct View {
    session: String,
    run: String,
    revision: Value,
    question: Value,
    entry: String,
}

/// What is true when the window acts.
struct Truth {
    is_revision: bool,
    is_open: bool,
    is_queued: bool,
    is_going: bool,
}

impl View {
    fn now(&self, data: &Data, is_open: bool) -> Truth {
        let id: SessionId = self.session.parse().expect("an id");
        let run: RunId = self.run.parse().expect("an id");
        let stored = &data.sessions[&id];
        Truth {
            is_revision: json!(stored.head.revision.get()) == self.revision,
            is_open,
            is_queued: stored.queue.iter().any(|entry| entry.turn_id.to_string() == self.entry),
            is_going: data.runs[&run].settlements == 0,
        }
    }
}

fn questioner() -> Script {
    Script::of(&[Act::Say("a"), Act::Ask, Act::Hang])
}

/// A session whose run waits for an answer and whose queue has an entry, as one window sees it.
async fn seen(client: &mut Client) -> View {
    let session = session(client).await;
    let first = client.say(&session, "first").await.expect("a reply");
    client.ended(first.data["run_id"].as_str().expect("a run")).await.expect("its end");
    let run = hanging(client, &session).await;
    let asked = client.until(|frame| frame.kind == "question_asked").await.expect("a question");
    let queued = client
        .call(json!({
            "action": "send_message", "session_id": session, "text": "later", "when_busy": "queue",
            "idempotency_key": "later",
        }))
        .await
        .expect("a reply");
    let entry = queued.data["message_id"].as_str().expect("an entry").to_owned();
    let manifest = client.open(&session).await.expect("a manifest");
    let revision = manifest.data["session_revision"].clone();
    View { session, run, revision, question: asked.data["question"].clone(), entry }
}

fn answer(view: &View) -> Value {
    json!({
        "action": "answer_question", "session_id": view.session,
        "question_id": view.question["question_id"],
        "question_version": view.question["question_version"],
        "answer": {"options": ["that"]},
    })
}

fn remove(view: &View) -> Value {
    json!({"action": "remove_queued", "session_id": view.session, "message_id": view.entry})
}

/// What another window does meanwhile; whether the question is still open after it.
async fn meanwhile(client: &mut Client, view: &View, what: usize, is_open: bool) -> bool {
    let session = &view.session;
    match what {
        0 => {
            client
                .call(json!({"action": "update_session", "session_id": session, "title": "t"}))
                .await;
            is_open
        }
        1 => {
            client.call(answer(view)).await;
            false
        }
        2 => {
            client.call(remove(view)).await;
            is_open
        }
        3 => {
            client.stop(session, &view.run).await;
            false
        }
        _ => {
            client.stop(session, &view.run).await;
            client.call(json!({"action": "resume_queue", "session_id": session})).await;
            false
        }
    }
}

/// OBS-06 [property]: whatever happened since a window saw a session, what it asks for takes effect exactly where what
/// it saw is still so by the session's own record: revision, run, question and entry are each compared first; what is
/// refused changes nothing, and no other run pays for it.
#[test]
fn what_a_window_saw_decides_nothing_that_has_changed_since() {
    for seed in 0..120 {
        under(seed, async |mut bed| {
            let mut random = bed.executor.stream();
            bed.start().await;
            let mut client = bed.connect().await;
            bed.agents.will([
                Script::says("first"),
                questioner(),
                Script::of(&[Act::Say("b"), Act::Hang]),
            ]);
            let view = seen(&mut client).await;
            let mut other = bed.connect().await;
            let mut is_open = true;
            for _ in 0..random.below(3) {
                let what = random.below(5);
                is_open = meanwhile(&mut other, &view, what, is_open).await;
                bed.sleep(Duration::from_secs(1)).await;
            }
            for act in [random.below(4), random.below(4)] {
                is_open = act_upon(&bed, &mut client, &view, act, is_open).await;
            }
        });
    }
}

/// The window acts; whether the question is still open after it.
async fn act_upon(bed: &Bed, client: &mut Client, view: &View, act: usize, is_open: bool) -> bool {
    let before = bed.disk.data();
    let truth = view.now(&before, is_open);
    let undo = json!({
        "action": "rewrite", "session_id": view.session, "op": "undo", "expected_revision": view.revision,
    });
    let (reply, is_done) = match act {
        0 => (client.call(answer(view)).await.expect("a reply"), truth.is_open),
        1 => (client.call(remove(view)).await.expect("a reply"), truth.is_queued),
        2 => {
            let reply = client.call(undo).await.expect("a reply");
            let stale = reply.data["code"] == "regeneration_stale";
            assert_eq!(stale, !truth.is_revision, "{reply:?}");
            // A revision that is still so belongs to a run that still goes on.
            assert!(stale || reply.data["code"] == "session_busy", "{reply:?}");
            (reply, false)
        }
        _ => {
            let reply = client.stop(&view.session, &view.run).await.expect("a reply");
            let expected = if truth.is_going { "accepted" } else { "already_ended" };
            assert_eq!(reply.data["outcome"], expected, "{reply:?}");
            (reply, truth.is_going)
        }
    };
    bed.sleep(Duration::from_secs(1)).await;
    let after = bed.disk.data();
    if act < 2 {
        assert_eq!(reply.data["code"] != "gone", is_done, "{reply:?}");
    }
    if !is_done {
        assert_eq!(after, before, "{reply:?}");
    }
    let run: RunId = view.run.parse().expect("an id");
    for (id, stored) in before.runs.iter().filter(|(id, _)| **id != run) {
        assert_eq!(after.runs[id].outcome, stored.outcome, "a run that was not named");
    }
    match act {
        0 => false,
        3 if is_done => false,
        _ => is_open,
    }
}
